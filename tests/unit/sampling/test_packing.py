"""Packed samples are the list of samples: the same derivations, probabilities and expectations, in less room."""

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.forest.derivation import derivation_features, derivation_scores, segmentations, yields
from dragoman.forest.inside_outside import expected_features, log_partition
from dragoman.forest.kbest import kbest
from dragoman.forest.ngrams import expected_counts
from dragoman.sampling.packing import pack
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling

LINES = [
    "un homme et une femme courent dans la rue",
    "deux petits chats noirs et une fille mange dans la neige",
    "",
    "dort",
]


pytestmark = pytest.mark.filterwarnings("ignore:too little text")


@pytest.fixture(scope="module", params=["phrases", "charts"])
def samples(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    example = dm.example(folder)
    translator = example.translator
    if request.param == "charts":
        texts = folder / "train.fr", folder / "train.en"
        translator = dm.train(*texts, out=folder / "chart", hierarchical=True, progress=False).translator
    (batch,) = Sampler.of(translator, Sampling(samples=400)).batches(LINES, seed=1)
    return batch.samples


def listed(samples, i):
    part = samples.sentence(i)
    return part, part.probabilities


@pytest.mark.parametrize("i", range(len(LINES)))
def test_the_derivations_are_those_of_the_list_with_their_probabilities(samples, i):
    part, probabilities = listed(samples, i)
    graph = pack(samples, i)
    graph.check()
    assert log_partition(graph) == pytest.approx(0, abs=1e-9)
    found = kbest(graph, 10**6)
    assert len(found) == len(part.scores)
    texts = [row.tobytes() for row in yields(graph, found.derivations)]
    rows = sorted(zip(texts, np.exp(found.scores).tolist(), strict=True))
    expected = sorted(zip((row.tobytes() for row in part.hypotheses), probabilities.tolist(), strict=True))
    assert [text for text, _ in rows] == [text for text, _ in expected]
    np.testing.assert_allclose([p for _, p in rows], [p for _, p in expected], atol=1e-12)


@pytest.mark.parametrize("i", range(len(LINES)))
def test_expected_features_are_those_of_the_list(samples, i):
    part, probabilities = listed(samples, i)
    graph = pack(samples, i)
    expected: dict[str, float] = {}
    for row, probability in enumerate(probabilities.tolist()):
        for name, value in part.features.row(row).items():
            expected[name] = expected.get(name, 0.0) + probability * value
    found = dict(zip(graph.features.names, expected_features(graph).tolist(), strict=True))
    assert {name: found.get(name, 0.0) for name in expected} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("i", [0, 1, 3])
def test_expected_ngrams_are_those_of_the_list(samples, i):
    part, probabilities = listed(samples, i)
    expected: dict[tuple[int, ...], float] = {}
    for row, probability in zip(part.hypotheses, probabilities.tolist(), strict=True):
        words = row.tolist()
        for n in (1, 2):
            for start in range(len(words) - n + 1):
                key = tuple(words[start : start + n])
                expected[key] = expected.get(key, 0.0) + probability
    found = expected_counts(pack(samples, i), 2)
    counts = {tuple(gram.tolist()): count for gram, count in zip(found.ngrams, found.values.tolist(), strict=True)}
    assert counts == pytest.approx(expected, abs=1e-9)


def test_features_and_scores_of_each_derivation_are_those_of_the_model(samples):
    part, _ = listed(samples, 0)
    weights = Weights({"lm": 0.5, "word_penalty": -1.0})
    graph = pack(samples, 0)
    found = kbest(graph, 10**6).derivations
    by_model = derivation_scores(graph.reweighted(weights), found)
    assert np.sort(by_model) == pytest.approx(np.sort(part.features.dot(weights)), abs=1e-8)
    assert np.sort(derivation_features(graph, found).dot(weights)) == pytest.approx(np.sort(by_model), abs=1e-8)


def test_shared_parts_are_there_once(samples):
    graph = pack(samples, 1)
    part = samples.sentence(1)
    whole = len(part.segmentations.values)
    assert len(part.scores) > 20
    assert graph.edges < whole / 2


def test_phrases_keep_their_source_spans():
    translator = dm.example().translator
    (batch,) = Sampler.of(translator, Sampling(samples=200)).batches(LINES[:1], seed=1)
    graph = pack(batch.samples, 0)
    found = segmentations(graph, kbest(graph, 10**6).derivations)
    key = [row.tobytes() for row in batch.samples.segmentations]
    assert sorted(row.astype(np.int32).tobytes() for row in found) == sorted(key)
    assert Corpus(graph.vocab, yields(graph, kbest(graph, 1).derivations)).lines()
