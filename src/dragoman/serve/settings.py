"""The limits of the service, as options: what a request may ask for, how much may wait, and how long work may take."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.options import Options, option


@dataclass(frozen=True)
class Limits(Options):
    """What is refused, in a sentence and with a status of its own; nothing here changes a translation."""

    body_bytes: int = option(4_000_000, "largest body of a request (413)", minimum=1)
    sentences: int = option(1000, "most sentences of a request (413)", minimum=1)
    words: int = option(250, "most words of a sentence (413)", minimum=1)
    nbest: int = option(1000, "largest n-best list (422)", minimum=1)
    samples: int = option(20_000, "most samples of a request, all chains together (422)", minimum=1)
    concurrency: int = option(64, "requests that are worked on at a time; more get 503", minimum=1)
    queue: int = option(2000, "sentences that wait for the search; more get 503", minimum=1)
    rate: float = option(0.0, "requests a second of one client (429); 0 is no limit", minimum=0)
    burst: int = option(50, "requests of one client that may come at once, if there is a rate", minimum=1)
    slow_workers: int = option(1, "threads for slow work: sampling, posteriors, decision rules", minimum=1)
    slow_queue: int = option(8, "slow requests that wait; more get 503", minimum=1)
    slow_seconds: float = option(30.0, "longest slow work, after which it is stopped (422)", minimum=0.01)
    client_seconds: float = option(
        20.0, "longest time a client may take to send a request or to take an answer", minimum=0.01
    )
    kept_bytes: int = option(256_000_000, "memory for hypergraphs that are kept to be weighted anew", minimum=0)
    edges: int = option(500_000, "largest hypergraph that is sent or kept, in edges (422)", minimum=1)
