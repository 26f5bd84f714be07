"""Rules of a hierarchical model by brute force, from the definitions alone: every choice of spans, exact fractions."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product

from dragoman.model.rule_scores import RuleExtraction
from oracles.phrase_table import lexical, sets

Span = tuple[int, int]


def spans(length: int, longest: int) -> list[Span]:
    return [(b, e) for b in range(length) for e in range(b + 1, min(length, b + longest) + 1)]


def initial_pairs(source: int, target: int, links, options: RuleExtraction) -> list[tuple[Span, Span]]:
    """All pairs of spans with a link inside and none that leads outside; tight ones cannot lose a word at an edge."""
    found = []
    for (sb, se), (tb, te) in product(spans(source, options.max_span), spans(target, options.max_span)):
        inside = {(s, t) for s, t in links if sb <= s < se and tb <= t < te}
        if not inside or inside != {(s, t) for s, t in links if sb <= s < se or tb <= t < te}:
            continue
        edges = {sb, se - 1} <= {s for s, _ in inside} and {tb, te - 1} <= {t for _, t in inside}
        if edges or not options.tight:
            found.append(((sb, se), (tb, te)))
    return found


def is_inside(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def apart(a: Span, b: Span, between: int) -> bool:
    return a[1] + between <= b[0] or b[1] + between <= a[0]


def spell(words, span: Span, holes: list[Span]) -> tuple[list[object], dict[int, int]]:
    """The symbols of a side, a nonterminal being the number of its hole, and the symbol that each word became."""
    symbols: list[object] = []
    place = {}
    at = span[0]
    while at < span[1]:
        hole = next((k for k, hole in enumerate(holes) if hole[0] == at), None)
        if hole is None:
            place[at] = len(symbols)
            symbols.append(words[at])
            at += 1
        else:
            symbols.append(hole)
            at = holes[hole][1]
    return symbols, place


def rules_of(source, target, links, options: RuleExtraction):
    """All rules of a sentence pair, as (source side, target side, links, count)."""
    return (rule[1:] for rule in holed_rules_of(source, target, links, options))


def holed_rules_of(source, target, links, options: RuleExtraction):
    """The same with the holes of each, pairs of spans, before it."""
    pairs = initial_pairs(len(source), len(target), links, options)
    for whole in pairs:
        found = []
        holes = [
            pair
            for pair in pairs
            if all(is_inside(inner, outer) for inner, outer in zip(pair, whole, strict=True))
            and pair[0][1] - pair[0][0] >= options.min_hole_source
            and pair[1][1] - pair[1][0] >= options.min_hole_target
        ]
        for number in range(options.max_nonterminals + 1):
            for chosen in combinations(sorted(holes), number):
                between = 0 if options.adjacent_nonterminals else 1
                if any(not apart(a[0], b[0], between) or not apart(a[1], b[1], 0) for a, b in combinations(chosen, 2)):
                    continue
                left, source_place = spell(source, whole[0], [hole[0] for hole in chosen])
                right, target_place = spell(target, whole[1], [hole[1] for hole in chosen])
                kept = [(s, t) for s, t in sorted(links) if s in source_place and t in target_place]
                if len(left) > options.max_source_symbols or len(right) > options.max_target_symbols:
                    continue
                if number and min(len(source_place), len(target_place)) < options.min_words:
                    continue
                if number and options.linked_word and not kept:
                    continue
                inner = tuple((source_place[s], target_place[t]) for s, t in kept)
                found.append((chosen, tuple(left), tuple(right), inner))
        for rule in found:
            yield *rule, Fraction(1, len(found) if options.fractional_counts else 1)


def is_reordered(source, target, links, hole: int) -> bool:
    """Whether a nonterminal crosses a link, or another nonterminal; these are numbers in both sides."""
    places = {symbol: (source.index(symbol), target.index(symbol)) for symbol in source if isinstance(symbol, int)}
    s, t = places[hole]
    return any((i < s) != (j < t) for i, j in [*links, *places.values()] if (i, j) != (s, t))


def weight(words, given, links, table) -> Fraction:
    """The product over words of the mean over their links (word, given); nonterminals are numbers."""
    result = Fraction(1)
    for i, word in enumerate(words):
        if not isinstance(word, int):
            mine = [table[given[j], word] for k, j in links if k == i]
            result *= sum(mine, Fraction(0)) / len(mine) if mine else table[None, word]
    return result


def unpaired(side) -> tuple[object, ...]:
    return tuple(None if isinstance(symbol, int) else symbol for symbol in side)


def rule_table(sides, options: RuleExtraction):
    """Map (source, target) to (scores, links, counts), all exact."""
    kinds: dict[tuple[object, object], Counter] = defaultdict(Counter)
    for sentence in zip(*sides, strict=True):
        for source, target, links, count in rules_of(*sentence, options):
            kinds[source, target][links] += count
    forward, backward = lexical(sides)
    backward = {(target, source): p for (source, target), p in backward.items()}
    source_count, target_count = Counter(), Counter()
    for (source, target), links in kinds.items():
        source_count[source] += links.total()
        target_count[unpaired(target)] += links.total()
    table = {}
    for (source, target), found in kinds.items():
        flipped = {links: [(t, s) for s, t in links] for links in found}
        by_target = max(found, key=lambda a: (found[a], sets(flipped[a], len(target))))
        by_source = max(found, key=lambda a: (found[a], sets(a, len(source))))
        counts = (target_count[unpaired(target)], source_count[source], found.total())
        scores = (
            counts[2] / counts[0],
            weight(source, target, by_source, backward),
            counts[2] / counts[1],
            weight(target, source, flipped[by_target], forward),
        )
        table[source, target] = (scores, list(by_target), counts)
    return table
