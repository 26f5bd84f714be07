"""Candidates of several systems together."""

from pathlib import Path

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from dragoman.decision.posterior import Posterior
from dragoman.decision.system_lists import join_systems, named_files
from dragoman.front.candidate_lists import given_lists


def lists(**sentences):
    return given_lists(sentences).lists


def scored(*texts):
    return [{"text": text, "logprob": logprob, "qe": qe} for text, logprob, qe in texts]


ONE = lists(x=scored(("a", -1.0, 0.5), ("b", -2.0, 0.1)), y=scored(("c", -1.0, 0.2)))
TWO = lists(y=scored(("d", -70.0, 0.3), ("e", -71.0, 0.4)), x=scored(("a", -50.0, 0.6)))


def test_lists_are_matched_by_id_in_the_order_of_the_first():
    joined = join_systems({"one": ONE, "two": TWO})
    assert joined.sentence_ids == ("x", "y")
    assert joined.sentences.tolist() == [0, 3, 6]
    assert joined.texts() == ["a", "b", "a", "c", "d", "e"]
    assert joined.rows.tolist() == [0, 1, 5, 2, 3, 4]
    columns = joined.features.columns()
    assert columns["system.one"].tolist() == [1, 1, 0, 1, 0, 0]
    assert columns["system.two"].tolist() == [0, 0, 1, 0, 1, 1]
    assert columns["qe"].tolist() == [0.5, 0.1, 0.6, 0.2, 0.3, 0.4]
    assert columns["logprob.one"][2] == columns["logprob.two"][0] == 0


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_each_system_has_the_same_weight(scale):
    joined = join_systems({"one": ONE, "two": TWO}, scale=scale)
    weights = np.exp(scale * joined.logprobs)
    own = np.exp(scale * np.array([-1.0, -2.0]))
    assert weights[:3] == pytest.approx([*(own / own.sum()), 1.0])
    assert Posterior.of_nbest(joined, scale).probabilities == pytest.approx(
        [(own[0] / own.sum() + 1) / 2, own[1] / own.sum() / 2, *(weights[3:] / 2)]
    )


def test_lists_without_common_ids_are_matched_by_order():
    joined = join_systems({"one": lists(a=["x"], b=["y"]), "two": lists(c=["z"], d=["w", "v"])})
    assert joined.sentence_ids == ("a", "b")
    assert joined.texts() == ["x", "z", "y", "w", "v"]
    assert np.exp(joined.logprobs) == pytest.approx([1, 1, 1, 0.5, 0.5])
    assert joined.features.names == ("system.one", "system.two")


def test_lists_that_do_not_match_are_refused():
    with pytest.raises(DataError, match="two has a list with the id 'c', and one has not; expected the same ids"):
        join_systems({"one": lists(a=["x"]), "two": lists(a=["z"], c=["w"])})
    with pytest.raises(DataError, match="two has 2 lists, and one has 1; expected as many"):
        join_systems({"one": lists(a=["x"]), "two": lists(b=["z"], c=["w"])})
    with pytest.raises(UsageError, match="there are 1 systems to join"):
        join_systems({"one": ONE})


def test_names_of_files():
    def names(*texts):
        return [*named_files([Path(text) for text in texts])]

    assert names("out/a.jsonl", "b.nbest.gz") == ["a", "b"]
    assert names("a.1.jsonl", "a.2.jsonl") == ["a.1.jsonl", "a.2.jsonl"]
    assert names("a=dev.a.jsonl", "b=dev.b.jsonl") == names("a=test.a.jsonl", "b=test.b.jsonl") == ["a", "b"]
    assert names("x=dev.a.jsonl", "dev.b.jsonl", "dev.c.jsonl") == ["x", "dev.b.jsonl", "dev.c.jsonl"]
    assert names("out=1/a.jsonl", "runs/lr=1/b.jsonl") == ["out", "b"]
    with pytest.raises(UsageError, match="two files of candidates are called 'a'; expected another name for each"):
        names("a=1.jsonl", "a=2.jsonl")
    with pytest.raises(UsageError, match="is given twice"):
        names("a=1.jsonl", "b=1.jsonl")


def test_a_file_that_is_there_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=1.jsonl").write_text("")
    assert named_files([Path("lr=1.jsonl"), Path("lr=2.jsonl")]) == {"lr=1": Path("lr=1.jsonl"), "lr": Path("2.jsonl")}


def test_a_system_that_is_better_is_preferred_by_tuned_weights():
    good = [[f"line {i} is right", f"line {i} is right now"] for i in range(6)]
    bad = [[f"line {i} was wrong"] for i in range(6)]
    joined = dm.join_candidates({"bad": bad, "good": good})
    weights = dm.tune_reranker(joined, [f"line {i} is right" for i in range(6)], metric="chrf", progress=False)
    assert weights["system.good"] > weights["system.bad"]
    assert all("right" in text for text in dm.rerank(joined, weights))
