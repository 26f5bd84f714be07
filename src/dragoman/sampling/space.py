"""Spaces of derivations that chains move in: the interface that each kind of model implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.search_forest import Forest
from dragoman.search.limits import SearchLimits
from dragoman.search.translation import SearchResult

#: Where the space for each kind of model is.
_SPACES = {
    "phrase": "dragoman.sampling.phrase.space:PhraseSpace",
    "chart": "dragoman.sampling.chart.space:ChartSpace",
}


def space_for(kind: str) -> type[AnySpace]:
    """Return the class of spaces for a kind of model."""
    space: type[AnySpace] = resolve_name(_SPACES[kind])
    return space


class ScoredBatch(Protocol):
    """A batch of sentences, scored with weights."""

    weights: Weights

    def reweighted(self, weights: Weights) -> Self:
        """Return the same batch under other weights."""


class DerivationText(ABC):
    """Target words of some derivations, and their parts: source begin and end, target begin and end."""

    words: Ragged[np.int32]
    parts: Ragged[np.int32]

    @abstractmethod
    def features(self) -> FeatureRows:
        """Return the features of each derivation, without global ones."""


Features = Sequence[kernels.GlobalFeature]
Arrays = dict[str, NDArray[Any]]

_Translator = TypeVar("_Translator")
_Batch = TypeVar("_Batch", bound=ScoredBatch)
_Found = TypeVar("_Found")


@dataclass(frozen=True, eq=False, kw_only=True)
class DerivationSpace(ABC, Generic[_Translator, _Batch, _Found]):
    """The derivations of a batch of sentences, with p(derivation) ∝ exp(score / temperature).

    Steps are drawn from the `proposal`, the same batch under other weights, and accepted so that the result follows
    `batch`; by default from the batch itself. `functions` are global features, and `documents` the bounds of groups of
    sentences that they see together; by default each sentence is one. `found` is what a search found in the batch.
    """

    #: The name of such models in messages.
    model_kind: ClassVar[str]
    #: Moves of a chain, in the kernel's order, named as their rates in `Schedule`. The last one is the jump.
    moves: ClassVar[tuple[str, ...]]
    #: Options of schedules that have no meaning here.
    foreign_options: ClassVar[tuple[str, ...]]
    #: What a sentence without a derivation lacks.
    expected: ClassVar[str]
    #: Whether jumps use the forest of a search.
    jumps_use_forests: ClassVar[bool]
    #: Whether chains can score features of several sentences together.
    joins_documents: ClassVar[bool]

    batch: _Batch
    proposal: _Batch | None = None
    functions: GlobalFunctions | None = None
    documents: NDArray[np.int64] | None = None
    found: _Found | None = None

    @classmethod
    @abstractmethod
    def of(cls, translator: _Translator, lines: Sequence[str]) -> Self:
        """Return the space of some tokenised sentences."""

    @classmethod
    @abstractmethod
    def of_result(cls, translator: _Translator, result: Any) -> Self:
        """Return the space of a batch after its search."""

    @property
    @abstractmethod
    def source(self) -> Corpus:
        """The source sentences."""

    @property
    @abstractmethod
    def vocab(self) -> Vocab:
        """The vocabulary of translations."""

    @property
    @abstractmethod
    def kernel_words(self) -> NDArray[np.int32]:
        """All target words of the batch, as the kernel numbers them."""

    @staticmethod
    @abstractmethod
    def check_batch(batch: Any, first_number: int | None) -> None:
        """Refuse a batch whose scores are not finite; `first_number` sentences come before it."""

    @abstractmethod
    def run_kernel(self, features: Features, starts: kernels.Rows, schedule: kernels.Schedule, threads: int) -> Arrays:
        """Run chains in the kernel."""

    @abstractmethod
    def gloss(self, runtime: Runtime) -> Ragged[np.int32]:
        """Return a word-by-word translation of each sentence, if the space has such."""

    @abstractmethod
    def monotone(self, runtime: Runtime) -> Ragged[np.int32]:
        """Return the derivation of each sentence that is best without a look at context, with phrases in order."""

    def random_decoding(self, limits: SearchLimits, seed: int, first_number: int, runtime: Runtime) -> Ragged[np.int32]:
        """Return the best derivation of each sentence under random scores; `first_number` sentences come before."""
        raise UsageError(f"initial is random-decoding, which chains of a {self.model_kind} model do not know")

    @abstractmethod
    def search(self, limits: SearchLimits, *, forests: bool, runtime: Runtime) -> Self:
        """Return the space with what a search finds, which keeps its `forests` for jumps."""

    @abstractmethod
    def best_found(self) -> Ragged[np.int32]:
        """Return the best derivation that the search found of each sentence; empty where it found none."""

    @abstractmethod
    def spell(self, sentences: NDArray[np.int64], derivations: Ragged[np.int32]) -> DerivationText:
        """Spell derivations, each of its sentence of the batch."""

    @abstractmethod
    def result(self, derivations: Ragged[np.int32], scores: NDArray[np.float64], runtime: Runtime) -> SearchResult:
        """Return what the search found, with these derivations in place of the best of each sentence."""

    @abstractmethod
    def components(self, runtime: Runtime) -> NDArray[np.int64]:
        """Return the number of parts that each sentence's derivations fall into, between which only jumps lead."""

    @abstractmethod
    def forest(self, limits: SearchLimits, temperature: float, runtime: Runtime) -> Forest | None:
        """Return what a search keeps of a batch of one sentence; None if that is too large."""

    @abstractmethod
    def forced_log_sums(self, targets: Ragged[np.int32], temperature: float, runtime: Runtime) -> NDArray[np.float64]:
        """Return ln Σ exp(score / temperature) over all derivations of each sentence that write its target."""

    def check_scores(self, first_number: int) -> None:
        """Refuse scores that are not finite; `first_number` sentences come before the batch."""
        self.check_batch(self.batch, first_number)
        if self.proposal is not None:
            self.check_batch(self.proposal, first_number)

    def global_values(self, words: Ragged[np.int32]) -> FeatureRows | None:
        """Return the values of the global features for a translation of each sentence."""
        if self.functions is None:
            return None
        return self.functions.values(self.source, np.arange(len(words)), self.vocab, words)


AnySpace = DerivationSpace[Any, Any, Any]
