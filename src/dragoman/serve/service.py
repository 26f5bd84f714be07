"""The service behind the routes: models, limits, threads, cached hypergraphs, runs, counts, and checks of requests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from dragoman.core.errors import UsageError
from dragoman.core.options import Options
from dragoman.core.progress import available_cores
from dragoman.decision import RULES
from dragoman.decision.rule import Rule
from dragoman.metrics import METRICS
from dragoman.metrics.combined import Combined, parse_metric
from dragoman.sampling.schedule import Sampling
from dragoman.search.translator import BATCH
from dragoman.serve.batching import Batcher, SlowPool, Stop
from dragoman.serve.hypergraph_cache import HypergraphCache
from dragoman.serve.limits import Limits, RequestError
from dragoman.serve.models import ModelRegistry
from dragoman.serve.runs import Runs
from dragoman.serve.segmentation import go_on

T = TypeVar("T")

#: Characters of texts, all together, that are cut up in the thread that answers, which is quicker than another thread.
_SHORT = 2000

#: Letters of a word on average, above which it is a way around the limit on words.
_LETTERS = 40

#: Characters of the longest metric, which may be a sum of others.
_LONGEST_METRIC = 200

#: Upper bounds of the times of requests, in seconds.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

#: A name, its meaning, and its value now.
Gauge = tuple[str, str, float]


class Service:
    """Everything that requests use; of HTTP it knows only statuses."""

    def __init__(
        self, models: ModelRegistry, limits: Limits = Limits(), *, runs: Path | None = None, threads: int | None = None
    ):
        self.models = models
        self.limits = limits
        self.runs = Runs(runs)
        self.metrics = Metrics()
        self.closing = False
        self.hypergraphs = HypergraphCache(limits.cache_bytes)
        for model in models:
            model.files.when_changed.append(self.hypergraphs.clear)
        self.batcher = Batcher(workers=threads or available_cores(), most=BATCH, queue=limits.queue)
        self.slow = SlowPool(workers=limits.slow_workers, queue=limits.slow_queue, seconds=limits.slow_seconds)

    def close(self) -> None:
        """End the threads."""
        for model in self.models:
            model.files.when_changed.remove(self.hypergraphs.clear)
        self.batcher.close()
        self.slow.close()

    async def cut(self, texts: Sequence[str], work: Callable[[Callable[[], None]], T]) -> T:
        """Split texts into pieces: long ones in the turn of a search, and within the time limit of slow work.

        `work` gets a function to call now and then, which raises when time is over or nobody waits any more.
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
        """Refuse a text that is not one sentence, and return it in one line."""
        if not line.strip():
            raise UsageError("the text is empty; expected a sentence")
        self.check_lines([line])
        return " ".join(line.split("\n"))

    def check_size(self, name: str, found: int, most: int) -> None:
        """Refuse a number beyond a limit."""
        if found > most:
            raise RequestError(422, f"{name} is {found:,}; expected at most {most:,}")

    def check_samples(self, samples: int, *, chains: int = Sampling().chains, burn_in: int = 0) -> None:
        """Refuse too many samples, all chains of a sentence together."""
        self.check_size("the number of samples of all chains", chains * (samples + burn_in), self.limits.samples)


def check_metric(text: str) -> None:
    """Refuse a metric that reads a file of the server."""
    if len(text) > _LONGEST_METRIC:
        raise UsageError(f"a metric has {len(text)} characters; expected at most {_LONGEST_METRIC}")
    metric = parse_metric(text)
    for one in [term for _, term in metric.terms()] if isinstance(metric, Combined) else [metric]:
        if _reads_file(type(one)):
            raise UsageError(f"{one.name} reads a file, which the service does not; expected another metric")


def metric_names() -> list[str]:
    """Return the metrics that requests can name, except weighted sums."""
    return [name for name in METRICS.names() if name != Combined.name and not _reads_file(METRICS.get(name))]


def check_rule(name: str, options: Mapping[str, Any]) -> None:
    """Refuse a decision rule whose options name a file of the server."""
    rule: type[Rule] = RULES.get(name)
    if "metric" in options:
        check_metric(str(options["metric"]))
    paths = {field.name for field in fields(rule) if Path.__name__ in str(field.type)}
    for option, value in options.items():
        if isinstance(value, str) and option in paths:
            raise UsageError(f"{option} is a file, which the service does not read; expected another option")


def _reads_file(metric: type[Options]) -> bool:
    return any(field.name == "path" for field in fields(metric))


class Metrics:
    """Counts of requests by route and status, of their times, and of sentences, as Prometheus reads them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self._sentences = 0

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds += seconds
            self._buckets[next((bound for bound in _BOUNDS if seconds <= bound), float("inf"))] += 1

    def sentences(self, count: int) -> None:
        """Count sentences that were translated."""
        with self._lock:
            self._sentences += count

    def text(self, gauges: Iterable[Gauge]) -> str:
        """Write all in Prometheus' format."""
        with self._lock:
            total = sum(self._requests.values())
            rows = [
                "# HELP dragoman_requests_total Requests that were answered.",
                "# TYPE dragoman_requests_total counter",
                *(
                    f'dragoman_requests_total{{route="{route}",status="{status}"}} {count}'
                    for (route, status), count in sorted(self._requests.items())
                ),
                "# HELP dragoman_sentences_total Sentences that were translated.",
                "# TYPE dragoman_sentences_total counter",
                f"dragoman_sentences_total {self._sentences}",
                "# HELP dragoman_request_seconds How long requests took.",
                "# TYPE dragoman_request_seconds histogram",
            ]
            below = 0
            for bound in _BOUNDS:
                below += self._buckets[bound]
                rows.append(f'dragoman_request_seconds_bucket{{le="{bound}"}} {below}')
            rows += [
                f'dragoman_request_seconds_bucket{{le="+Inf"}} {total}',
                f"dragoman_request_seconds_sum {self._seconds}",
                f"dragoman_request_seconds_count {total}",
            ]
        for name, meaning, value in gauges:
            rows += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(rows) + "\n"
