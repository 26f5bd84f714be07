"""A small raw, cased parallel text: names, capitals, punctuation, accents."""

from __future__ import annotations

import itertools
from pathlib import Path

WHO = {"Anne": "Ann", "Paul": "Paul", "un homme": "a man", "une femme": "a woman", "le chat noir": "the black cat"}
DOES = {"dort": "sleeps", "court": "runs", "regarde la mer": "looks at the sea", "mange, puis lit": "eats, then reads"}
WHERE = {
    "à Paris": "in Paris",
    "près de la rivière": "near the river",
    "sur la plage": "on the beach",
    "avec des amis de la NASA": "with friends from NASA",
    "": "",
}


def write_raw_text(folder: Path) -> Path:
    """Write `train`, `dev` and `test`, each in French and English, and return the folder."""
    for side, language in ((0, "fr"), (1, "en")):
        books = [[pair[side] for pair in book.items()] for book in (WHO, DOES, WHERE)]
        lines = [" ".join(filter(None, row)) for row in itertools.product(*books)]
        lines = [f"{line[0].upper()}{line[1:]}.\n" for line in lines]
        parts = {"dev": lines[3::11], "test": lines[7::11]}
        parts["train"] = [line for i, line in enumerate(lines) if i % 11 not in (3, 7)]
        for name, some in parts.items():
            (folder / f"{name}.{language}").write_text("".join(some), encoding="utf-8")
    return folder
