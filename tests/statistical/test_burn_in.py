"""Chains arrive during the default burn-in, whatever the scale at which they sample."""

import numpy as np
import pytest

import dragoman as dm
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling

#: Unknown words can stand anywhere, so that a chain that was hot finds its way back slowly.
LINES = [
    "un homme et une femme courent dans la rue",
    "deux chiens noirs jouent dans la neige",
    "deux petits chats noirs et une fille mange dans la neige sur une plage",
]
LONG, SHORT = {"samples": 2000, "burn_in": 500, "chains": 8}, {"samples": 50, "chains": 40}


@pytest.fixture(scope="module", params=["phrases", "charts"])
def translator(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    example = dm.example(folder)
    if request.param == "phrases":
        return example.translator
    texts = folder / "train.fr", folder / "train.en"
    return dm.train(*texts, out=folder / "chart", hierarchical=True, progress=False).translator


def mean_scores(translator, **options):
    """Return the mean score of each sentence's samples, by chain, in units of the temperature."""
    (batch,) = Sampler.of(translator, Sampling(**options)).batches(LINES, seed=3, features=False)
    parts = [batch.samples.sentence(i) for i in range(len(LINES))]
    return np.array([part.scores @ part.counts / part.counts.sum(axis=0) for part in parts]) / options["temperature"]


@pytest.mark.filterwarnings("ignore:too little text")
@pytest.mark.parametrize("jump_every", [0, 10])
@pytest.mark.parametrize("scale", [1, 10, 50])
def test_the_default_burn_in_ends_where_long_chains_are(translator, scale, jump_every):
    long = mean_scores(translator, temperature=1 / scale, **LONG)
    short = mean_scores(translator, temperature=1 / scale, jump_every=jump_every, **SHORT)
    # The error that chains as short as these have after they arrived; their own spread would excuse those that did not.
    error = long.std(axis=1, ddof=1) * np.sqrt(LONG["samples"] / SHORT["samples"] / SHORT["chains"])
    np.testing.assert_array_less(np.abs(short.mean(axis=1) - long.mean(axis=1)), 4 * error + 0.1)
