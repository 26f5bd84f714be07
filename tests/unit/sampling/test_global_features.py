"""Global features: compiled ones against Python, documents, and what goes wrong in them."""

from __future__ import annotations

import ctypes
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.ragged import Ragged
from dragoman.features import GLOBAL_FEATURES, DocumentFeature, SentenceFeature
from dragoman.features.bracket_balance import BracketBalance
from dragoman.features.length_ratio import LengthRatio
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from oracles import phrase_space

FEW = Sampling(samples=50, burn_in=3, chains=1)


class SlowLengthRatio(SentenceFeature):
    """The compiled length ratio in Python."""

    name = "length_ratio"

    def value(self, source, target, changed):
        return -abs(math.log((sum(map(len, target)) + 1) / (sum(map(len, source)) + 1)))


class DocumentLengthRatio(DocumentFeature):
    """The same of a document."""

    name = "length_ratio"
    value = SlowLengthRatio.value


def sampled(features, weight=3.0, seed=1, lines=6, sampling=FEW, **settings):
    rng = np.random.default_rng(seed)
    model = phrase_space.random_model(rng, language_models=1)
    weights = model.weights.updated({feature.name: weight for feature in features})
    translator = PhraseTranslator(model, weights, space=SpaceLimits(reordering_limit=2, table_limit=0))
    texts = [phrase_space.random_sentence(rng, 6) for _ in range(lines)]
    parts = list(Sampler.of(translator, sampling, global_features=features).sample(texts, **settings))
    return translator, texts, parts


def test_the_compiled_feature_is_the_python_one():
    _, _, (compiled,) = sampled([LengthRatio()])
    translator, texts, (slow,) = sampled([SlowLengthRatio()])
    assert compiled.counts.tobytes() == slow.counts.tobytes()
    assert compiled.scores == pytest.approx(slow.scores, abs=1e-12)
    assert slow.scores == pytest.approx(slow.features.dot(translator.weights), abs=1e-9)
    sentence = np.repeat(np.arange(len(texts)), np.diff(slow.sentences))
    for row in range(len(slow.scores)):
        ratio = (len(slow.hypotheses[row]) + 1) / (len(texts[sentence[row]].split()) + 1)
        assert slow.features.row(row).get("length_ratio", 0.0) == pytest.approx(-abs(math.log(ratio)))


def test_a_strong_feature_has_its_way():
    """So that hardly anything else counts: what is sampled is as good as anything that is sampled without it."""
    values = []
    for weight in (500.0, 0.0):
        _, texts, (samples,) = sampled([LengthRatio()], weight=weight)
        lengths = np.repeat([len(text.split()) for text in texts], np.diff(samples.sentences))
        away = np.abs(np.log((samples.hypotheses.lengths + 1) / (lengths + 1)))
        values.append([away[a:b] for a, b in itertools.pairwise(samples.sentences.tolist())])
    for strong, indifferent in zip(*values, strict=True):
        assert strong.max() <= indifferent.min() + 1e-9
    assert max(row.max() for row in values[1]) > max(row.max() for row in values[0])


def test_documents_are_seen_as_a_whole():
    seen = []

    class Recorder(DocumentFeature):
        name = "recorder"

        def value(self, source, target, changed):
            seen.append((len(source), len(target), changed))
            return 0.0

    _, _, parts = sampled([Recorder()], documents=["a", "a", "a", "b", "b", "c"])
    assert [len(part) for part in parts] == [6]  # documents may be sampled side by side
    assert {count for count, _, _ in seen} == {1, 2, 3}
    assert all(sources == targets and 0 <= changed < sources for sources, targets, changed in seen)
    _, _, (whole,) = sampled([Recorder()])
    assert len(whole) == 6
    with pytest.raises(DataError, match="2 labels of documents for 6 lines"):
        sampled([Recorder()], documents=["a", "b"])


def test_a_document_feature_steers_the_whole():
    arrived = replace(FEW, burn_in=50)
    _, texts, (samples,) = sampled([DocumentLengthRatio()], weight=300.0, seed=2, sampling=arrived)
    assert "length_ratio" not in samples.features.names
    mean = sum((samples.hypotheses.lengths * samples.counts[:, 0]).tolist()) / 50
    assert mean == sum(len(text.split()) for text in texts)
    _, _, (indifferent,) = sampled([DocumentLengthRatio()], weight=0.0, seed=2)
    assert mean != sum((indifferent.hypotheses.lengths * indifferent.counts[:, 0]).tolist()) / 50


def test_functions_compiled_elsewhere():
    signature = ctypes.CFUNCTYPE(
        ctypes.c_double,
        ctypes.c_int64,
        *[ctypes.c_void_p] * 4,
        ctypes.c_int64,
    )
    constant = signature(lambda *_: 2.5)

    class Elsewhere(SentenceFeature):
        name = "elsewhere"

        @property
        def address(self):
            return ctypes.cast(constant, ctypes.c_void_p).value

    _, _, (samples,) = sampled([Elsewhere()])
    assert samples.features.row(0)["elsewhere"] == 2.5


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [
        ("a b", "c", 0),
        ("( a )", "( c )", 0),
        ("( a )", "( c", -1),
        ("( a )", ") c (", -2),
        ("a )", "c )", 0),
        ("a )", "c", -1),
        ("( [ a ] )", "( [ c ) ]", -2),
        ("", "( ( (", -3),
    ],
)
def test_brackets(source, target, value):
    vocab = Vocab.of(sorted(set((source + " " + target).split())))
    feature = BracketBalance()
    rows = [Ragged(*vocab.encode(f"{text}\n".encode())) for text in (source, target)]
    ours, theirs = (Ragged(feature.symbols(vocab)[row.values], row.offsets).for_kernels() for row in rows)
    found = kernels.global_values(feature.address, ours, np.zeros(1, np.int64), theirs)
    assert found.tolist() == [value]


def test_what_a_feature_raises_comes_out():
    class Raises(SentenceFeature):
        name = "raises"

        def value(self, source, target, changed):
            raise LookupError("not today")

    class NotANumber(SentenceFeature):
        name = "not_a_number"

        def value(self, source, target, changed):
            return math.nan

    with pytest.raises(LookupError, match="not today"):
        sampled([Raises()])
    with pytest.raises(DataError, match=r"not a finite number \(of not_a_number\)"):
        sampled([NotANumber()])


def test_a_document_without_memory_is_refused():
    begin = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * 4)(lambda *_: None)
    functions = (ctypes.c_void_p * 4)(ctypes.cast(begin, ctypes.c_void_p).value, None, None, None)

    class Forgetful(DocumentFeature):
        name = "forgetful"

        @property
        def incremental(self):
            return ctypes.addressof(functions)

    with pytest.raises(DataError, match=r"no memory for its document \(of forgetful\)"):
        sampled([Forgetful()])


def test_names_and_refusals():
    assert GLOBAL_FEATURES.names() == ["bracket_balance", "length_ratio", "lexical_consistency"]
    with pytest.raises(UsageError, match="the global feature length_ratio has no weight"):
        GlobalFunctions([LengthRatio()], Weights())
    model = phrase_space.random_model(np.random.default_rng(1))
    with pytest.raises(UsageError, match="length_ratio is a global feature, which no search by dynamic programming"):
        PhraseTranslator(model, features=[LengthRatio()])

    class Nothing(SentenceFeature):
        name = "nothing"

    with pytest.raises(NotImplementedError, match="Nothing has neither a value nor an address"):
        sampled([Nothing()])
