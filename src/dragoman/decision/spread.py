"""Decisions that are spread over workers: evidence stays where it is made, and only what was decided comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.settings import Decision
from dragoman.sampling.spread import Draw, portions_of_documents
from dragoman.search.spread import Portion, Spread
from dragoman.search.translator import Translator


@dataclass(frozen=True)
class Decide:
    """Decides on a portion; `draw` is for rules that see samples."""

    decision: Decision
    draw: Draw | None = None

    def __call__(self, translator: Translator, portion: Portion, runtime: Runtime) -> list[str]:
        """Choose a translation of each sentence."""
        rule = self.decision.rule
        if self.draw is not None:
            evidence: Iterable[Samples] = (part.samples for part in self.draw(translator, portion, runtime))
            parts = [rule.decide(part, runtime=runtime) for part in evidence]
        else:
            gathered = self.decision.gather(translator, portion.lines)
            parts = [rule.decide(part, runtime=runtime) for part in gathered]
        return [line for part in parts for line in part.lines()]


def decided(
    spread: Spread, decide: Decide, lines: Iterable[str], documents: Sequence[object] | None = None
) -> Iterator[list[str]]:
    """Decide on a text, whoever does it, in order, a batch at a time."""
    draw = decide.draw
    together = draw is not None and draw.sampler(spread.translator).sees_documents
    return spread.map(decide, portions_of_documents(spread, lines, documents, together=together))
