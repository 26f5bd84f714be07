"""Workflows, hooks and templates: they can be read, and run what there is."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[1].split())
FILES = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def load(file):
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def steps_of(workflow):
    return [step for job in load(workflow)["jobs"].values() for step in job["steps"]]


def recipe_of(target):
    """The commands of a target in the Makefile."""
    return re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)[1].replace("$(BIN)/", "").split("\n\t")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_can_be_read(file):
    assert isinstance(load(file), dict)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_run_make_targets_that_exist(workflow):
    commands = [step["run"] for step in steps_of(workflow) if "run" in step]
    assert commands
    for command in commands:
        assert re.fullmatch(r"make [a-z-]+", command), command
        assert command.split()[1] in TARGETS
    # Of actions of others only what is named by a version.
    assert all(
        re.fullmatch(r"[\w/-]+@(v\d[\d.]*|release/v1)", step["uses"]) for step in steps_of(workflow) if "uses" in step
    )


def test_workflows_may_only_read_unless_a_job_says_otherwise():
    for workflow in WORKFLOWS:
        assert load(workflow)["permissions"] == {"contents": "read"}


def test_tests_run_with_every_python_that_wheels_are_built_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tested = load(ROOT / ".github/workflows/tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert {system.split("-")[0] for system in tested["os"]} == {"ubuntu", "macos"}
    built = [name.removeprefix("cp3").removesuffix("-*") for name in project["tool"]["cibuildwheel"]["build"]]
    assert tested["python"] == [f"3.{number}" for number in built]
    said = [text for text in project["project"]["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert said == [f"Programming Language :: Python :: {version}" for version in tested["python"]]


def test_hooks_run_what_lint_runs():
    hooks = [hook["entry"].removeprefix(".venv/bin/") for hook in load(FILES[-2])["repos"][0]["hooks"]]
    # But for the copy of the kernels' signatures, which is as new as the build.
    linting = [command.strip() for command in recipe_of("lint") if not command.strip().startswith("python -c")]
    assert hooks == linting
