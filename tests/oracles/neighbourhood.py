"""Which derivations of `oracles.phrase_space` are neighbours: definitions that look at both as a whole."""

from __future__ import annotations

from oracles.phrase_space import Option

Derivation = tuple[Option, ...]


def span(option: Option) -> tuple[int, int]:
    return option.begin, option.end


def retranslate(one: Derivation, other: Derivation) -> bool:
    """All phrases are the same but one, which has another translation."""
    if list(map(span, one)) != list(map(span, other)):
        return False
    return sum(a != b for a, b in zip(one, other, strict=True)) == 1


def merge_split(one: Derivation, other: Derivation) -> bool:
    """One or two phrases became one or two others: at some position one over it, or two that meet there."""
    return one != other and any(
        one[:first] == other[:first]
        and one[first + ours :] == other[first + theirs :]
        and _at(one[first : first + ours]) & _at(other[first : first + theirs])
        for ours in (1, 2)
        for theirs in (1, 2)
        for first in range(min(len(one) - ours, len(other) - theirs) + 1)
    )


def _at(phrases: Derivation) -> set[int]:
    """The positions between source words that lie in a phrase, or between two phrases."""
    if len(phrases) == 1:
        return set(range(phrases[0].begin + 1, phrases[0].end))
    left, right = sorted(phrases, key=span)
    return {left.end} & {right.begin}


def reorder(one: Derivation, other: Derivation) -> bool:
    """Two phrases changed places."""
    changed = [i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(changed) != 2:
        return False
    i, j = changed
    return one[i] == other[j] and one[j] == other[i]


def move(one: Derivation, other: Derivation) -> bool:
    """Without one of the phrases, the two are the same."""
    if one == other or set(one) != set(other):
        return False
    return any(_without(one, phrase) == _without(other, phrase) for phrase in one)


def _without(derivation: Derivation, phrase: Option) -> Derivation:
    return tuple(option for option in derivation if option != phrase)


OPERATORS = {"retranslate": retranslate, "merge_split": merge_split, "reorder": reorder, "move": move}
