"""Requests made from the schema, sensible and not: every answer is one of the schema's, and no failure is ours."""

import contextlib

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

pytestmark = pytest.mark.slow

_FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)


def test_requests_of_the_schema_have_answers_of_the_schema(live):
    server = live(slow_seconds=5, samples=200, nbest=20)
    schema = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json")
    asked = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in schemathesis.GenerationMode:

            @_FEW
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case):
                response = case.call(timeout=30)
                asked.add((case.operation.path, response.status_code))
                checks = [schemathesis.checks.not_a_server_error, schemathesis.checks.response_schema_conformance]
                case.validate_response(response, checks=checks)

            # What takes no parameters cannot be asked wrongly.
            with contextlib.suppress(Unsatisfiable):
                check()
    paths = {path for path, _ in asked}
    assert {f"/api/v1/{name}" for name in ("translate", "posterior", "lists", "runs", "models")} <= paths
    assert {"/metrics", "/translate", "/detect", "/languages"} <= paths
    assert {path for path, status in asked if status == 200} >= {"/api/v1/models", "/languages", "/metrics"}
