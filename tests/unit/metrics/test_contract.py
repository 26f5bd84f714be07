"""What holds for every metric, whatever it counts."""

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.metrics import METRICS
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Metric
from oracles.texts import corpora, parallel_texts

NAMES = [name for name in METRICS.names() if name != "precomputed"]
BEST = {"bleu": 100.0, "chrf": 100.0, "wer": 0.0, "per": 0.0, "ter": 0.0, "combined": 50.0}


def metric_called(name: str) -> Metric:
    return METRICS.get(name)()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_statistics_add_up_and_do_not_depend_on_threads_or_company(name: str) -> None:
    hypotheses, references = parallel_texts(random.Random(1), 1500, 2)
    scorer = metric_called(name).scorer(corpora(references))
    corpus = Corpus.from_lines(hypotheses)
    statistics = scorer.statistics(corpus)
    assert statistics.shape[0] == 1500
    assert np.array_equal(statistics, scorer.statistics(corpus, runtime=Runtime(threads=2)))
    # The same hypotheses in another order, from another vocabulary, some twice.
    rows = np.random.default_rng(2).integers(0, 1500, 2000)
    again = scorer.statistics(Corpus.from_lines([hypotheses[row] for row in rows]), rows)
    assert np.array_equal(again, statistics[rows])
    assert np.isfinite(scorer.score(statistics.sum(axis=0)))
    assert np.isfinite(scorer.sentence_scores(statistics)).all()
    # Many sums at once are scored as each alone.
    sums = statistics.reshape(30, 50, -1).sum(axis=1)
    assert scorer.score(sums) == pytest.approx([float(scorer.score(row)) for row in sums], rel=1e-12)
    assert scorer.score(sums.reshape(5, 6, -1)).shape == (5, 6)


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_is_the_best_translation_of_itself(name: str) -> None:
    lines = ["the cat sat on the mat .", "a dog ran through the big house", "x y z w v u"]
    metric = metric_called(name)
    scorer = metric.scorer([Corpus.from_lines(lines)])
    best = scorer.score(scorer.statistics(Corpus.from_lines(lines)).sum(axis=0))
    if name in BEST:
        assert best == pytest.approx(BEST[name])
    worse = ["the cat sat on a mat .", "a dog ran the through big house", "x y z w v"]
    found = scorer.score(scorer.statistics(Corpus.from_lines(worse)).sum(axis=0))
    assert (found < best) if metric.higher_is_better else (found > best)


@pytest.mark.parametrize("name", NAMES)
def test_more_references_never_hurt(name: str) -> None:
    hypotheses, references = parallel_texts(random.Random(4), 200, 1)
    metric, corpus = metric_called(name), Corpus.from_lines(hypotheses)
    alone = metric.scorer(corpora(references))
    both = metric.scorer([*corpora(references), corpus])
    before, after = (float(s.score(s.statistics(corpus).sum(axis=0))) for s in (alone, both))
    assert (after > before) if metric.higher_is_better else (after < before)


@pytest.mark.parametrize("name", NAMES)
def test_empty_lines(name: str) -> None:
    empty, full = Corpus.from_lines(["", ""]), Corpus.from_lines(["a b c", "d"])
    metric = metric_called(name)
    for references, hypotheses in ((empty, full), (full, empty), (empty, empty)):
        scorer = metric.scorer([references])
        statistics = scorer.statistics(hypotheses)
        assert np.isfinite(statistics).all()
        assert np.isfinite(scorer.score(statistics.sum(axis=0)))
        assert np.isfinite(scorer.sentence_scores(statistics)).all()
    scorer = metric.scorer([full])
    nothing = scorer.statistics(Corpus.from_lines([]), np.empty(0, np.int64))
    assert nothing.shape == (0, scorer.statistics(full).shape[1])


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_scored_is_refused(name: str) -> None:
    metric = metric_called(name)
    one, two = Corpus.from_lines(["a"]), Corpus.from_lines(["a", "b"])
    with pytest.raises(UsageError, match="at least one reference"):
        metric.scorer([])
    with pytest.raises(DataError, match="reference 2 has 1 lines and reference 1 has 2"):
        metric.scorer([two, one])
    scorer = metric.scorer([two])
    with pytest.raises(DataError, match="1 hypotheses for 2 reference lines"):
        scorer.statistics(one)
    for wrong in (2, -1):
        with pytest.raises(DataError, match=f"sentence {wrong}; expected a sentence from 0 to 1"):
            scorer.statistics(one, np.array([wrong]))
    with pytest.raises(UsageError, match="2 sentence numbers were given for 1 hypotheses"):
        scorer.statistics(one, np.array([0, 1]))


