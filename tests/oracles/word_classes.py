"""Word classes by their definition: the likelihood of a class bigram model, counted token by token."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dragoman.core.corpus import SPECIAL, Vocab
from dragoman.core.phrases import REORDERING_SCORES
from dragoman.model.bundle import Model
from dragoman.model.word_classes import WordClasses
from oracles.phrase_space import Option


def log_likelihood(lines: Sequence[str], classes: Mapping[str, int]) -> float:
    """The sum of log p(c(w) | c(v)) p(w | c(w)) over all words and sentence ends, with relative frequencies."""
    pairs: Counter[tuple[int, int]] = Counter()
    words: Counter[str] = Counter()
    for line in lines:
        text = ["", *line.split(), ""]  # the empty word is the edge of a sentence, in class 0
        if len(text) > 2:
            pairs.update(itertools.pairwise(classes.get(word, 0) for word in text))
            words.update(text[1:])
    before, after = Counter[int](), Counter[int]()
    for (g, h), n in pairs.items():
        before[g] += n
        after[h] += n
    total = sum(n * math.log(n / before[g]) for (g, h), n in pairs.items())
    return total + sum(n * math.log(n / after[classes.get(word, 0)]) for word, n in words.items())


def best_likelihood(lines: Sequence[str], number: int) -> float:
    """The highest likelihood of all assignments of words to classes."""
    words = sorted({word for line in lines for word in line.split()})
    return max(
        log_likelihood(lines, dict(zip(words, classes, strict=True)))
        for classes in itertools.product(range(1, number + 1), repeat=len(words))
    )


def as_dict(classes: WordClasses) -> dict[str, int]:
    """The class of each word."""
    return {word: its for word, its in zip(classes.vocab, classes.classes.tolist(), strict=True) if its}


def random_lines(rng: np.random.Generator, *, words: int, sentences: int) -> list[str]:
    """Some sentences of words, frequent ones and rare ones; some are empty."""
    vocabulary = [f"w{i}" for i in range(words)]
    shares = rng.dirichlet(np.ones(words))
    return [" ".join(rng.choice(vocabulary, rng.integers(0, 7), p=shares)) for _ in range(sentences)]


def random_classes(vocab: Vocab, rng: np.random.Generator, number: int = 2) -> WordClasses:
    """Random classes of most words of a vocabulary."""
    words = [*vocab][len(SPECIAL) :]
    return replace(WordClasses.of({word: int(rng.integers(1, number + 1)) for word in words[:-1]}), number=number)


def with_random_classes(model: Model, rng: np.random.Generator) -> Model:
    """The model with random word classes of both languages."""
    sides = {"source": model.source_vocab, "target": model.target_vocab}
    return replace(model, word_classes={side: random_classes(vocab, rng) for side, vocab in sides.items()})


def derivation_features(model: Model, sentence: str, derivation: Sequence[Option], longest: int) -> Counter[str]:
    """The features of classes that a derivation has."""
    source, target = (as_dict(model.word_classes[side]) for side in ("source", "target"))
    values: Counter[str] = Counter()

    def edges(option: Option) -> list[str]:
        words = sentence.split()[option.begin : option.end]
        found = [f"sf{source.get(words[0], 0)}", f"sl{source.get(words[-1], 0)}"]
        return [*found, f"tf{target.get(option.words[0], 0)}", f"tl{target.get(option.words[-1], 0)}"]

    for i, option in enumerate(derivation):
        words = sentence.split()[option.begin : option.end]
        if max(len(words), len(option.words)) <= longest:
            sides = ([str(source.get(w, 0)) for w in words], [str(target.get(w, 0)) for w in option.words])
            values[f"cp.{'_'.join(sides[0])}~{'_'.join(sides[1])}"] += 1
        before = derivation[i - 1] if i else None
        orientation = 2
        if option.begin == (before.end if before else 0):
            orientation = 0
        elif before and option.end == before.begin:
            orientation = 1
        values.update(f"sr.{edge}.{REORDERING_SCORES[orientation]}" for edge in edges(option))
        if before:
            values.update(f"sr.{edge}.{REORDERING_SCORES[3 + orientation]}" for edge in edges(before))
    return values
