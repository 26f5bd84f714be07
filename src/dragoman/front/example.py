"""A small model to try things with: a phrase book of simple sentences, made and trained in a moment."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from dragoman.core.progress import Progress
from dragoman.front.system import System, train
from dragoman.front.texts import File

_WHO = {
    "un homme": "a man",
    "une femme": "a woman",
    "un garçon": "a boy",
    "une fille": "a girl",
    "un chien noir": "a black dog",
    "un petit chat": "a small cat",
}
_DOES = {
    "dort": "sleeps",
    "court": "runs",
    "mange une pomme": "eats an apple",
    "regarde la mer": "looks at the sea",
    "attend un ami": "waits for a friend",
}
_WHERE = {
    "dans la rue": "in the street",
    "sur la plage": "on the beach",
    "devant la maison": "in front of the house",
    "près de la rivière": "near the river",
}

#: Every so many sentences is kept for tuning.
_HELD_OUT = 10


class _Quiet(Progress):
    """So little text always needs the discounts' fallback: no news."""

    def warn(self, text: str) -> None:
        pass


def example(folder: File | None = None) -> System:
    """Return a French-English model trained on some hundred sentences; for trying things, not for translating.

    With a folder, the texts stay there (`train.fr`, `train.en`, `dev.fr`, `dev.en`) beside the model (`model`).

    >>> example().translate("Une femme dort près de la rivière.")
    'A woman sleeps near the river.'
    """
    if folder is not None:
        return _made(Path(folder))
    with tempfile.TemporaryDirectory() as temporary:
        made = _made(Path(temporary))
        # Memory-mapped files live on until the model is gone, whatever becomes of the folder.
        return System(made.model, threads=made.threads)


def _made(folder: Path) -> System:
    folder.mkdir(parents=True, exist_ok=True)
    books = (_WHO, _DOES, _WHERE)
    for language, words in (("fr", [book.keys() for book in books]), ("en", [book.values() for book in books])):
        lines = [f"{' '.join(row).capitalize()}.\n" for row in itertools.product(*words)]
        kept = {"dev": lines[::_HELD_OUT], "train": [line for i, line in enumerate(lines) if i % _HELD_OUT]}
        for name, some in kept.items():
            (folder / f"{name}.{language}").write_text("".join(some), encoding="utf-8")
    return train(folder / "train.fr", folder / "train.en", out=folder / "model", progress=_Quiet())