@pytest.mark.parametrize("name", METRICS.names())
def test_signatures_tell_settings_apart(name: str) -> None:
    metric = METRICS.get(name)()
    assert metric.signature().startswith(name)
    for field in dataclasses.fields(metric):
        changed = {
            "lowercase": not getattr(metric, "lowercase", True),
            "order": 3,
            "beta": 7,
            "expression": "bleu-2*wer",
        }
        if field.name in changed:
            other = dataclasses.replace(metric, **{field.name: changed[field.name]})
            assert other.signature() != metric.signature()
    assert type(metric).from_dict(metric.to_dict()) == metric


def test_unknown_words_do_not_match_the_word_unk() -> None:
    scorer = parse_metric("bleu").scorer([Corpus.from_lines(["<unk> a", "<s> b"])])
    assert scorer.statistics(Corpus.from_lines(["x a", "<s> y"]))[:, 2].tolist() == [1, 1]
    assert scorer.statistics(Corpus.from_lines(["<unk> a", "b"]))[:, 2].tolist() == [2, 1]


@pytest.mark.parametrize(
    ("choice", "lengths"), [("closest", [4, 2, 6]), ("shortest", [2, 2, 2]), ("average", [4, 4, 4])]
)
def test_reference_lengths(choice: str, lengths: list[int]) -> None:
    references = corpora([["a b"] * 3, ["a b c d e f"] * 3, ["a b c d"] * 3])
    scorer = parse_metric(f"bleu:reference_length={choice}").scorer(references)
    statistics = scorer.statistics(Corpus.from_lines(["x x x x", "x x x", "x x x x x x x x"]))
    assert statistics[:, 1].tolist() == lengths


def test_a_combination_is_the_weighted_sum() -> None:
    hypotheses, references = parallel_texts(random.Random(3), 50, 2)
    corpus = Corpus.from_lines(hypotheses)

    def score(metric: str) -> float:
        scorer = parse_metric(metric).scorer(corpora(references))
        return float(scorer.score(scorer.statistics(corpus).sum(axis=0)))

    expected = 0.3 * score("bleu:order=2") - score("ter") + 2 * score("chrf")
    assert score("0.3*bleu(order=2)-ter+2*chrf") == pytest.approx(expected)
    assert score("combined:expression=0.3*bleu(order=2)-ter+2*chrf") == pytest.approx(expected)
    scorer = parse_metric("bleu-ter").scorer(corpora(references))
    assert scorer.score(np.zeros(12)) == 0.0  # before it has seen any hypothesis


@pytest.mark.parametrize("text", ["bleu*2", "0.5*", "bleu--ter", "2*bleu ter", "0.5*bleu+", "", "*bleu", "bleu(order"])
def test_sums_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError):
        parse_metric(text)


def test_precomputed_scores(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    path.write_bytes(b"1 10 a\r\n2.5 20 b\r\n4 10 c\r\n")
    corpus = Corpus.from_lines(["x", "y", "z"])
    scorer = parse_metric(f"precomputed:path={path}").scorer([])
    statistics = scorer.statistics(corpus)
    assert scorer.score(statistics.sum(axis=0)) == 2.5
    assert scorer.sentence_scores(statistics).tolist() == [1, 2.5, 4]
    rate = parse_metric(f"precomputed:path={path},divisor=2,scale=100,higher_is_better=false")
    assert rate.scorer([]).score(rate.scorer([]).statistics(corpus).sum(axis=0)) == 7.5 / 40 * 100
    assert not rate.higher_is_better
    assert parse_metric("precomputed:path={}.x").for_system("out/a").to_dict()["path"] == Path("out/a.x")
    with pytest.raises(DataError, match="has 3 lines, but there are 2 hypotheses"):
        scorer.statistics(corpus.take(np.arange(2)))
    with pytest.raises(DataError, match="scores:1: found 'a'; expected numbers"):
        parse_metric(f"precomputed:path={path},column=3").scorer([])
    with pytest.raises(DataError, match="scores:1: found 3 numbers; expected at least 4"):
        parse_metric(f"precomputed:path={path},column=4").scorer([])
    path.write_text("nan\n")
    with pytest.raises(DataError, match="expected finite numbers"):
        parse_metric(f"precomputed:path={path}").scorer([])
    with pytest.raises(UsageError, match="needs the path"):
        parse_metric("precomputed").scorer([])
