"""Word alignment on Multi30k: agreement with fast_align and atools, agreement between our models, time and memory.

Links agree by F1 of the two sets of links. Times are the best of several runs; memory is the peak of the whole process.
"""

from __future__ import annotations

import argparse
import resource
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Bitext, Links, links_of
from dragoman.core.files import read_lines
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.training.align import ALIGNERS, Directions
from dragoman.training.align.base import symmetrise
from quick import parse_arguments
from timing import best_of

PAIRS = (("fr", "en"), ("de", "en"))
MODELS = ("model1", "diagonal", "diagonal:gradient=exact", "hmm")


def read_links(path: Path) -> Links:
    rows = ([tuple(map(int, link.split("-"))) for link in line.split()] for line in read_lines(path))
    return links_of([(link[0], link[1]) for link in row] for row in rows)


def keyed(links: Links) -> np.ndarray:
    rows = np.repeat(np.arange(len(links), dtype=np.uint64), links.lengths)
    return np.unique(rows << np.uint64(32) | links.values.astype(np.uint64))


def f1(ours: Links, theirs: Links) -> float:
    a, b = keyed(ours), keyed(theirs)
    return 2 * len(np.intersect1d(a, b, assume_unique=True)) / (len(a) + len(b))


def equal_rows(ours: Links, theirs: Links) -> int:
    return sum(set(a.tolist()) == set(b.tolist()) for a, b in zip(ours, theirs, strict=True))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(data: Path, source: str, target: str, threads: int, repeats: int) -> None:
    print(f"\n## {source}-{target}\n")
    bitext = Bitext.read(data / f"multi30k/train.{source}.gz", data / f"multi30k/train.{target}.gz")
    print(f"{len(bitext)} pairs, {bitext.source.words} and {bitext.target.words} words")
    print(f"memory after reading: {peak_megabytes():.0f} MB\n")
    reference = data / "moses" / f"{source}-{target}"
    theirs = Directions(
        read_links(reference / "fast_align.fwd.gz"),
        read_links(reference / "fast_align.rev.gz"),
    )
    their_links = read_links(reference / "aligned.grow-diag-final-and.gz")
    print(f"grow-diag-final-and: {equal_rows(symmetrise(theirs), their_links)} of {len(bitext)} lines as atools\n")

    print(f"| aligner | seconds on {threads} threads | peak MB | F1 with fast_align: forward | reverse | symmetrised |")
    print("|---|---|---|---|---|---|")
    symmetrised = {}
    for name in MODELS:
        aligner = parse_options(ALIGNERS.get(name.partition(":")[0]), name.split(":")[1:])
        timed = best_of(repeats, partial(aligner.align, bitext, runtime=Runtime(threads=threads)))
        ours = timed.result
        symmetrised[name] = symmetrise(ours)
        agreement = (
            f1(ours.forward, theirs.forward),
            f1(ours.reverse, theirs.reverse),
            f1(symmetrised[name], their_links),
        )
        print(f"| {name} | {timed.clock:.2f} | {peak_megabytes():.0f} | {' | '.join(f'{x:.5f}' for x in agreement)} |")

    print("\n| F1, symmetrised | " + " | ".join(MODELS) + " |")
    print("|---" * (len(MODELS) + 1) + "|")
    for one in MODELS:
        row = " | ".join(f"{f1(symmetrised[one], symmetrised[other]):.3f}" for other in MODELS)
        print(f"| {one} | {row} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parse_arguments(parser, "--data {moses} --repeats 1")
    for source, target in PAIRS:
        measure(arguments.data, source, target, arguments.threads, arguments.repeats)


if __name__ == "__main__":
    main()
