"""What the service counts, as text that Prometheus reads."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable

#: Upper bounds of the times of requests, in seconds.
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

#: A name, what it means, and its value now.
Gauge = tuple[str, str, float]


class Metrics:
    """Requests by route and status, how long they took, and sentences."""

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
