"""Chains that are spread over workers: each sentence has the random numbers of its place in the whole text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.sampling.annealing import annealed
from dragoman.sampling.documents import document_parts
from dragoman.sampling.global_features import GLOBAL_FEATURES
from dragoman.sampling.sampler import Sampled, Sampler
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.kept import Keep, Kept
from dragoman.search.spread import Portion, Spread
from dragoman.search.translator import BATCH, Translator


@dataclass(frozen=True)
class Draw:
    """Draws samples of a portion; `more_features` are names of global features beside those of the model."""

    options: Sampling
    seed: int = 1
    features: bool = True
    trace: bool = False
    proposal_weights: Weights | None = None
    more_features: tuple[str, ...] = ()

    def sampler(self, translator: Translator) -> Sampler:
        """What draws them."""
        more = [GLOBAL_FEATURES.get(name)() for name in self.more_features]
        return Sampler.of(translator, self.options, proposal_weights=self.proposal_weights, global_features=more)

    def __call__(self, translator: Translator, portion: Portion, runtime: Runtime) -> list[Sampled]:
        """Sample a portion."""
        return list(
            self.sampler(translator).batches(
                portion.lines,
                seed=self.seed,
                first=portion.first,
                documents=portion.documents,
                features=self.features,
                trace=self.trace,
                runtime=runtime,
            )
        )


def sampled(
    spread: Spread, draw: Draw, lines: Iterable[str], documents: Iterable[object] | None = None
) -> Iterator[Sampled]:
    """Sample a text, whoever does it, in order, a batch at a time; documents that features see stay together."""
    together = draw.sampler(spread.translator).sees_documents
    portions = portions_of_documents(spread, lines, documents, together=together)
    return (part for parts in spread.map(draw, portions) for part in parts)


@dataclass(frozen=True)
class Anneal:
    """Anneals a portion, and keeps what is wanted."""

    options: Annealing
    keep: Keep
    seed: int = 1

    def __call__(self, translator: Translator, portion: Portion, runtime: Runtime) -> list[Kept]:
        """Anneal a portion."""
        parts = annealed(
            translator,
            portion.lines,
            self.options,
            seed=self.seed,
            first=portion.first,
            documents=portion.documents,
        )
        return [self.keep.of(part) for part in parts]


def portions_of_documents(
    spread: Spread, lines: Iterable[str], documents: Iterable[object] | None, *, together: bool
) -> Iterator[Portion]:
    """Cut a text into portions; if they are to be `together`, into such that hold whole documents."""
    if not together:
        yield from spread.portions(lines)
        return
    everything = list(lines)
    labels: Sequence[object] = [0] * len(everything) if documents is None else list(documents)
    first = 0
    for part, _ in document_parts(everything, labels, BATCH * spread.runtime.threads_per_part, together=True):
        yield Portion(first, part, documents=labels[first : first + len(part)])
        first += len(part)


def annealed_parts(
    spread: Spread, anneal: Anneal, lines: Iterable[str], documents: Iterable[object] | None = None
) -> Iterator[Kept]:
    """Anneal a text, whoever does it, in order, a batch at a time."""
    together = Draw(Sampling()).sampler(spread.translator).sees_documents
    portions = portions_of_documents(spread, lines, documents, together=together)
    return (part for parts in spread.map(anneal, portions) for part in parts)
