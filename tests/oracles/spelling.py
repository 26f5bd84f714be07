"""A language whose spelling was reformed: v for u at the beginning of words, th for t, y for i, ck for k after n."""

import itertools
import random

_STEMS = [
    "und",
    "unter",
    "tag",
    "tal",
    "wein",
    "sein",
    "dank",
    "trank",
    "haus",
    "mut",
    "rat",
    "stunde",
    "winter",
    "uns",
]
_ENDS = ["", "e", "en", "er", "es"]

MODERN = ["".join(parts) for parts in itertools.product(_STEMS, _ENDS)]


def historical(modern: str) -> str:
    """Return a modern word as it was written."""
    old = modern.replace("t", "th").replace("ei", "ey").replace("nk", "nck")
    return f"v{old[1:]}" if old.startswith("u") else old


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Draw tokens: historical form and modern form."""
    drawn = random.Random(seed).choices(MODERN, k=count)
    return [(historical(word), word) for word in drawn]


def table(rows: list[tuple[str, str]], sentence: int = 6) -> str:
    """Write tokens as a table, with an empty line after so many."""
    lines = [f"{old}\t{new}\n" + "\n" * (i % sentence == sentence - 1) for i, (old, new) in enumerate(rows)]
    return "".join(lines)
