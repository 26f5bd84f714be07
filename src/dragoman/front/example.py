"""A small model to try things: trained in a moment on a phrase book of simple sentences."""

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

#: Every n-th sentence is held out for tuning.
_HELD_OUT = 10


class _Quiet(Progress):
    """Progress without warnings: the fallback of discounts is normal for so little text."""

    def warn(self, text: str) -> None:
        pass


def example(folder: File | None = None) -> System:
    """Return a French-English model trained on about a hundred sentences, to try things.

    If a folder is given, the texts (`train.fr`, `train.en`, `dev.fr`, `dev.en`) and the model (`model`) stay there.

    >>> example().translate("Une femme dort près de la rivière.")
    'A woman sleeps near the river.'
    """
    if folder is not None:
        return _made(Path(folder))
    with tempfile.TemporaryDirectory() as temporary:
        made = _made(Path(temporary))
        # Memory-mapped files remain until the model is deleted, even if the folder is removed.
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
