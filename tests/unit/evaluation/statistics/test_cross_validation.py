"""Cross-validation of tuned reranking."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.evaluation.statistics.cross_validation import cross_validate, problem_of_sentences
from dragoman.metrics.chrf import Chrf
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.runs.rerank import problem_of_lists, tune_problem

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "today", "slowly"]


def problem(sentences=40, candidates=8, scale=1.0, seed=1):
    """Lists with a feature that knows the quality of candidates, and one that is noise."""
    rng = np.random.default_rng(seed)
    references, texts, errors = [], [], []
    for _ in range(sentences):
        base = rng.choice(WORDS, 8)
        references.append(" ".join(base))
        for _ in range(candidates):
            wrong = rng.random(8) < rng.uniform(0, 0.9)
            texts.append(" ".join(np.where(wrong, rng.choice(WORDS, 8), base)))
            errors.append(float(wrong.sum()))
    noise = rng.normal(0, 1, len(texts))
    columns = {"quality": -scale * (np.array(errors) + rng.normal(0, 0.5, len(texts))), "noise": noise}
    lists = NBest.of_texts(texts, [0.0] * len(texts), np.arange(sentences + 1) * candidates)
    features = FeatureRows.of_columns(columns, len(texts))
    return problem_of_lists(replace(lists, features=features), Chrf(), [Corpus.from_lines(references)])


@pytest.fixture(scope="module")
def found():
    return cross_validate(Mert(restarts=1), problem(), np.array([0.5, 0.5]), folds=4, ablation=True)


def test_the_gain_is_measured_on_sentences_that_were_not_tuned_on(found):
    assert found.folds == 4
    assert found.random < found.held_out <= found.optimistic <= found.oracle
    assert found.gain == pytest.approx(found.held_out - found.first)
    low, high = found.interval
    assert 0 < low < found.gain < high
    assert found.p_value < 0.01


def test_the_feature_that_knows_the_quality_is_worth_most(found):
    assert [one.name for one in found.features] == ["quality", "noise"]
    assert found.features[0].loss > 5
    assert abs(found.features[1].loss) < 1


def test_noise_alone_has_no_gain():
    noisy = problem(seed=2)
    alone = replace(noisy, features=noisy.features.restricted(["noise"]), ranges=noisy.ranges[1:])
    assert cross_validate(Mert(restarts=1), alone, np.array([1.0]), folds=4).p_value > 0.01


def test_the_scale_of_a_feature_does_not_matter():
    small, large = (tune_problem(Mert(restarts=1), problem(scale=s), np.array([0.5 / s, 0.5])) for s in (1e-6, 1e6))
    assert small[0] * 1e-6 == pytest.approx(large[0] * 1e6, rel=1e-6)
    assert small[1] == pytest.approx(large[1], rel=1e-6)


def test_a_feature_that_does_not_vary_is_left_alone():
    one = problem(sentences=6)
    features = FeatureRows.of_columns({"quality": one.features.dense()[:, 0], "constant": np.full(48, 7.0)}, 48)
    weights = tune_problem(Mert(restarts=1), replace(one, features=features), np.array([1.0, 1.0]))
    assert np.isfinite(weights).all()


def test_a_part_of_a_problem_keeps_its_sentences_together():
    whole = problem(sentences=5)
    part = problem_of_sentences(whole, np.array([3, 1]))
    assert part.sentences.tolist() == [0, 8, 16]
    rows = [*range(24, 32), *range(8, 16)]
    assert np.array_equal(part.statistics, whole.statistics[rows])
    assert np.array_equal(part.features.dense(), whole.features.dense()[rows])


@pytest.mark.parametrize("folds", [1, 41])
def test_impossible_folds_are_refused(folds):
    with pytest.raises(DataError, match="folds"):
        cross_validate(Mert(restarts=1), problem(), np.array([0.5, 0.5]), folds=folds)
