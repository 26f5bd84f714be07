"""Candidates in every form that users have them in, and what MBR returns of them."""

import json

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.front.candidate_lists import given_lists

ROWS = [["the cat sat", "a cat sat", "dogs", "the cat sat"], ["it rains", "rain"]]


def frame_of(pandas, extra=None):
    columns = {"sentence": [0, 0, 0, 0, 1, 1], "text": [text for row in ROWS for text in row]}
    return pandas.DataFrame(columns | (extra or {}))


class TestForms:
    def test_strings_pairs_and_dictionaries(self):
        texts = dm.mbr(ROWS, utility="chrf")
        pairs = [[(text, 0.0) for text in row] for row in ROWS]
        dictionaries = [[{"text": text, "logprob": -1.0} for text in row] for row in ROWS]
        assert (
            texts
            == dm.mbr(pairs, utility="chrf")
            == dm.mbr(dictionaries, utility="chrf")
            == ["the cat sat", "it rains"]
        )

    def test_a_mapping_keeps_its_ids(self):
        found = dm.mbr({"b": ROWS[0], "a": ROWS[1]}, utility="chrf")
        assert found == ["the cat sat", "it rains"]
        assert found.candidates.ids == ("b", "a")
        assert dm.mbr({"b": ROWS[0], "a": ROWS[1]}, utility="chrf", order=["a", "b"]) == ["it rains", "the cat sat"]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames(self, library):
        module = pytest.importorskip(library)
        assert dm.mbr(frame_of(module), utility="chrf") == ["the cat sat", "it rains"]
        weighted = frame_of(module, {"logprob": [-9.0, -9.0, 0.0, -9.0, -9.0, 0.0], "note": list("abcdef")})
        assert dm.mbr(weighted, utility="chrf") == ["dogs", "rain"]
        shuffled = module.DataFrame({"id": ["x", "y", "x"], "text": ["a b", "c", "a b c"], "quality": [1.0, 2.0, 3.0]})
        given = given_lists(shuffled)
        assert given.lists.sentence_ids == ("x", "y")
        assert given.texts == ["a b", "a b c", "c"]
        assert given.lists.features.dense()[:, 0].tolist() == [1.0, 3.0, 2.0]

    def test_a_frame_reranks_by_its_columns(self):
        pandas = pytest.importorskip("pandas")
        table = frame_of(pandas, {"quality": [0.1, 0.2, 0.9, 0.1, 0.3, 0.2]})
        assert dm.rerank(table, {"quality": 1.0}) == ["dogs", "it rains"]

    def test_white_space_and_lines_come_back_as_they_were(self):
        lists = [["a  cat\nsat", "dogs", "a  cat\nsat"], ["", " b "]]
        assert dm.mbr(lists, utility="chrf") == ["a  cat\nsat", " b "]

    def test_reranking_keeps_white_space_and_lines(self):
        lists = {"x": ["a  cat\nsat", "dogs", "a  cat\nsat"], "y": ["", " b "], "z": ["one\ntwo"]}
        quality = [1.0, np.nan, 2.0, 0.0, 3.0, 0.0]
        order = ["z", "y", "x"]
        with pytest.warns(DragomanWarning, match="1 of 6 hypotheses have no 'quality'"):
            found = dm.rerank(lists, {"quality": 1.0}, features={"quality": quality}, missing="drop", order=order)
        assert found == ["one\ntwo", " b ", "a  cat\nsat"]
        assert found.nbest(2)[1] == [" b ", ""]

    def test_sentences_without_candidates_are_as_in_a_file(self, tmp_path):
        lists = [["the cat", "a cat"], [], ["dogs"], []]
        path = tmp_path / "lists.jsonl"
        path.write_text("".join(f"{json.dumps({'id': i, 'hyps': row})}\n" for i, row in enumerate(lists)))
        for given in (lists, path, dict(enumerate(lists))):
            with pytest.warns(DragomanWarning, match="2 of 4 sentences have no hypotheses and are left empty"):
                found = dm.mbr(given, utility="chrf")
            assert found == ["the cat", "", "dogs", ""]
            assert np.isnan(found.scores).tolist() == [False, True, False, True]
            with pytest.warns(DragomanWarning, match="2 of 4 sentences have no hypotheses and are left out"):
                assert dm.mbr(given, utility="chrf", failed="skip") == ["the cat", "dogs"]
            with pytest.raises(DataError, match="has no hypotheses"):
                dm.mbr(given, utility="chrf", failed="refuse")
            with pytest.warns(DragomanWarning, match="are left empty"):
                assert dm.rerank(given, {"f": 1.0}, features={"f": [1, 2, 3]}) == ["a cat", "", "dogs", ""]
        with pytest.warns(DragomanWarning, match="sentence 2 .an empty list., sentence 4 .an empty list."):
            dm.mbr(lists, utility=lambda ours, theirs: [float(a == b) for a, b in zip(ours, theirs, strict=True)])

    def test_tuning_leaves_out_sentences_without_candidates(self):
        lists, features = [["a cat sat", "the cat sat"], [], ["a dog", "dogs"]], {"the": [0.0, 1.0, 1.0, 0.0]}
        with pytest.warns(DragomanWarning, match="1 of 3 sentences have no hypotheses"):
            weights = dm.tune_reranker(lists, ["the cat sat", "x", "a dog"], metric="chrf", features=features)
        assert weights["the"] > 0

    def test_texts_that_differ_in_white_space_count_as_one(self):
        found = dm.mbr([["a cat", "a  cat", "dogs"]], utility="chrf")
        assert found.candidates.texts == ["a cat", "dogs"]
        assert found.probabilities.tolist() == pytest.approx([2 / 3])

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            (["a sentence"], "expected a list of its candidates"),
            ([[{"score": 1.0}]], "a candidate of sentence 1 has no 'text'"),
            ([[7]], "found int as a candidate of sentence 1"),
            ([[{"text": "a", "score": "high"}]], "expected a number"),
        ],
    )
    def test_other_things_are_refused(self, wrong, said):
        with pytest.raises((DataError, UsageError), match=said):
            dm.mbr(wrong, utility="chrf")

    def test_a_frame_without_texts_is_refused(self):
        pandas = pytest.importorskip("pandas")
        with pytest.raises(UsageError, match="expected 'text', and 'sentence' or 'id'"):
            dm.mbr(pandas.DataFrame({"sentence": [0]}))

    def test_sources_must_be_as_many_as_lists(self):
        with pytest.raises(DataError, match="1 sources for 2 lists"):
            dm.mbr(ROWS, utility="chrf", sources=["one"])


