"""Metrics against their definitions, by brute force."""

import random

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.meteor import Meteor, stem
from oracles import metrics as oracle
from oracles.texts import corpora


def short_lines(rng: random.Random, count: int, longest: int, words: str = "abc") -> list[str]:
    return [" ".join(rng.choice(words) for _ in range(rng.randint(0, longest))) for _ in range(count)]


@pytest.mark.parametrize(
    ("metric", "errors"), [("wer", oracle.word_errors), ("per", oracle.position_independent_errors)]
)
def test_error_rates(metric: str, errors: type) -> None:
    rng = random.Random(5)
    hypotheses, first, second = (short_lines(rng, 40, 5) for _ in range(3))
    statistics = parse_metric(metric).scorer(corpora([first, second])).statistics(Corpus.from_lines(hypotheses))
    for row, line, *references in zip(statistics, hypotheses, first, second, strict=True):
        words = [text.split() for text in references]
        assert row[0] == min(errors(line.split(), reference) for reference in words)
        assert row[1] == np.mean([len(reference) for reference in words])


@pytest.mark.parametrize("references", [1, 3])
def test_nist(references: int) -> None:
    rng = random.Random(6)
    hypotheses = short_lines(rng, 30, 7)
    texts = [short_lines(rng, 30, 9) for _ in range(references)]
    scorer = parse_metric("nist").scorer(corpora(texts))
    found = scorer.score(scorer.statistics(Corpus.from_lines(hypotheses)).sum(axis=0))
    grouped = [[line.split() for line in lines] for lines in zip(*texts, strict=True)]
    assert found == pytest.approx(oracle.nist([line.split() for line in hypotheses], grouped, 5), rel=1e-12)


def test_sentence_bleu_of_fewer_words_than_orders() -> None:
    # One of two words, none of one bigram; no trigrams, which add-one counts as 1 of 1, and others leave out.
    for smoothing, precisions in {"add-one": [1 / 2, 1 / 2, 1, 1], "floor": [1 / 2, 0.1]}.items():
        scorer = parse_metric(f"bleu:sentence_smoothing={smoothing}").scorer([Corpus.from_lines(["a b"])])
        (found,) = scorer.sentence_scores(scorer.statistics(Corpus.from_lines(["a x"])))
        assert found == pytest.approx(100 * np.exp(np.mean(np.log(precisions))))


def test_nist_of_known_counts() -> None:
    # Reference: a a b; information of a is log2(3/2), of b log2 3, of "a a" and "a b" log2(2/1).
    scorer = parse_metric("nist:order=2").scorer([Corpus.from_lines(["a a b"])])
    found = scorer.score(scorer.statistics(Corpus.from_lines(["a b b"])).sum(axis=0))
    assert found == pytest.approx((np.log2(1.5) + np.log2(3)) / 3 + 1 / 2)


WORDS = ["run", "runs", "running", "cat", "cats"]


def test_meteor_alignment() -> None:
    rng = random.Random(8)
    rows = [[[rng.choice(WORDS) for _ in range(rng.randint(0, 5))] for _ in range(2)] for _ in range(120)]
    rows += [[["cat"] * 5, ["cat"] * 4], [["cat", "run"] * 2, ["run", "cat"] * 2]]
    hypotheses, references = (Corpus.from_lines([" ".join(row[side]) for row in rows]) for side in (0, 1))
    found = Meteor(beam=10_000).scorer([references]).statistics(hypotheses)[:, 2:]
    assert found.tolist() == [list(oracle.meteor_matches(*row, stem)) for row in rows]


def test_the_beam_of_meteor_loses_nothing_but_chunks() -> None:
    rng = random.Random(9)
    lines = [[" ".join(rng.choice(WORDS) for _ in range(14)) for _ in range(40)] for _ in range(2)]
    wide, narrow = (
        Meteor(beam=beam).scorer(corpora(lines[:1])).statistics(Corpus.from_lines(lines[1])) for beam in (400, 1)
    )
    assert (wide[:, :4] == narrow[:, :4]).all()
    assert (wide[:, 4] <= narrow[:, 4]).all()


def test_meteor_formula() -> None:
    # "the cat sat": 3 matches in 2 chunks of 4 and 5 words; Fmean = 10 P R / (R + 9 P), penalty 0.5 (2/3)^3.
    scorer = Meteor().scorer([Corpus.from_lines(["the cat quietly sat down"])])
    found = scorer.score(scorer.statistics(Corpus.from_lines(["The cats sat there"])))
    precision, recall = 3 / 4, 3 / 5
    expected = 10 * precision * recall / (recall + 9 * precision) * (1 - 0.5 * (2 / 3) ** 3)
    assert found.tolist() == pytest.approx([100 * expected])


def test_exact_meteor_does_not_stem() -> None:
    reference, hypothesis = Corpus.from_lines(["cats"]), Corpus.from_lines(["cat"])
    assert Meteor(stemmer="none").scorer([reference]).statistics(hypothesis)[0, 2:].tolist() == [0, 0, 0]
    assert Meteor(stem_weight=0.5).scorer([reference]).statistics(hypothesis)[0, 2:].tolist() == [0, 1, 1]


# The examples of Porter (1980), after all steps.
STEMS = """
caresses:caress ponies:poni ties:ti caress:caress cats:cat feed:feed agreed:agre plastered:plaster bled:bled
motoring:motor sing:sing conflated:conflat troubled:troubl sized:size hopping:hop tanned:tan falling:fall
hissing:hiss fizzed:fizz failing:fail filing:file happy:happi sky:sky relational:relat conditional:condit
rational:ration valenci:valenc hesitanci:hesit digitizer:digit conformabli:conform radicalli:radic
differentli:differ vileli:vile analogousli:analog vietnamization:vietnam predication:predic operator:oper
feudalism:feudal decisiveness:decis hopefulness:hope callousness:callous formaliti:formal sensitiviti:sensit
sensibiliti:sensibl triplicate:triplic formative:form formalize:formal electriciti:electr electrical:electr
hopeful:hope goodness:good revival:reviv allowance:allow inference:infer airliner:airlin gyroscopic:gyroscop
adjustable:adjust defensible:defens irritant:irrit replacement:replac adjustment:adjust dependent:depend
adoption:adopt homologou:homolog communism:commun activate:activ angulariti:angular homologous:homolog
effective:effect bowdlerize:bowdler probate:probat rate:rate cease:ceas controll:control roll:roll
generalizations:gener oscillators:oscil trekking:trek
"""


@pytest.mark.parametrize(("word", "expected"), [pair.split(":") for pair in STEMS.split()])
def test_porter(word: str, expected: str) -> None:
    assert stem(word) == expected
