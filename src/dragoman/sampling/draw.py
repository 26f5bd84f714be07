"""Samples of a text, shard by shard: a sentence's random numbers depend on its place in the whole text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.features import GLOBAL_FEATURES
from dragoman.sampling.global_features import document_parts
from dragoman.sampling.sampler import SampleBatch, Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.translator import BATCH, Shard, ShardedTranslator, Translator


@dataclass(frozen=True)
class Draw:
    """Sampling of a shard; `more_features` names global features beside those of the model."""

    options: Sampling
    seed: int = 1
    features: bool = True
    trace: bool = False
    proposal_weights: Weights | None = None
    more_features: tuple[str, ...] = ()

    def sampler(self, translator: Translator) -> Sampler:
        """Return the sampler for the kind of a translator's model."""
        more = [GLOBAL_FEATURES.get(name)() for name in self.more_features]
        return Sampler.of(translator, self.options, proposal_weights=self.proposal_weights, global_features=more)

    def __call__(self, translator: Translator, shard: Shard, runtime: Runtime) -> list[SampleBatch]:
        """Sample a shard."""
        return list(
            self.sampler(translator).batches(
                shard.lines,
                seed=self.seed,
                first=shard.first,
                documents=shard.documents,
                features=self.features,
                trace=self.trace,
                runtime=runtime,
            )
        )


def draw_samples(
    sharded: ShardedTranslator, draw: Draw, lines: Iterable[str], documents: Iterable[object] | None = None
) -> Iterator[SampleBatch]:
    """Sample a text, in order, a batch at a time; documents that features see stay together."""
    together = draw.sampler(sharded.translator).sees_documents
    shards = document_shards(sharded, lines, documents) if together else sharded.shards(lines)
    return (part for parts in sharded.map(draw, shards) for part in parts)


def document_shards(
    sharded: ShardedTranslator, lines: Iterable[str], documents: Iterable[object] | None
) -> Iterator[Shard]:
    """Cut a text into shards of whole documents; without labels, the whole text is one document."""
    everything = list(lines)
    labels: Sequence[object] = [0] * len(everything) if documents is None else list(documents)
    first = 0
    for part, _ in document_parts(everything, labels, BATCH * sharded.runtime.threads_per_part, together=True):
        yield Shard(first, part, documents=labels[first : first + len(part)])
        first += len(part)
