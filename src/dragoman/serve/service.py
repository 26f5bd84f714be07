"""What routes share: models, limits, those who do the work, what is kept, runs, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from dragoman.core.errors import UsageError
from dragoman.core.progress import available_cores
from dragoman.sampling.schedule import Sampling
from dragoman.search.translator import BATCH
from dragoman.serve.batching import Batcher, SlowPool, Stop
from dragoman.serve.failures import RequestError
from dragoman.serve.kept import KeptGraphs
from dragoman.serve.metrics import Metrics
from dragoman.serve.models import Shelf
from dragoman.serve.runs import Runs
from dragoman.serve.sentences import go_on
from dragoman.serve.settings import Limits

T = TypeVar("T")

#: Texts of so many characters, all together, are cut up where they come in, which is quicker than another thread is.
_SHORT = 2000

#: A word of more letters than this on average is a way around the limit on words.
_LETTERS = 40


class Service:
    """All that requests use; it knows nothing of HTTP but statuses."""

    def __init__(
        self, shelf: Shelf, limits: Limits = Limits(), *, runs: Path | None = None, threads: int | None = None
    ):
        self.shelf = shelf
        self.limits = limits
        self.runs = Runs(runs)
        self.metrics = Metrics()
        self.closing = False
        self.kept = KeptGraphs(limits.kept_bytes)
        for model in shelf:
            model.files.when_changed.append(self.kept.clear)
        self.batcher = Batcher(workers=threads or available_cores(), most=BATCH, queue=limits.queue)
        self.slow = SlowPool(workers=limits.slow_workers, queue=limits.slow_queue, seconds=limits.slow_seconds)

    def close(self) -> None:
        """End the threads."""
        for model in self.shelf:
            model.files.when_changed.remove(self.kept.clear)
        self.batcher.close()
        self.slow.close()

    async def cut(self, texts: Sequence[str], work: Callable[[Callable[[], None]], T]) -> T:
        """Have texts cut into pieces: long ones in the turn of a search, and no longer than slow work may take.

        `work` gets what it is to call now and then, which raises when time is over or nobody waits any more.
        """
        if len(texts) > self.limits.sentences:
            raise RequestError(413, f"found {len(texts):,} texts; expected at most {self.limits.sentences:,} a request")
        if sum(map(len, texts)) + len(texts) <= _SHORT:
            return work(go_on)
        stop = Stop(self.limits.slow_seconds)

        def timed() -> T:
            stop.begin()
            return work(stop.check)

        try:
            return await self.batcher.alone(timed)
        finally:
            stop.ask()

    def check_lines(self, lines: Sequence[str]) -> None:
        """Refuse too many sentences, and too long ones."""
        if len(lines) > self.limits.sentences:
            raise RequestError(
                413, f"found {len(lines):,} sentences; expected at most {self.limits.sentences:,} a request"
            )
        for line in lines:
            words = len(line) // _LETTERS
            words = words if words > self.limits.words else len(line.split())
            if words > self.limits.words:
                raise RequestError(413, f"a sentence has {words:,} words; expected at most {self.limits.words:,}")

    def check_one(self, line: str) -> str:
        """Refuse what is not one sentence, and return it in one line."""
        if not line.strip():
            raise UsageError("the text is empty; expected a sentence")
        self.check_lines([line])
        return " ".join(line.split("\n"))

    def check_size(self, name: str, found: int, most: int) -> None:
        """Refuse a number beyond a limit."""
        if found > most:
            raise RequestError(422, f"{name} is {found:,}; expected at most {most:,}")

    def check_samples(self, samples: int, *, chains: int = Sampling().chains, burn_in: int = 0) -> None:
        """Refuse more samples than there may be, all chains of a sentence together."""
        self.check_size("the number of samples of all chains", chains * (samples + burn_in), self.limits.samples)
