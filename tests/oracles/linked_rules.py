"""Random links and counts for the rules of random hierarchical models, and rules in words, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dragoman.core.ragged import Ragged
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar


def with_random_links(model: Model, rng: np.random.Generator) -> Model:
    """The model with some links between words of each rule, and counts."""
    grammars = {}
    for name, grammar in model.grammars.items():
        rows = []
        for source, target in sides(grammar):
            points = [256 * i + j for i, s in enumerate(source) for j, t in enumerate(target) if s >= 0 and t >= 0]
            rows.append(sorted(int(p) for p in rng.choice(points, rng.integers(len(points) + 1), replace=False)))
        counts = rng.integers(1, 9, (len(rows), 3)).astype(np.float32)
        grammars[name] = replace(grammar, alignments=Ragged.of(rows, np.uint16), counts=counts)
    return replace(model, grammars=grammars)


def sides(grammar: Grammar) -> list[tuple[list[int], list[int]]]:
    """Both sides of each rule."""
    found = []
    for node in range(len(grammar.symbols)):
        source = grammar.sides(np.array([node]))[0].tolist()
        found += [(source, grammar.targets[row].tolist()) for row in range(*grammar.first_rule[node : node + 2])]
    return found


def in_words(source: list[int], target: list[int], links: list[int]) -> tuple[list[int], list[int], list[int]]:
    """A rule without its holes, and its links between words that are numbered anew."""
    number = [[sum(symbol >= 0 for symbol in side[:i]) for i in range(len(side))] for side in (source, target)]
    kept = [256 * number[0][link >> 8] + number[1][link & 255] for link in links]
    return [s for s in source if s >= 0], [t for t in target if t >= 0], kept
