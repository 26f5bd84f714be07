"""Our phrase and reordering tables of Multi30k against those that Moses makes from the same links; time and memory."""

from __future__ import annotations

import argparse
import gzip
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

from dragoman.core.corpus import Bitext, Links, links_of
from dragoman.core.phrases import PHRASE_SCORES, REORDERING_SCORES, PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.training.extract import extract_phrases, score_reordering
from dragoman.training.lexical import lexical_tables
from dragoman.training.score import score_phrases
from dragoman.training.table_pruning import least_significance, negative_log_p
from quick import parse_arguments

T = TypeVar("T")


class Stopwatch:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        self.seconds[name] = time.perf_counter() - start
        return result

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def read_links(path: Path) -> Links:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = ([tuple(map(int, link.split("-"))) for link in line.split()] for line in lines)
        return links_of([(link[0], link[1]) for link in row] for row in rows)


def train(bitext: Bitext, links: Links, runtime: Runtime, decimals: int | None) -> tuple[PhrasePairs, Stopwatch, int]:
    watch = Stopwatch()
    lexical = watch.time("lexical", lambda: lexical_tables(bitext, links))
    if decimals is not None:
        lexical = lexical.rounded(decimals)
    instances = watch.time("extract", lambda: extract_phrases(bitext, links, runtime=runtime))
    scored = watch.time("score", lambda: score_phrases(instances, bitext, links, lexical, runtime=runtime))
    scored.pairs.reordering["msd"] = watch.time(
        "reorder", lambda: score_reordering(instances, scored.pair_of_instance, len(scored.pairs))
    )
    return scored.pairs, watch, len(instances)


def read_table(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.rstrip("\n").split(" ||| ")


def rows_by_text(pairs: PhrasePairs) -> dict[tuple[str, str], int]:
    sources = pairs.source_vocab.decode(pairs.sources.values, pairs.sources.offsets).decode().split("\n")
    targets = pairs.target_vocab.decode(pairs.targets.values, pairs.targets.offsets).decode().split("\n")
    ids = zip(pairs.source_ids.tolist(), pairs.target_ids.tolist(), strict=True)
    return {(sources[s], targets[t]): row for row, (s, t) in enumerate(ids)}


def report(names: tuple[str, ...], ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    difference = np.abs(ours - theirs) / np.abs(theirs)
    for column, name in enumerate(names):
        worst = difference[:, column].max()
        beyond = np.count_nonzero(difference[:, column] > tolerance)
        print(f"  {name:9} largest relative difference {worst:.1e}; {beyond:,} rows beyond {tolerance:g}")


def compare(pairs: PhrasePairs, folder: Path) -> np.ndarray:
    """Print how our table differs from Moses', and return our rows in the order of Moses' file."""
    assert pairs.alignments is not None
    assert pairs.counts is not None
    rows = rows_by_text(pairs)
    order, scores, counts = [], [], []
    theirs = missing = alignments = 0
    for source, target, probabilities, alignment, count, *_ in read_table(folder / "phrase-table.gz"):
        theirs += 1
        row = rows.get((source, target))
        if row is None:
            missing += 1
            continue
        links = {256 * s + t for s, t in (map(int, link.split("-")) for link in alignment.split())}
        alignments += links == set(pairs.alignments[row].tolist())
        order.append(row)
        scores.append([float(p) for p in probabilities.split()])
        counts.append([float(c) for c in count.split()])
    at = np.array(order)
    print(f"  pairs: {len(pairs):,} ours, {theirs:,} theirs, {missing:,} of theirs missing in ours")
    print(f"  same alignment {alignments:,}; same counts {np.all(pairs.counts[at] == counts, axis=1).sum():,}")
    report(PHRASE_SCORES, pairs.scores[at], np.array(scores), 1e-4)
    order, scores = [], []
    for source, target, probabilities in read_table(folder / "reordering-table.gz"):
        order.append(rows[source, target])
        scores.append([float(p) for p in probabilities.split()])
    report(REORDERING_SCORES, pairs.reordering["msd"][np.array(order)], np.array(scores), 1e-4)
    return at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5, help="the best of so many times is printed")
    parser.add_argument("--time-only", action="store_true", help="do not compare with Moses' tables")
    options = parse_arguments(parser, "--data {moses} --repeat 1")
    for pair in options.pairs:
        source, target = (options.data / "multi30k" / f"train.{language}.gz" for language in pair.split("-"))
        folder = options.data / "moses" / pair
        bitext = Bitext.read(source, target)
        links = read_links(folder / "aligned.grow-diag-final-and.gz")
        print(f"{pair}: {len(bitext):,} sentence pairs, {len(links.values):,} links")
        runtime = Runtime(threads=options.threads)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pairs, watch, instances = train(bitext, links, runtime, None)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        others = [train(bitext, links, runtime, None)[1] for _ in range(options.repeat - 1)]
        watch = min([watch, *others], key=lambda other: other.total)
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in watch.seconds.items())
        print(f"  {instances:,} instances; {watch.total:.2f} s on {options.threads} threads ({parts})")
        print(f"  peak memory of the process {peak / 1024:.0f} MB, {before / 1024:.0f} MB before training")
        for threshold in ("a-e", "a+e"):
            start = time.perf_counter()
            log_p = negative_log_p(pairs, bitext, runtime=runtime)
            kept = int((log_p >= least_significance(threshold, len(bitext))).sum())
            seconds = time.perf_counter() - start
            print(f"  significance {threshold}: {kept:,} pairs stay ({kept / len(pairs):.1%}); {seconds:.2f} s")
        if not options.time_only:
            print("  against Moses, lexical tables rounded to 7 decimals:")
            compare(train(bitext, links, runtime, 7)[0], folder)
            print("  against Moses, not rounded:")
            compare(pairs, folder)


if __name__ == "__main__":
    main()
