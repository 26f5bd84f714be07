"""What every metric promises; a new file in `metrics/` inherits these tests."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DragomanError
from dragoman.core.runtime import Runtime
from dragoman.metrics import METRICS
from dragoman.metrics.combined import parse_metric

# Metrics that cannot be made without being told something.
NEEDS_MORE = {"combined", "precomputed"}
PLAIN = [name for name in METRICS.names() if name not in NEEDS_MORE]
SPECIFICATIONS = [*PLAIN, "0.5*bleu-0.5*ter"]

RNG = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(20)]
REFERENCES = [" ".join(RNG.choice(WORDS, RNG.integers(4, 12))) for _ in range(20)]
WORSE = [" ".join(word if RNG.random() < 0.6 else RNG.choice(WORDS) for word in line.split()) for line in REFERENCES]


def scorer(text):
    return parse_metric(text).scorer([Corpus.from_lines(REFERENCES)])


@pytest.mark.parametrize("text", SPECIFICATIONS)
def test_the_reference_itself_is_best(text):
    sign = 1 if parse_metric(text).higher_is_better else -1
    found = scorer(text)
    perfect, worse = (
        float(found.score(found.statistics(Corpus.from_lines(lines)).sum(axis=0))) for lines in (REFERENCES, WORSE)
    )
    assert sign * perfect > sign * worse


@pytest.mark.parametrize("text", SPECIFICATIONS)
def test_statistics_belong_to_sentences_and_threads_do_not_matter(text):
    found = scorer(text)
    whole = found.statistics(Corpus.from_lines(WORSE))
    order = np.array([3, 3, 0, 19])
    some = found.statistics(Corpus.from_lines([WORSE[i] for i in order]), order.astype(np.int64))
    np.testing.assert_allclose(some, whole[order], rtol=0, atol=1e-12)
    for threads in (2, 3):
        np.testing.assert_array_equal(
            found.statistics(Corpus.from_lines(WORSE), runtime=Runtime(threads=threads)), whole
        )


@pytest.mark.parametrize("text", SPECIFICATIONS)
def test_scores_keep_the_other_axes(text):
    found = scorer(text)
    statistics = found.statistics(Corpus.from_lines(WORSE))
    stacked = found.score(np.stack([statistics[:10].sum(axis=0), statistics.sum(axis=0)]))
    assert stacked.shape == (2,)
    assert stacked[1] == pytest.approx(float(found.score(statistics.sum(axis=0))), abs=1e-12)
    assert np.isfinite(found.sentence_scores(statistics)).all()


@pytest.mark.parametrize("text", SPECIFICATIONS)
def test_empty_lines_are_no_trouble_and_no_references_are(text):
    found = parse_metric(text).scorer([Corpus.from_lines(["", "a b", "c"])])
    statistics = found.statistics(Corpus.from_lines(["a", "", ""]))
    assert np.isfinite(statistics).all()
    assert np.isfinite(found.score(statistics.sum(axis=0))).all()
    with pytest.raises(DragomanError):
        parse_metric(text).scorer([])


@pytest.mark.parametrize("name", PLAIN)
def test_options_round_trip_and_signatures_name_the_metric(name):
    metric = METRICS.get(name)()
    assert METRICS.get(name).from_dict(metric.to_dict()) == metric
    assert name in metric.signature().lower()
    assert metric.__doc__
