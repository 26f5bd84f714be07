"""Sampling: lines in, samples of their derivations out, whatever the kind of model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.core.weights import Weights
from dragoman.features import GlobalFeature
from dragoman.sampling.forest import Forest
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.limits import SearchLimits
from dragoman.search.translation import SearchResult
from dragoman.search.translator import Translator

#: Where the sampler for each kind of model is.
_SAMPLERS = {
    "phrase": "dragoman.sampling.phrase.sampler:PhraseSampler",
    "chart": "dragoman.sampling.chart.sampler:ChartSampler",
}


@dataclass(frozen=True, eq=False)
class Sampled:
    """The samples of some sentences, and how they came about.

    `derivations` has a row for each of the samples' rows: the derivation in the terms of its kind, by which it can be
    found in a `Forest`. `moves` names what chains do; `tried` and `accepted` count it by sentence, chain and move.
    `collected` has the number of samples by sentence and chain: fewer than asked for if time was over. `components` is
    how many parts the derivations of each sentence fall into, between which only jumps lead.
    """

    samples: Samples
    derivations: Ragged[np.int32]
    moves: tuple[str, ...]
    tried: NDArray[np.int64]
    accepted: NDArray[np.int64]
    collected: NDArray[np.int64]
    components: NDArray[np.int64]

    def counts(self, move: str) -> tuple[int, int]:
        """How often a move was tried and accepted in all."""
        place = self.moves.index(move)
        return int(self.tried[..., place].sum()), int(self.accepted[..., place].sum())

    def sentence(self, i: int) -> Sampled:
        """Return what was drawn of one sentence, without copying; see `Samples.sentence`."""
        at, rows = slice(i, i + 1), slice(*self.samples.sentences[i : i + 2].tolist())
        return replace(
            self,
            samples=self.samples.sentence(i),
            derivations=self.derivations.part(rows),
            tried=self.tried[at],
            accepted=self.accepted[at],
            collected=self.collected[at],
            components=self.components[at],
        )


class Drawing(TypedDict, total=False):
    """What can be asked of a sampler.

    Each sentence and chain has random numbers of its own, which depend on the `seed`, the sentence's place among the
    lines and the chain's number: more samples, chains or threads leave the first ones as they are. `first` is added to
    that place where the lines are a part of a text. `documents` are labels of the lines for global features of
    documents; lines with the same label in a row are a document, and by default all are one. `features=False` leaves
    features out, which take longer than the sampling itself; `trace` keeps the order in time. `runtime` is by default
    that of the translator.
    """

    seed: int
    first: int
    documents: Iterable[object] | None
    features: bool
    trace: bool
    runtime: Runtime


@dataclass(frozen=True)
class Request:
    """What was asked of a sampler; see `Drawing`."""

    seed: int = 1
    first: int = 0
    documents: Iterable[object] | None = None
    features: bool = True
    trace: bool = False
    runtime: Runtime = Runtime()


class Sampler(ABC):
    """Draws derivations from the model's distribution, p(derivation) ∝ exp(score / temperature), by Markov chains."""

    def __init__(
        self,
        translator: Translator,
        options: Sampling,
        proposal_weights: Weights | None,
        global_features: Sequence[GlobalFeature],
    ):
        self.translator = translator
        self.options = options
        self._proposal_weights = proposal_weights
        translator.weights.check_finite()
        if proposal_weights is not None:
            proposal_weights.check_finite()
        ours = translator.model.features_of(GlobalFeature)
        weights = translator.weights
        if ours:
            weights = Weights({feature.name: 0.0 for feature in ours}).updated(weights)
        names = {feature.name for feature in global_features}
        chosen = [*(feature for feature in ours if feature.name not in names), *global_features]
        self._functions = GlobalFunctions(chosen, weights) if chosen else None
        # What weighs nothing changes nothing, and if no values are wanted, is not even looked at.
        felt = [feature for feature in chosen if weights.get(feature.name) != 0]
        self._felt = GlobalFunctions(felt, weights) if felt else None

    @property
    def sees_documents(self) -> bool:
        """Whether some feature sees several sentences together."""
        return self._functions is not None and self._functions.see_documents

    @classmethod
    def of(
        cls,
        translator: Translator,
        options: Sampling = Sampling(),
        *,
        proposal_weights: Weights | None = None,
        global_features: Sequence[GlobalFeature] = (),
    ) -> Sampler:
        """Return the sampler for the kind of a translator's model.

        With `proposal_weights`, steps are drawn from the same model under other weights (say, a small language model in
        place of a large one) and accepted so that the distribution stays that of the translator's weights (8.2.1 of
        Arun's thesis). The model's global features have part in it, and so have `global_features` beside them; all are
        weighted by their names in the translator's weights.
        """
        sampler = resolve_name(_SAMPLERS[translator.model.kind])
        made: Sampler = sampler(translator, options, proposal_weights=proposal_weights, global_features=global_features)
        return made

    def sample(self, lines: Iterable[str], **how: Unpack[Drawing]) -> Iterator[Samples]:
        """Sample tokenised sentences, in order, a batch at a time; for what can be asked, see `Drawing`."""
        return (part.samples for part in self.batches(lines, **how))

    def batches(self, lines: Iterable[str], **how: Unpack[Drawing]) -> Iterator[Sampled]:
        """Sample like `sample`, and tell how it went."""
        return self._sampled(lines, replace(Request(runtime=self.translator.runtime), **how))

    @abstractmethod
    def _sampled(self, lines: Iterable[str], asked: Request) -> Iterator[Sampled]:
        """Sample as was asked."""

    @abstractmethod
    def forest(self, line: str, limits: SearchLimits) -> Forest | None:
        """Return what a search under these limits keeps of a sentence, for comparison; None if that is too large.

        Scores are divided by the temperature of the samples.
        """

    @abstractmethod
    def log_scores(self, line: str, translations: Ragged[np.int32]) -> NDArray[np.float64]:
        """For each translation of a sentence ln Σ exp(score / temperature) over all derivations that write it.

        Less log Z it is the translation's log-probability; -inf where there is no derivation. Words are those of the
        vocabulary of the sentence's samples.
        """


#: Where annealing for each kind of model is.
_ANNEALED = {
    "phrase": "dragoman.sampling.phrase.annealing:annealed",
    "chart": "dragoman.sampling.chart.annealing:annealed",
}


def annealed(
    translator: Translator,
    lines: Iterable[str],
    options: Annealing = Annealing(),
    *,
    seed: int = 1,
    first: int = 0,
    documents: Iterable[object] | None = None,
) -> Iterator[SearchResult]:
    """Translate tokenised sentences by annealing from what the search finds, in order, a batch at a time.

    The best derivation of a sentence is never worse than the search's. Sentence i of the lines has random numbers of
    its own, whatever the batches; `first` is added to i where the lines are a part of a text. The model's global
    features take part, of which the search knows nothing. Those of documents see lines in a row with the same label in
    `documents`, by default all, and the best is that of a document as a whole.
    """
    anneal = resolve_name(_ANNEALED[translator.model.kind])
    return cast(
        "Iterator[SearchResult]", anneal(translator, lines, options, seed=seed, first=first, documents=documents)
    )
