"""A made-up language pair with a dictionary and one rule: an adjective follows its noun in the source, precedes it in
the target. Every word has one link, so that what training must find is known."""

import itertools
import random
from dataclasses import dataclass

DETERMINERS = {"la": "the", "une": "a"}
NOUNS = {"maison": "house", "voiture": "car", "table": "table", "fleur": "flower", "ville": "town", "clé": "key"}
ADJECTIVES = {"bleue": "blue", "grande": "big", "petite": "small", "vieille": "old"}
VERBS = {"voit": "sees", "aime": "likes", "cherche": "seeks"}
#: The one word with two translations, three times the first, then once the second.
AMBIGUOUS, MEANINGS = "vol", ("flight", "flight", "flight", "theft")


@dataclass(frozen=True)
class Pair:
    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]


def sentence_pairs(count: int, seed: int = 1) -> list[Pair]:
    rng = random.Random(seed)
    meanings = itertools.cycle(MEANINGS)
    return [_sentence(rng, meanings) for _ in range(count)]


def _sentence(rng, meanings):
    pair = Pair([], [], [])
    _append(pair, *_noun_phrase(rng, meanings))
    verb = rng.choice(list(VERBS))
    _append(pair, [verb], [VERBS[verb]], [(0, 0)])
    _append(pair, *_noun_phrase(rng, meanings))
    return pair


def _append(pair, source, target, links):
    pair.links.extend((len(pair.source) + s, len(pair.target) + t) for s, t in links)
    pair.source.extend(source)
    pair.target.extend(target)


def _noun_phrase(rng, meanings):
    determiner = rng.choice(list(DETERMINERS))
    noun = rng.choice([*NOUNS, AMBIGUOUS])
    translation = next(meanings) if noun == AMBIGUOUS else NOUNS[noun]
    if rng.random() < 0.5:
        return [determiner, noun], [DETERMINERS[determiner], translation], [(0, 0), (1, 1)]
    adjective = rng.choice(list(ADJECTIVES))
    target = [DETERMINERS[determiner], ADJECTIVES[adjective], translation]
    return [determiner, noun, adjective], target, [(0, 0), (1, 2), (2, 1)]
