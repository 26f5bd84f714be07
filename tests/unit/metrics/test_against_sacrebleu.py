"""sacreBLEU is the truth for BLEU, TER and chrF."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from dragoman.core.corpus import Corpus
from dragoman.metrics.combined import parse_metric
from oracles.texts import corpora, lines, parallel_texts

pytestmark = pytest.mark.slow

PAIRS: list[tuple[str, Any]] = [
    ("bleu", BLEU(tokenize="none", force=True)),
    ("bleu:order=2,smoothing=none", BLEU(tokenize="none", force=True, smooth_method="none", max_ngram_order=2)),
    ("bleu:smoothing=floor", BLEU(tokenize="none", force=True, smooth_method="floor")),
    ("bleu:smoothing=add-k,smoothing_value=0.5", BLEU(tokenize="none", smooth_method="add-k", smooth_value=0.5)),
    ("bleu:tokenise=13a,lowercase=true", BLEU(tokenize="13a", lowercase=True, force=True)),
    ("bleu:tokenise=intl", BLEU(tokenize="intl", force=True)),
    ("bleu:tokenise=char", BLEU(tokenize="char", force=True)),
    ("bleu:tokenise=zh", BLEU(tokenize="zh", force=True)),
    ("ter", TER()),
    ("ter:normalised=true,case_sensitive=true", TER(normalized=True, case_sensitive=True)),
    ("ter:no_punctuation=true,asian_support=true", TER(no_punct=True, asian_support=True)),
    ("chrf", CHRF()),
    ("chrf:word_order=2", CHRF(word_order=2)),
    ("chrf:lowercase=true,whitespace=true,beta=1,word_order=1", CHRF(6, 1, 1, lowercase=True, whitespace=True)),
]


def ours(metric: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    scorer = parse_metric(metric).scorer(corpora(references))
    return float(scorer.score(scorer.statistics(Corpus.from_lines(hypotheses)).sum(axis=0)))


@pytest.mark.parametrize(("metric", "truth"), PAIRS, ids=[metric for metric, _ in PAIRS])
def test_random_corpora(metric: str, truth: Any) -> None:
    rng = random.Random(metric)
    for references in (1, 2, 3):
        for count in (1, 4):
            hypotheses, texts = parallel_texts(rng, count, references)
            expected = truth.corpus_score(hypotheses, texts).score
            assert ours(metric, hypotheses, texts) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(lines, lines, lines), min_size=1, max_size=3))
def test_any_text(rows: list[tuple[str, str, str]]) -> None:
    hypotheses, *references = map(list, zip(*rows, strict=True))
    for metric, truth in PAIRS:
        if "zh" not in metric:
            expected = truth.corpus_score(hypotheses, references).score
            assert ours(metric, hypotheses, references) == pytest.approx(expected, abs=1e-9), metric


@pytest.mark.parametrize("smoothing", ["none", "exp", "floor", "add-k"])
def test_sentence_bleu(smoothing: str) -> None:
    truth = BLEU(tokenize="none", force=True, smooth_method=smoothing, effective_order=True)
    hypotheses, references = parallel_texts(random.Random(7), 60, 2)
    scorer = parse_metric(f"bleu:sentence_smoothing={smoothing}").scorer(corpora(references))
    found = scorer.sentence_scores(scorer.statistics(Corpus.from_lines(hypotheses)))
    texts = zip(hypotheses, *references, strict=True)
    expected = [truth.sentence_score(line, list(others)).score for line, *others in texts]
    assert found == pytest.approx(expected, abs=1e-9)


def test_long_lines_under_the_beam_of_ter() -> None:
    # Sentences that differ much in length, and long ones with far shifts: where Tercom's limits matter.
    rng = random.Random(3)
    words = [f"w{i}" for i in range(30)]
    long = [rng.choice(words) for _ in range(80)]
    moved = long[35:] + long[:35]
    rows = [
        (long, moved),
        (long, long[::-1]),
        (long, long[:4]),
        (long[:3], long),
        (["a"] * 40, ["a", "b"] * 30),
        (["a", "b"] * 40, ["b", "a"] * 45),
        (long[:1], long * 2),
    ]
    hypotheses, references = ([" ".join(row[side]) for row in rows] for side in (0, 1))
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        expected = TER().corpus_score([hypothesis], [[reference]]).score
        assert ours("ter", [hypothesis], [[reference]]) == pytest.approx(expected, abs=1e-9)
