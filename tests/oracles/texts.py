"""Random text that looks like what metrics meet: repeated words, references that differ a little, odd characters."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from hypothesis import strategies as st

from dragoman.core.corpus import Corpus

_COMMON = """
the The cat cats a. (dog) x-y ΑΣ İx 7.5 don't ! .. % ß été <unk> </s> house of in 日本語 😀 &quot; -
"""
# The last three hold what Python, and so sacreBLEU, takes for white space, and our corpora do not.
WORDS = [*_COMMON.split(), "a\u00a0b", "\u3000", "\x1f"]


def changed(line: str, rng: random.Random) -> str:
    """Replace, delete and move some words."""
    words = [word for word in line.split(" ") if word]
    for _ in range(rng.randint(0, 6)):
        if not words:
            break
        begin = rng.randrange(len(words))
        end = min(len(words), begin + rng.randint(1, 5))
        part = words[begin:end]
        del words[begin:end]
        kind = rng.random()
        if kind < 0.3:
            part = [rng.choice(WORDS) for _ in part]
        if kind < 0.8:
            at = begin if kind < 0.3 else rng.randint(0, len(words))
            words[at:at] = part
    return " ".join(words)


def parallel_texts(rng: random.Random, lines: int, references: int) -> tuple[list[str], list[list[str]]]:
    """A system's translations and references of them."""
    lengths = [0, 1, 2, 3, 5, 10, 20, 40]
    base = [" ".join(rng.choice(WORDS) for _ in range(rng.choice(lengths))) for _ in range(lines)]
    return [changed(line, rng) for line in base], [[changed(line, rng) for line in base] for _ in range(references)]


def corpora(references: Sequence[Sequence[str]]) -> list[Corpus]:
    return [Corpus.from_lines(lines) for lines in references]


# Without surrogates is all of UTF-8; told so by its name, Hypothesis would try every character, for seconds.
_characters = st.characters(exclude_categories=["Cs"], exclude_characters="\n\r")
_tokens = st.sampled_from(WORDS) | st.text(_characters, max_size=4)
lines = st.lists(_tokens, max_size=12).map(lambda words: re.sub(r"[ \t\v\f]+", " ", " ".join(words)).strip(" "))
"""One line of text, of familiar words and any characters; ASCII white space is single spaces, as in a corpus."""
