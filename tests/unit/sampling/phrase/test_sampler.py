"""From lines to Samples: batches, starts, features, documents."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.core.weights import Weights
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space

FEW = Sampling(samples=20, burn_in=3)


def translator_and_lines(seed, lines=20, **settings):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, language_models=2)
    translator = PhraseTranslator(model, space=SpaceLimits(reordering_limit=3, table_limit=0), **settings)
    return translator, ["", *(phrase_space.random_sentence(rng, 7) for _ in range(lines - 1))]


@pytest.mark.parametrize("initial", ["gloss", "random", "beam"])
def test_samples_fit_together(initial):
    translator, lines = translator_and_lines(1)
    samples = Samples.concatenate(
        list(Sampler.of(translator, Sampling(samples=20, burn_in=3, initial=initial)).sample(lines))
    )
    assert len(samples) == 20
    assert samples.chains == 2
    assert samples.counts.sum() == 20 * 2 * 20
    assert samples.scores == pytest.approx(samples.features.dot(translator.weights), abs=1e-9)
    sentence = np.repeat(np.arange(20), np.diff(samples.sentences))
    for row, ranges in enumerate(samples.segmentations):
        source = sorted(word for begin, end, *_ in ranges.tolist() for word in range(begin, end))
        target = [word for *_, begin, end in ranges.tolist() for word in range(begin, end)]
        assert source == list(range(len(lines[sentence[row]].split())))
        assert target == list(range(len(samples.hypotheses[row])))


def test_batches_do_not_matter():
    translator, lines = translator_and_lines(2)
    sampler = Sampler.of(translator, FEW)
    more = Sampler.of(translator.reweighted(translator.weights, runtime=Runtime(threads=2)), FEW)
    one, two = (Samples.concatenate(list(chains.sample(lines, seed=9))) for chains in (sampler, more))
    assert one.scores.tobytes() == two.scores.tobytes()
    assert one.counts.tobytes() == two.counts.tobytes()
    other = Samples.concatenate(list(sampler.sample(lines, seed=10)))
    assert other.scores.tobytes() != one.scores.tobytes()


def test_features_can_be_left_out():
    translator, lines = translator_and_lines(3)
    with_features, without = (next(Sampler.of(translator, FEW).sample(lines, features=flag)) for flag in (True, False))
    assert with_features.scores.tobytes() == without.scores.tobytes()
    assert without.features.names == ()
    assert len(without.features) == len(without.scores)


def test_a_proposal_gives_other_samples_of_the_same_scores():
    translator, lines = translator_and_lines(4)
    proposal = translator.weights.updated({"lm2": 0.0})
    samples = next(Sampler.of(translator, FEW, proposal_weights=proposal).sample(lines))
    assert samples.scores == pytest.approx(samples.features.dot(translator.weights), abs=1e-9)


def test_the_time_that_was_over_is_told():
    translator, lines = translator_and_lines(5)
    sampler = Sampler.of(translator, Sampling(samples=10**8, burn_in=0, max_seconds=0.001, chains=1))
    with pytest.warns(DragomanWarning, match="the time was over for"):
        samples = next(sampler.sample(lines[:4]))
    assert (np.diff(samples.sentences) > 0).all()


def test_nothing_to_sample():
    translator, _ = translator_and_lines(6)
    assert list(Sampler.of(translator, FEW).sample([])) == []
    (samples,) = Sampler.of(translator, FEW).sample([""])
    assert samples.counts.tolist() == [[20, 20]]
    assert samples.line(0) == ""


def test_what_is_refused():
    translator, lines = translator_and_lines(7)
    with pytest.raises(UsageError, match="samples is 0; expected at least 1"):
        Sampling(samples=0)
    with pytest.raises(UsageError, match="temperature is 0"):
        Sampling(temperature=0.0)
    with pytest.raises(UsageError, match="weight of lm is nan"):
        Sampler.of(PhraseTranslator(translator.model, Weights({"lm": float("nan")})))
    with pytest.raises(UsageError, match="weight of lm is inf"):
        Sampler.of(translator, proposal_weights=Weights({"lm": float("inf")}))
    infinite = PhraseTranslator(translator.model, translator.weights.updated({"word_penalty": 1e300}))
    with pytest.raises(DataError, match="expected features and weights whose sum is finite"):
        list(Sampler.of(infinite, FEW).sample(lines))
