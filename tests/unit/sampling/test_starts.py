"""Where chains start, whether they skip the heating, and the warning where they disagree."""

from dataclasses import replace

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.core.runtime import Runtime
from dragoman.sampling.phrase.space import PhraseSpace
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits
from dragoman.search.phrase.translator import PhraseTranslator

LINES = ["un homme et une femme courent dans la rue", "deux chiens noirs jouent dans la neige", ""]


@pytest.fixture(scope="module")
def translator():
    return dm.example().translator


def random_decoding(translator, lines, seed, first=0):
    space = PhraseSpace.of(translator, lines)
    found = space.random_decoding(SearchLimits(), seed, first, Runtime())
    return space, [row.tolist() for row in found]


def test_random_decoding_covers_the_source_and_depends_on_seed_and_place_only(translator):
    space, rows = random_decoding(translator, LINES, 1)
    for i, row in enumerate(rows):
        options = np.array(row, np.int64) + space.batch.options.offsets[i]
        spans = zip(space.batch.options.begin[options], space.batch.options.end[options], strict=True)
        assert sorted(word for begin, end in spans for word in range(begin, end)) == [*range(len(LINES[i].split()))]
    assert random_decoding(translator, LINES[1:], 1, first=1)[1] == rows[1:]
    seeds = {str(random_decoding(translator, LINES, seed)[1]) for seed in range(10)}
    assert len(seeds) > 5
    assert rows[0] != space.monotone(Runtime())[0].tolist()


def test_chains_start_from_random_decoding(translator):
    options = Sampling(samples=1, chains=1, burn_in=0, initial="random-decoding", temperature=1e-6, jump_every=0)
    still = replace(options, reorder=0, merge_split=0)  # only phrases are translated anew: the segmentation stays
    (batch,) = Sampler.of(translator, still).batches(LINES, seed=4)
    space, rows = random_decoding(translator, LINES, 4)
    for i, row in enumerate(rows):
        placed = np.array(row, np.int64) + space.batch.options.offsets[i]
        expected = np.stack([space.batch.options.begin[placed], space.batch.options.end[placed]], axis=1)
        np.testing.assert_array_equal(batch.samples.segmentations[i].reshape(-1, 4)[:, :2], expected)


@pytest.mark.filterwarnings("ignore:too little text")
def test_charts_know_neither_random_decoding_nor_proposals_of_lower_order(tmp_path):
    dm.example(tmp_path)
    texts = tmp_path / "train.fr", tmp_path / "train.en"
    translator = dm.train(*texts, out=tmp_path / "chart", hierarchical=True, progress=False).translator
    with pytest.raises(UsageError, match="random-decoding, which chains of a hierarchical model do not know"):
        list(Sampler.of(translator, Sampling(samples=5, initial="random-decoding")).batches(LINES))
    with pytest.raises(UsageError, match="proposal-order is 2, which chains of a hierarchical model do not know"):
        Sampler.of(translator, Sampling(proposal_order=2))


def jumps(translator, **options):
    (batch,) = Sampler.of(translator, Sampling(samples=100, chains=2, **options)).batches(LINES[:2], seed=1)
    return batch.counts("jump")[0], batch


def test_chains_jump_after_each_scan_where_jumps_are_accepted(translator):
    adaptive, settled = jumps(translator, temperature=0.1)
    assert adaptive == 2 * 2 * (100 + 100)
    assert settled.counts("jump")[1] > adaptive / 2
    assert jumps(translator, temperature=0.1, adaptive_jumps=False)[0] == adaptive / 10
    # Heat that was asked for is given, and a chain without a burn-in begins where it was told to.
    assert jumps(translator, temperature=0.1, start_temperature=0.3)[0] == adaptive / 10
    assert jumps(translator, temperature=0.1, burn_in=0)[0] == 2 * 2 * 100 / 10


def test_distributions_outside_the_lattice_are_sampled_as_without_trial_scans(translator):
    narrow = PhraseTranslator(translator.model, limits=SearchLimits(pop_limit=1))
    adaptive, plain = (jumps(narrow, temperature=50.0, adaptive_jumps=value)[1] for value in (True, False))
    assert adaptive.counts("jump") == plain.counts("jump")
    np.testing.assert_array_equal(adaptive.samples.counts, plain.samples.counts)
    np.testing.assert_array_equal(adaptive.samples.scores, plain.samples.scores)


def test_disagreement_is_warned_of_once_with_numbers(translator):
    stuck = Sampling(samples=60, initial="random", merge_split=0, jump_every=0, burn_in=0, temperature=0.05)
    sampler = Sampler.of(translator, stuck)
    with pytest.warns(
        DragomanWarning, match=r"of 3 sentences disagree: the R-hat .* \(largest: .*effective sample"
    ) as found:
        list(sampler.evidence(LINES, seed=1, features=False))
    assert len(found) == 1
    # Short chains differ by chance.
    list(Sampler.of(translator, replace(stuck, samples=20)).evidence(LINES, seed=1, features=False))


def test_agreement_is_of_each_sentence(translator):
    (batch,) = Sampler.of(translator, Sampling(samples=300)).batches(LINES, seed=1)
    assert batch.agreement.r_hats.max() < 1.1
    assert batch.agreement.samples.tolist() == [300, 300, 300]
    assert batch.sentence(1).agreement.r_hats.tolist() == batch.agreement.r_hats[1:2].tolist()
    assert batch.samples.trace is None
