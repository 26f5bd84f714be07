"""What decoding a tuning set gives: the candidates that an optimiser chooses among, in memory and in a run's folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays, load_arrays, save_arrays
from dragoman.core.vocab import Vocab
from dragoman.metrics.metric import Scorer
from dragoman.model.parts import in_folder
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.ranges import Ranges

#: The file in which the names of features are, one a line, and the folder in which words are.
_NAMES, _WORDS = "features.txt", "vocab"


@dataclass(frozen=True)
class Decoding(Options):
    """What is kept of each decoding of the tuning set."""

    evidence: Literal["nbest", "hypergraph"] | None = option(
        None, "lists, or whole search spaces, for mert, risk-forest and likelihood; by default lists, if the method can"
    )
    nbest: int = option(100, "hypotheses a sentence", minimum=1)
    hypotheses: Literal["derivations", "strings"] | None = option(
        None, "a list has the best derivations, or the best of each string, as is usual for hierarchical models"
    )
    density: float | None = option(
        None, "hypergraph edges for each word of the best translation; likelihood: 100, others: 20", minimum=1e-9
    )


class Decoded(ABC):
    """What decoding the tuning set gave, under some weights or under several one after the other."""

    @abstractmethod
    def __len__(self) -> int:
        """How many sentences there are."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How much there is: candidates, or edges of hypergraphs."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """What `size` counts."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names of the features that occur."""

    @abstractmethod
    def first(self) -> Corpus:
        """The best translation of each sentence."""

    @abstractmethod
    def after(self, earlier: Self) -> Self:
        """All that was decoded earlier, and this."""

    def details(self) -> dict[str, Any]:
        """What is worth a place among a run's events."""
        return {}

    @abstractmethod
    def problem(
        self, names: Sequence[str], ranges: Ranges, scorer: Scorer, *, sign: int = 1, runtime: Runtime = Runtime()
    ) -> Problem | HypergraphProblem:
        """The problem of choosing the weights `names`; features with other names keep out of it."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write to a folder, whole or not at all."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote; refuses arrays that could lead a kernel astray."""


def save_evidence(folder: Path, arrays: Arrays, vocab: Vocab, features: FeatureRows) -> None:
    """Write arrays with the words and the features that they speak of."""
    save_arrays(folder, arrays | features.arrays())
    save_arrays(folder / _WORDS, vocab.arrays())
    (folder / _NAMES).write_text("".join(f"{name}\n" for name in features.names), encoding="utf-8")


def load_evidence(folder: Path, rows: str) -> tuple[Arrays, Vocab, FeatureRows]:
    """Read what `save_evidence` wrote, with a row of features for each of the array `rows`; refuses what is damaged."""
    arrays = load_arrays(folder)
    words = in_folder(folder / _WORDS, Vocab.from_arrays, load_arrays(folder / _WORDS))
    in_folder(folder / _WORDS, words.check)
    try:
        names = (folder / _NAMES).read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        raise DataError("cannot be read", path=folder / _NAMES, expected="names of features in UTF-8") from None
    if len(set(names)) < len(names):
        raise DataError("has a name twice", path=folder / _NAMES, expected="names of features, each once")
    many = len(arrays[rows]) if rows in arrays and arrays[rows].ndim else 0
    return arrays, words, in_folder(folder, FeatureRows.from_arrays, names, arrays, many)
