"""Translating: lines in, translations, n-best lists or hypergraphs out, whatever the kind of model."""

from __future__ import annotations

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pkgutil import resolve_name
from typing import Self

from dragoman.core.errors import DataError, UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.shown import shortened
from dragoman.core.weights import Weights
from dragoman.model.bundle import Model
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.pieces import Pieced, batches, pieces_of
from dragoman.search.searched import Searched
from dragoman.search.translation import Translation
from dragoman.text.words import words_of

#: Sentences that are searched together, for each thread: enough to keep threads busy, few enough to stream.
BATCH = 16

#: A batch takes no more sentences when it has so many words for each thread: their options have to fit into memory.
WORDS = 4096

#: Where the search for each kind of model is.
_SEARCHES = {
    "phrase": "dragoman.search.phrase.translator:PhraseTranslator",
    "chart": "dragoman.search.chart.translator:ChartTranslator",
}


class Translator(ABC):
    """Translates tokenised sentences with a model, under some weights.

    `limits` say how hard to search, `space` which derivations there are, and `runtime` what it runs on; results do not
    depend on the number of threads.
    """

    def __init__(
        self,
        model: Model,
        weights: Weights | None,
        *,
        limits: SearchLimits,
        space: SpaceLimits,
        markup: bool,
        runtime: Runtime,
        climbing: HillClimbing | None = None,
    ):
        self.model = model
        self.weights = model.weights if weights is None else weights
        self.limits = limits
        self.space = space
        self.markup = markup
        self.runtime = runtime
        self.climbing = climbing

    @classmethod
    def of(
        cls,
        model: Model,
        weights: Weights | None = None,
        *,
        limits: SearchLimits = SearchLimits(),
        space: SpaceLimits = SpaceLimits(),
        climbing: HillClimbing | None = None,
        markup: bool = False,
        runtime: Runtime = Runtime(),
    ) -> Translator:
        """Return the translator for a model's kind.

        `weights` replace the model's. `climbing` is greedy search in place of the beam, or after it. With `markup`,
        sentences may fix translations of spans, see `markup.py`.
        """
        search: type[Translator] = resolve_name(_SEARCHES[model.kind])
        return search(model, weights, limits=limits, space=space, climbing=climbing, markup=markup, runtime=runtime)

    def reweighted(self, weights: Weights, *, runtime: Runtime | None = None) -> Self:
        """Return the same translator under other weights; what does not depend on them is shared."""
        other = copy.copy(self)
        other.weights = weights
        other.runtime = runtime or self.runtime
        return other

    @abstractmethod
    def search_together(
        self, part: Sequence[str], *, forests: bool = False, targets: Sequence[str] | None = None
    ) -> Searched:
        """Search a batch of tokenised sentences, by dense and sparse features: global ones count for nothing.

        With `forests`, all that the search kept can be had from what comes back. `targets` allows only these
        translations, and the search then misses none of their derivations.
        """

    def searched(
        self, lines: Iterable[str], *, forests: bool = False, targets: Iterable[str] | None = None
    ) -> Iterator[Searched]:
        """Search tokenised sentences, in order, a batch at a time; see `search_together`."""
        self.refuse_global_features()
        if isinstance(lines, str) or isinstance(targets, str):
            raise TypeError("expected an iterable of lines, found one string")
        forced, longest = None if targets is None else iter(targets), self.limits.max_words
        threads = self.runtime.threads
        for part in batches(lines, sentences=BATCH * threads, words=WORDS * threads, longest=longest):
            wanted = None if forced is None else list(itertools.islice(forced, len(part)))
            if wanted is not None and len(wanted) != len(part):
                raise DataError("there are fewer targets than source sentences", expected="one for each")
            if len(pieces := pieces_of(part[0], longest)) > 1:
                if forests or targets is not None or self.markup:
                    words = len(words_of(part[0]))
                    raise DataError(
                        f"'{shortened(part[0])}' has {words:,} words, and what is longer than {longest:,} is "
                        "translated in pieces, without n-best lists, hypergraphs, forced translations or markup",
                        expected="a shorter sentence or a larger max-words",
                    )
                starts = range(0, len(pieces), threads)
                yield Pieced(self.search_together(pieces[i : i + threads]) for i in starts)
            else:
                yield self.search_together(part, forests=forests, targets=wanted)

    def refuse_global_features(self) -> None:
        """Refuse weights by which a global feature has a say in what is best: no dynamic program can score it."""
        for name in self.model.global_features:
            if self.weights.get(name, 0.0) != 0:
                raise UsageError(
                    f"the global feature {name} has the weight {self.weights[name]:g}, and only sampling can score it: "
                    'translate by annealing, or by `decision="mbr"` with `evidence="samples"`, or set the weight to 0'
                )

    def translate(self, lines: Iterable[str], *, features: bool = False) -> Iterator[Translation]:
        """Translate tokenised sentences, in order; an empty line gives an empty translation."""
        for part in self.searched(lines):
            yield from part.translations(features=features)

    def nbest(self, lines: Iterable[str], k: int, *, distinct: bool = False) -> Iterator[NBest]:
        """Yield the k best hypotheses of tokenised sentences, with features and segmentations, a batch at a time."""
        for part in self.searched(lines, forests=True):
            yield part.nbest(k, distinct=distinct)

    def search(self, line: str, *, features: bool = True) -> Hypergraph:
        """Search one tokenised sentence and return all that was kept, as a hypergraph."""
        (part,) = self.searched([line], forests=True)
        return part.hypergraph(0, features=features)

    def force(self, line: str, target: str) -> Hypergraph | None:
        """Return all derivations found of one translation of a sentence, or None where the model cannot reach it."""
        (part,) = self.searched([line], forests=True, targets=[target])
        return part.hypergraph(0) if part.reached(0) else None
