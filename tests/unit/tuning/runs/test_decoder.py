"""The decoder of the tuning set: what it translates of some sentences is what it finds when it decodes all."""

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.model.bundle import Model
from dragoman.search.translator import ShardedTranslator, Translator
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.decoder import TuningSetDecoder


@pytest.mark.parametrize("evidence", ["nbest", "hypergraph"])
def test_translations_of_some_sentences_are_the_first_of_all(tmp_path, evidence):
    dm.example(tmp_path)
    model = Model.load(tmp_path / "model")
    lines = [line.lower() for line in read_lines(tmp_path / "train.fr")][:20]
    decoder = TuningSetDecoder(
        ShardedTranslator(Translator.of(model)), lines, [], Decoding(evidence=evidence, nbest=5, density=20.0)
    )
    weights = Weights({**model.weights, "word_penalty": 1.0, "lm": 0.0})
    some = np.array([3, 4, 11])
    every = decoder(weights).first().lines()
    assert decoder.translate(weights, some).lines() == [every[i] for i in some]
    assert every != decoder(model.weights).first().lines()
