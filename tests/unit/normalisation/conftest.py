import pytest

from dragoman.normalisation.examples import Examples
from dragoman.normalisation.lexicon import Lexicon
from dragoman.normalisation.training import train_normaliser
from oracles.spelling import MODERN, pairs


@pytest.fixture(scope="session")
def normaliser():
    return train_normaliser(Examples.of(pairs(80)), Examples.of(pairs(50, seed=2)), Lexicon.of(MODERN))
