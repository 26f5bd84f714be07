"""Word classes of a text."""

from __future__ import annotations

from typing import Any

from dragoman.core.corpus import Corpus
from dragoman.core.progress import Progress
from dragoman.front.texts import Text, lines_of, runtime_of
from dragoman.model.word_classes import WordClasses
from dragoman.training.classes import Clustering, estimate_classes


def word_classes(
    text: Text, *, threads: int | None = None, progress: Progress | bool = False, **options: Any
) -> WordClasses:
    """Estimate word classes from a tokenised text (a file, or a list of lines) by the exchange algorithm.

    `options` are those of `dragoman classes estimate`: `classes`, `starts`, `rounds`, `passes`, `min_count`, `seed`.

    >>> found = word_classes(["a dog runs", "a cat runs", "the dog sleeps", "the cat sleeps"], classes=3)
    >>> found["dog"] == found["cat"], found["a"] == found["the"], found["dog"] == found["runs"]
    (True, True, False)
    """
    corpus = Corpus.from_lines(lines_of(text))
    return estimate_classes(corpus, Clustering.from_dict(options), runtime=runtime_of(threads, progress))
