"""How long n-best lists take to read, write and merge: best of several runs, on Moses' merged lists."""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.core.nbest import NBest
from dragoman.formats.nbest.format import NBEST_FORMATS
from dragoman.formats.nbest.moses import MosesNBest

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def timed(label: str, runs: int, work: Callable[[], Any]) -> Any:
    wall = processor = float("inf")
    for _ in range(runs):
        start, start_processor = time.perf_counter(), time.process_time()
        result = work()
        wall = min(wall, time.perf_counter() - start)
        processor = min(processor, time.process_time() - start_processor)
    print(f"| {label} | {wall:.2f} | {processor:.2f} |", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    path = arguments.data / "moses" / "fr-en" / "val.merged.nbest.gz"
    runs = arguments.runs

    print(f"| {path.name}, seconds, best of {runs} | wall | processor |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as out:
        nbest = timed("read moses, gzip", runs, lambda: MosesNBest().read(path))
        for name in NBEST_FORMATS.names():
            beside = {"scores": Path(out, "scores"), "counts": Path(out, "counts")} if name == "flat" else {}
            kind, file = NBEST_FORMATS.get(name)(**beside), Path(out, name)
            timed(f"write {name}", runs, lambda kind=kind, file=file: kind.write(file, nbest))
            timed(f"read {name}", runs, lambda kind=kind, file=file: kind.read(file))
        same = Path(out, "moses").read_bytes() == gzip.decompress(path.read_bytes())
        timed("distinct", runs, nbest.distinct)
        timed("merge with itself", runs, lambda: NBest.merge([nbest, nbest]))
    print(f"\n{len(nbest.hypotheses):,} hypotheses of {len(nbest):,} sentences, {len(nbest.features.names)} features")
    print(f"written in Moses' format, the bytes are {'the same' if same else 'NOT the same'}")


if __name__ == "__main__":
    main()
