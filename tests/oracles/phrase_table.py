"""Phrase extraction, scoring and reordering from their definitions: try all spans, count in dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import numpy as np

from dragoman.core.corpus import Bitext, Corpus, links_of

Link = tuple[int, int]


def random_bitext(rng: np.random.Generator, sentences: int, *, words: int = 4, longest: int = 8, links: float = 0.8):
    """Short sentences over few words, so that phrases recur, with random links (about `links` a word)."""
    sides = [
        [[f"w{w}" for w in rng.integers(words, size=rng.integers(longest + 1))] for _ in range(sentences)]
        for _ in range(2)
    ]
    rows = []
    for source, target in zip(*sides, strict=True):
        row = set()
        if source and target:
            for _ in range(int(links * max(len(source), len(target)))):
                s = int(rng.integers(len(source)))
                near = s if rng.random() < 0.6 else int(rng.integers(len(target)))
                row.add((s, min(near, len(target) - 1)))
        rows.append(sorted(row))
    corpora = [Corpus.from_lines(" ".join(words) for words in side) for side in sides]
    return Bitext(*corpora), links_of(rows), (*sides, rows)


def orientation(links: set[Link], source_length: int, target_length: int, monotone: Link, swap: Link) -> int:
    """0 monotone, 1 swap, 2 other; the corners outside the sentences are linked."""
    corners = links | {(-1, -1), (source_length, target_length)}
    return 2 if (monotone in corners) == (swap in corners) else 0 if monotone in corners else 1


def extract(source_length: int, target_length: int, links: list[Link], max_length: int) -> list[tuple[int, ...]]:
    """(source begin, end, target begin, end, to previous, to next) of all consistent pairs; ends exclusive."""
    linked = set(links)
    found = []
    spans = [
        [(b, e) for b in range(n) for e in range(b + 1, min(n, b + max_length) + 1)]
        for n in (source_length, target_length)
    ]
    for (sb, se), (tb, te) in product(*spans):
        inside = [sb <= s < se and tb <= t < te for s, t in links]
        touched = [sb <= s < se or tb <= t < te for s, t in links]
        if any(inside) and inside == touched:
            size = (source_length, target_length)
            to_previous = orientation(linked, *size, (sb - 1, tb - 1), (se, tb - 1))
            to_next = orientation(linked, *size, (se, te), (sb - 1, te))
            found.append((sb, se, tb, te, to_previous, to_next))
    return found


def lexical(sides) -> tuple[dict[tuple[str | None, str | None], Fraction], ...]:
    """p(target | source) and p(source | target); None is NULL."""
    counts: Counter[tuple[str | None, str | None]] = Counter()
    for source, target, links in zip(*sides, strict=True):
        counts.update((source[s], target[t]) for s, t in links)
        counts.update((None, w) for t, w in enumerate(target) if t not in {t for _, t in links})
        counts.update((w, None) for s, w in enumerate(source) if s not in {s for s, _ in links})
    totals = [Counter[str | None](), Counter[str | None]()]
    for pair, count in counts.items():
        for side in (0, 1):
            totals[side][pair[side]] += count
    return tuple({pair: Fraction(count, totals[side][pair[side]]) for pair, count in counts.items()} for side in (0, 1))


def lexical_weight(words, given, links: list[Link], table) -> Fraction:
    """The product over words of the mean over their links (word, given); `table` maps (given, word)."""
    weight = Fraction(1)
    for i, word in enumerate(words):
        mine = [table[given[j], word] for k, j in links if k == i]
        weight *= sum(mine, Fraction(0)) / len(mine) if mine else table[None, word]
    return weight


def sets(links, size: int) -> list[list[int]]:
    """For each word the sorted positions that it is linked to; lists compare as Moses' vectors of sets do."""
    return [sorted(j for k, j in links if k == i) for i in range(size)]


def phrase_table(sides, max_length: int):
    """Map (source, target) to (scores, alignment, counts, reordering), all exact."""
    alignments = defaultdict(Counter)
    orientations = defaultdict(lambda: [0] * 6)
    joint: Counter = Counter()
    for source, target, links in zip(*sides, strict=True):
        for sb, se, tb, te, to_previous, to_next in extract(len(source), len(target), links, max_length):
            pair = (tuple(source[sb:se]), tuple(target[tb:te]))
            joint[pair] += 1
            alignments[pair][tuple((s - sb, t - tb) for s, t in sorted(links) if sb <= s < se)] += 1
            orientations[pair][to_previous] += 1
            orientations[pair][3 + to_next] += 1
    forward, backward = lexical(sides)
    backward = {(target, source): p for (source, target), p in backward.items()}
    source_count, target_count = Counter(), Counter()
    for (source, target), count in joint.items():
        source_count[source] += count
        target_count[target] += count
    table = {}
    for (source, target), count in joint.items():
        kinds = alignments[source, target]
        flipped = {links: [(t, s) for s, t in links] for links in kinds}
        by_target = max(kinds, key=lambda a: (kinds[a], sets(flipped[a], len(target))))
        by_source = max(kinds, key=lambda a: (kinds[a], sets(a, len(source))))
        scores = (
            Fraction(count, target_count[target]),
            lexical_weight(source, target, list(by_source), backward),
            Fraction(count, source_count[source]),
            lexical_weight(target, source, flipped[by_target], forward),
        )
        reordering = [(Fraction(n) + Fraction(1, 2)) / (count + Fraction(3, 2)) for n in orientations[source, target]]
        counts = (target_count[target], source_count[source], count)
        table[source, target] = (scores, list(by_target), counts, reordering)
    return table
