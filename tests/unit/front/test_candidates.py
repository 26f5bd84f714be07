"""Anybody's candidates in Python: in the order wanted, with failures and missing numbers as one says."""

import json

import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.formats.nbest.format import read_nbest

IDS = ["b-x", "a-y", "c-z"]


@pytest.fixture
def lists(tmp_path):
    """Lists with ids that have no order, one of which failed; the second candidate of each has no log-probability."""
    rows = [
        {"id": name, "hyps": [{"text": f"{name} one", "logprob": -1.0}, {"text": f"{name} two"}]} for name in IDS[:2]
    ]
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": IDS[2], "hyps": []}]), encoding="utf-8")
    return path


@pytest.fixture
def quiet():
    """Lists are said to have failed, which is not what these tests are about."""
    with pytest.warns(DragomanWarning, match="1 of 3 sentences have no hypotheses"):
        yield


@pytest.mark.usefixtures("quiet")
def test_the_order_wanted_is_a_list_or_a_file(lists, tmp_path):
    (tmp_path / "order").write_text("c-z\na-y\nb-x\n", encoding="utf-8")
    for order in (["c-z", "a-y", "b-x"], tmp_path / "order"):
        assert dm.mbr(lists, weights_from="uniform", order=order) == ["", "a-y one", "b-x one"]
        with pytest.warns(DragomanWarning, match="they get -9"):
            found = dm.rerank(lists, {"qe": 1.0}, features={"qe": [0, 1, 1, 0]}, missing=-9, order=order)
        assert found == ["", "a-y one", "b-x two"]
    with pytest.raises(DataError, match="2 lists have an id that the order has not, the first of them is 'b-x'"):
        dm.mbr(lists, weights_from="uniform", order=["a-y"])


@pytest.mark.usefixtures("quiet")
def test_ids_without_an_order_are_said(lists):
    with pytest.warns(DragomanWarning, match=r"the ids \('b-x', 'a-y', ...\) have no natural order"):
        assert dm.mbr(lists, weights_from="uniform") == ["b-x one", "a-y one", ""]


def test_what_failed_is_refused_if_wanted(lists):
    with pytest.raises(DataError, match="3: 'c-z' has no hypotheses"):
        dm.mbr(lists, weights_from="uniform", failed="refuse")
    with pytest.raises(UsageError, match="failed is 'never'"):
        dm.mbr(lists, failed="never")


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("missing", "names"), [("drop", {"qe", "logprob"}), (-9, {"qe", "logprob", "logprob.missing"})]
)
def test_references_by_id_and_missing_numbers(lists, missing, names):
    references = {"a-y": "a-y one", "b-x": "b-x one", "c-z": "c"}
    with pytest.warns(DragomanWarning, match="2 of 4 hypotheses have no 'logprob'"):
        weights = dm.tune_reranker(
            lists, references, features={"qe": [1, 0, 1, 0]}, metric="chrf", missing=missing, progress=Progress()
        )
    assert {*weights} == names


@pytest.mark.usefixtures("quiet")
def test_a_missing_number_is_refused_by_default(lists):
    with pytest.raises(DataError, match=r"2 of 4 hypotheses have no 'logprob', .*or `missing=` drop"):
        dm.tune_reranker(read_nbest(lists), ["a", "b", "c"], progress=Progress())


def test_candidates_are_counted_from_one():
    with pytest.raises(DataError, match="sentence 2 has no hypotheses"):
        dm.mbr([["a"], []], failed="refuse")
