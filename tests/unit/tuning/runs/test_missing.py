"""Numbers that some hypotheses lack: said with their place, and refused, dropped or filled in."""

import json

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import ProgressRecorder
from dragoman.core.runtime import Runtime
from dragoman.formats.nbest.format import read_nbest
from dragoman.tuning.runs.rerank import missing_from, with_features


@pytest.fixture
def read(tmp_path):
    def of(text, name):
        (tmp_path / "lists").write_text(text, encoding="utf-8")
        return read_nbest(tmp_path / "lists", name)

    return of


@pytest.fixture
def lists(read):
    """Two sentences of two hypotheses; the second of the first has no log-probability."""
    numbers = [[-1.0, None], [-2.0, -3.0]]
    rows = [{"hyps": [{"text": f"h{p}", "logprob": p} for p in row]} for row in numbers]
    return read("".join(json.dumps(row) + "\n" for row in rows), "jsonl")


def columns(found):
    return dict(zip(found.features.names, found.features.dense().T.tolist(), strict=True))


def test_a_missing_number_is_refused_with_its_place(lists):
    said = "^1 of 4 hypotheses have no 'logprob', the first of them is hypothesis 2 of sentence 1; expected a"
    with pytest.raises(DataError, match=said):
        with_features(lists, {})


def test_hypotheses_without_a_number_are_dropped(lists):
    told = ProgressRecorder()
    found = with_features(
        lists, {"qe": np.array([0.5, 1.5, np.nan, np.nan])}, missing="drop", runtime=Runtime(progress=told)
    )
    assert columns(found) == {"qe": [0.5], "logprob": [-1.0]}
    assert (found.texts(), found.sentences.tolist()) == (["h-1.0"], [0, 1, 1])
    assert [text for _, text in told.messages] == [
        "2 of 4 hypotheses have no 'qe', the first of them is hypothesis 1 of sentence 2; they are left out",
        "1 of 4 hypotheses have no 'logprob', the first of them is hypothesis 2 of sentence 1; they are left out",
        "1 of 2 sentences have no hypotheses any more",
    ]


def test_a_number_that_is_filled_in_is_marked(lists):
    found = with_features(lists, {}, missing=-20.0, runtime=Runtime(progress=ProgressRecorder()))
    assert columns(found) == {"logprob": [-1, -20, -2, -3], "logprob.missing": [0, 1, 0, 0]}


def test_a_mark_that_weights_have_is_made_though_nothing_is_missing(read):
    lists = read('{"hyps": [{"text": "a", "logprob": -1}, {"text": "b", "logprob": -2}]}\n', "jsonl")
    assert columns(with_features(lists, {}, marks=["logprob.missing", "other.missing"])) == {
        "logprob": [-1, -2],
        "logprob.missing": [0, 0],
    }
    assert "logprob.missing" not in columns(with_features(lists, {}, missing=-20.0))


def test_an_empty_cell_is_missing_and_a_name_that_is_not_there_is_zero(read):
    table = read("id,text,comet,qe\n0,a,0.5,0\n0,b,,1\n", "csv")
    with pytest.raises(
        DataError, match="1 of 2 hypotheses have no 'comet', the first of them is hypothesis 2 of sentence 1"
    ):
        with_features(table, {})
    found = with_features(table, {}, missing=0.25, runtime=Runtime(progress=ProgressRecorder()))
    assert columns(found) == {"comet": [0.5, 0.25], "comet.missing": [0, 1], "qe": [0, 1]}
    sparse = read('{"hyps": [{"text": "a", "features": {"comet": 0.5}}, {"text": "b", "features": {}}]}\n', "jsonl")
    assert columns(with_features(sparse, {})) == {"comet": [0.5, 0.0]}


def test_scores_stand_for_what_is_missing_only_if_all_log_probabilities_are(read):
    lists = read('{"hyps": [{"text": "a", "score": -1}, {"text": "b"}]}\n', "jsonl")
    with pytest.raises(DataError, match="1 of 2 hypotheses have no 'score', the first of them is hypothesis 2"):
        with_features(lists, {})


@pytest.mark.parametrize("text", ["no", "nan", "inf", ""])
def test_what_is_done_is_a_word_or_a_number(text):
    with pytest.raises(UsageError, match="expected refuse, drop, or a number"):
        missing_from(text)