class TestResult:
    @pytest.fixture
    def found(self):
        return dm.mbr(ROWS, utility="chrf", check=2)

    def test_it_is_a_list_with_scores(self, found):
        assert found.texts == [*found] == ["the cat sat", "it rains"]
        assert found.scores.shape == (2,)
        assert found.probabilities.tolist() == pytest.approx([0.5, 0.5])
        assert found.report.regret.same_choice == 2

    def test_the_best_and_a_diverse_set(self, found):
        assert found.nbest(2) == [["the cat sat", "a cat sat"], ["it rains", "rain"]]
        assert found.diverse(2, weight=5.0)[0] == ["the cat sat", "dogs"]

    def test_a_frame_has_all_candidates(self, found):
        pytest.importorskip("pandas")
        table = found.frame()
        assert table["text"].tolist() == ["the cat sat", "a cat sat", "dogs", "it rains", "rain"]
        assert table["rank"].tolist() == [1, 2, 3, 1, 2]
        assert table["value"].is_monotonic_decreasing or table["value"][:3].is_monotonic_decreasing

    def test_a_notebook_shows_why(self, found):
        shown = found._repr_html_()
        assert "the cat sat" in shown
        assert "probability" in shown

    def test_another_evidence(self):
        found = dm.mbr([["a cat", "dogs"]], evidence=[["dogs", "dogs", "a cat"]], utility="chrf")
        assert found == ["dogs"]
        assert found.probabilities.tolist() == pytest.approx([0.5])  # among the candidates


def test_the_command_writes_rated_lists(tmp_path):
    from dragoman.decision.blocks import BlockDecisions, EvidenceBlock
    from dragoman.decision.gains import expected_gains
    from dragoman.decision.mbr import Mbr
    from dragoman.formats.nbest.jsonl import JsonlNBest
    from dragoman.metrics.chrf import Chrf

    path = tmp_path / "lists.jsonl"
    rows = [{"id": i, "hyps": [{"text": text, "kept": True} for text in row], "note": i} for i, row in enumerate(ROWS)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    lists = JsonlNBest().read(path)
    block = EvidenceBlock.of(Mbr(weights_from="uniform"), lists, lists, path)
    gains = expected_gains(Chrf(), block.hypotheses, block.posterior)[0]
    decided = BlockDecisions.of(block, gains, np.empty(0, np.float32))
    JsonlNBest().write(tmp_path / "out.jsonl", decided.rated_lists(2))
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [[one["text"] for one in row["hyps"]] for row in written] == [
        ["the cat sat", "a cat sat"],
        ["it rains", "rain"],
    ]
    assert all(one["kept"] for row in written for one in row["hyps"])
    assert [row["note"] for row in written] == [0, 1]
    assert written[0]["hyps"][0]["features"]["probability"] == pytest.approx(0.5)
    assert written[0]["hyps"][0]["features"]["expected_utility"] == pytest.approx(gains[0])
    apart = decided.rated_lists(2, diversity=5.0)
    assert apart.texts()[:2] == ["the cat sat", "dogs"]


def test_reranked_lists_have_scores_too():
    found = dm.rerank(
        {"x": ["a cat", "the cat", "cat"], "y": ["dogs"]}, {"comet": 2.0}, features={"comet": [1, 3, 2, 0]}
    )
    assert found == ["the cat", "dogs"]
    assert found.scores.tolist() == [6.0, 0.0]
    assert found.nbest(2) == [["the cat", "cat"], ["dogs"]]
    assert found.probabilities[1] == 1.0
    assert found.probabilities[0] == pytest.approx(np.exp(6) / np.exp([2, 6, 4]).sum())
    assert "chosen of 3" in found._repr_html_()
