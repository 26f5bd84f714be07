"""Tables to mix: random ones over a few words, and mixtures worked out pair by pair."""

import numpy as np

from oracles.phrase_pairs import as_dict, phrase_pairs

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


def mixed(tables, shares):
    """The mixture of tables as a dictionary from words to scores; a table that lacks a pair gives it nothing."""
    found = [as_dict(table) for table in tables.values()]
    return {
        key: np.sum([np.array(part[key][0]) * shares[:, t] for t, part in enumerate(found) if key in part], axis=0)
        for key in set().union(*found)
    }


def random_shares(rng, scores, tables):
    return rng.dirichlet(np.ones(tables), scores)
