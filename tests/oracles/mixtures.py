"""Tables to mix: random ones over a few words, and mixtures worked out pair by pair."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from dragoman.core.feature_rows import FeatureRows
from dragoman.tuning.problems.mixtures import MixedScores, MixtureProblem
from oracles.phrase_pairs import as_dict, phrase_pairs
from oracles.tuning_margin import random_problem
from oracles.tuning_sampling_opt import SmoothBleu

SOURCES = ["la", "maison", "la maison", "vol", "une"]
TARGETS = ["the", "house", "the house", "flight", "theft", "a"]


def random_tables(rng, count, *, size=12, scores=("bwd", "bwd_lex", "fwd", "fwd_lex")):
    """Tables `a`, `b`, ... with different words in different order, each of which lacks pairs of the others."""
    tables = {}
    for name in "abcdefgh"[:count]:
        every = [(s, t) for s in SOURCES for t in TARGETS]
        picked = [every[i] for i in rng.permutation(len(every))[:size]]
        rows = [(s, t, tuple(rng.uniform(0.01, 1, len(scores)))) for s, t in picked]
        tables[name] = phrase_pairs(rows, score_names=scores)
    return tables


def mixed(tables, interpolation_weights):
    """The mixture of tables as a dictionary from words to scores; a table that lacks a pair gives it nothing."""
    found = [as_dict(table) for table in tables.values()]
    return {
        key: np.sum(
            [np.array(part[key][0]) * interpolation_weights[:, t] for t, part in enumerate(found) if key in part],
            axis=0,
        )
        for key in set().union(*found)
    }


def random_interpolation_weights(rng, scores, tables):
    return rng.dirichlet(np.ones(tables), scores)


def random_mixture_problem(rng, tables, *, pairs=15, sentences=12, candidates=8, missing=0.4, fixed=()):
    """Candidates with a plain feature and two scores of mixed tables, some of whose pairs are missing from some."""
    size = sentences * candidates
    scores = [["bwd", "fwd"], [f"t{t}" for t in range(tables)]]
    names = ["lm", "tm.bwd", "tm.fwd", *(f"mix.tm.{s}.{t}" for s in scores[0] for t in scores[1])]
    free = [name for name in names if not any(name.startswith(part) for part in fixed)]
    place = {name: i for i, name in enumerate(free)}
    probabilities = rng.uniform(0.01, 1, (2, tables, pairs))
    has = rng.random((tables, pairs)) >= missing
    has[rng.integers(tables, size=pairs), np.arange(pairs)] = True
    mixture = MixedScores(
        counts=csr_matrix(rng.binomial(2, 0.2, (size, pairs)).astype(float)),
        probabilities=probabilities * has,
        columns=np.array([place.get(f"tm.{s}", -1) for s in scores[0]]),
        interpolation_columns=np.array([[place.get(f"mix.tm.{s}.{t}", -1) for t in scores[1]] for s in scores[0]]),
        interpolation_weights=random_interpolation_weights(rng, 2, tables),
    )
    plain = random_problem(rng, sentences, candidates)
    statistics = plain.statistics[rng.integers(0, len(plain.statistics), size)]
    matrix = np.zeros((size, len(free)))
    matrix[:, 0] = rng.normal(size=size)
    return MixtureProblem(
        sentences=np.arange(0, size + 1, candidates),
        features=FeatureRows.from_dense(free, matrix),
        statistics=statistics,
        scorer=SmoothBleu(),
        ranges=np.tile([-1.0, 1.0], (len(free), 1)),
        mixtures=(mixture,),
    )


def random_vector(rng, problem):
    """Weights at random, and interpolation weights that sum to 1."""
    vector = rng.normal(size=len(problem.names))
    for mixture in problem.mixtures:
        for row in mixture.interpolation_columns:
            if (row >= 0).all():
                vector[row] = rng.dirichlet(np.full(len(row), 5.0))
    return vector


def noisy_problem(rng, sentences=40):
    """A problem in which the first table ranks candidates by their quality, and the second says nothing of it."""
    problem = random_mixture_problem(rng, 2, pairs=200, sentences=sentences, missing=0)
    scores = problem.scorer.sentence_scores(problem.statistics)
    size, (mixture,) = len(scores), problem.mixtures
    probabilities = rng.uniform(0.01, 1, (2, 2, size))
    probabilities[:, 0] = np.exp(0.1 * (scores - scores.max()) / 2)
    own = replace(mixture, counts=csr_matrix(np.eye(size)), probabilities=probabilities)
    empty = FeatureRows.from_dense(problem.names, np.zeros((size, len(problem.names))))
    return replace(problem, features=empty, mixtures=(own,))


def slopes(function, place, step=1e-6):
    """A gradient by differences."""
    return np.array([(function(place + e) - function(place - e)) / (2 * step) for e in step * np.eye(len(place))])
