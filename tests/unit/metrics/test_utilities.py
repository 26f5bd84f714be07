"""Utilities of all kinds, their calls, and the cache of their scores."""

import sqlite3

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.character_vectors import character_vectors
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.score_cache import ScoreCache, score_key
from dragoman.metrics.utility import Utility, utility_of


class Lengths:
    """A utility that counts its calls."""

    needs_source = False

    def __init__(self, signature="lengths"):
        self.pairs = []
        self._signature = signature

    def score(self, hypotheses, references, sources):
        self.pairs += zip(hypotheses, references, sources, strict=True)
        return [-abs(len(a) - len(b)) + 0.001 * len(c) for a, b, c in zip(hypotheses, references, sources, strict=True)]

    def signature(self):
        return self._signature


def test_a_metric_is_a_utility_and_error_rates_are_negated():
    pairs = ["the cat sat", "dogs"], ["the cat sat", "the cat sat"], ["", ""]
    assert utility_of("chrf").score(*pairs)[0] == pytest.approx(100.0)
    ter = utility_of("ter").score(*pairs)
    assert ter[0] == 0.0
    assert ter[1] < 0.0
    assert np.array_equal(utility_of(Bleu()).score(*pairs), utility_of("bleu").score(*pairs))


def test_functions_take_sources_if_they_have_three_arguments():
    def with_sources(hypotheses, references, sources):
        return [float(len(source)) for source in sources]

    assert utility_of(with_sources).score(["a"], ["b"], ["src"]) == [3.0]
    assert utility_of(lambda hypotheses, references: [1.0]).score(["a"], ["b"], ["src"]) == [1.0]


def test_an_object_with_score_is_used_unchanged():
    given = Lengths()
    assert isinstance(given, Utility)
    assert utility_of(given) is given


@pytest.mark.parametrize(("given", "said"), [(7, "found int as a utility"), ("blue", "neural metrics are")])
def test_something_else_is_refused(given, said):
    with pytest.raises(UsageError, match=said):
        utility_of(given)


def test_precomputed_scores_are_no_utility():
    with pytest.raises(UsageError, match="cannot compare two strings"):
        utility_of("precomputed")


def test_equal_pairs_are_scored_once():
    utility = Lengths()
    scorer = PairScorer(utility)
    found = scorer.score(["a", "a", "bb"], ["bb", "bb", "bb"], ["", "", ""])
    assert found.tolist() == [-1.0, -1.0, 0.0]
    assert utility.pairs == [("a", "bb", ""), ("bb", "bb", "")]
    scorer.score(["a"], ["bb"], [""])
    assert scorer.calls == 2
    scorer.forget()
    scorer.score(["a"], ["bb"], [""])
    assert scorer.calls == 3


def test_references_do_not_matter_to_a_quality_estimate():
    class Estimate(Lengths):
        needs_reference = False

    scorer = PairScorer(Estimate())
    scorer.score(["a", "a"], ["b", "ccc"], ["s", "s"])
    assert scorer.calls == 1


def test_a_utility_that_needs_sources_is_not_called_without_them():
    class Sourced(Lengths):
        needs_source = True

    with pytest.raises(DataError, match="needs source texts"):
        PairScorer(Sourced()).score(["a"], ["b"], [""])


@pytest.mark.parametrize("wrong", [lambda a, b: [1.0, 2.0], lambda a, b: [float("inf")]])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(UsageError, match="the utility gave"):
        PairScorer(utility_of(wrong)).score(["a"], ["b"], [""])


class TestCache:
    def test_a_second_run_calls_nothing(self, tmp_path):
        path = tmp_path / "folder" / "scores.sqlite"
        texts = ["a", "bb", "ccc\n", ""], ["bb"] * 4, ["s"] * 4
        first = PairScorer(Lengths(), ScoreCache(path))
        found = first.score(*texts)
        second = PairScorer(Lengths(), ScoreCache(path))
        assert np.array_equal(second.score(*texts), found)
        assert (first.calls, second.calls) == (4, 0)

    def test_another_signature_or_source_is_another_score(self, tmp_path):
        cache = ScoreCache(tmp_path / "scores.sqlite")
        PairScorer(Lengths("one"), cache).score(["a"], ["b"], ["s"])
        for signature, source, calls in (("two", "s", 1), ("one", "other", 1), ("one", "s", 0)):
            scorer = PairScorer(Lengths(signature), cache)
            scorer.score(["a"], ["b"], [source])
            assert scorer.calls == calls

    def test_functions_are_not_cached_because_they_have_no_signature(self, tmp_path):
        cache = ScoreCache(tmp_path / "scores.sqlite")
        for _ in range(2):
            scorer = PairScorer(utility_of(lambda a, b: [1.0] * len(a)), cache)
            scorer.score(["a"], ["b"], [""])
            assert scorer.calls == 1

    def test_what_was_scored_before_an_error_is_kept(self, tmp_path):
        class Killed(Lengths):
            def score(self, hypotheses, references, sources):
                if len(self.pairs) >= 4096:
                    raise KeyboardInterrupt
                return super().score(hypotheses, references, sources)

        texts = [str(i) for i in range(5000)]
        cache = ScoreCache(tmp_path / "scores.sqlite")
        with pytest.raises(KeyboardInterrupt):
            PairScorer(Killed(), cache).score(texts, ["b"] * 5000, [""] * 5000)
        resumed = PairScorer(Lengths(), cache)
        resumed.score(texts, ["b"] * 5000, [""] * 5000)
        assert resumed.calls == 5000 - 4096

    def test_another_file_is_refused_and_not_touched(self, tmp_path):
        path = tmp_path / "thesis.txt"
        path.write_text("not a database, but long enough to be taken for one" * 100)
        before = path.read_bytes()
        with pytest.raises(DataError, match="is no cache of scores"):
            ScoreCache(path)
        assert path.read_bytes() == before

    def test_keys_keep_strings_apart(self):
        assert score_key("s", "ab", "c", "") != score_key("s", "a", "bc", "")

    def test_several_processes_may_write(self, tmp_path):
        path = tmp_path / "scores.sqlite"
        one, two = ScoreCache(path), ScoreCache(path)
        one.add([b"k"], np.array([1.0]))
        two.add([b"k", b"l"], np.array([1.0, 2.0]))
        assert one.find([b"k", b"l", b"m"]).tolist()[:2] == [1.0, 2.0]
        with sqlite3.connect(path) as database:
            assert database.execute("SELECT COUNT(*) FROM scores").fetchone() == (2,)


def test_character_vectors_are_unit_vectors_and_see_n_grams():
    same, other, empty, short = character_vectors(["the cat sat", "a dog", "", "x"])
    assert np.linalg.norm(same) == pytest.approx(1.0)
    assert not empty.any()
    assert not short.any()
    assert same @ character_vectors(["the cat sat", "b"])[0] == pytest.approx(1.0)
    assert same @ other < 0.5
