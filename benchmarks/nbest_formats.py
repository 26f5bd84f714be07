"""How long n-best lists take to read, write and merge: best of several runs, on Moses' merged lists."""

from __future__ import annotations

import argparse
import gzip
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.errors import DataError
from dragoman.core.nbest import NBest
from dragoman.formats.nbest.format import NBEST_FORMATS
from dragoman.formats.nbest.moses import MosesNBest
from quick import parse_arguments
from timing import TimeTable

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parse_arguments(parser, "--data {moses} --runs 1")
    path = arguments.data / "moses" / "fr-en" / "val.merged.nbest.gz"

    times = TimeTable(path.name, arguments.runs)
    with tempfile.TemporaryDirectory() as out:
        nbest = times.row("read moses, gzip", lambda: MosesNBest().read(path))
        options: dict[str, dict[str, Any]] = {
            "flat": {"scores": Path(out, "scores"), "counts": Path(out, "counts")},
            "opennmt": {"size": int(np.diff(nbest.sentences).max())},
        }
        for name in NBEST_FORMATS.names():
            kind, file = NBEST_FORMATS.get(name)(**options.get(name, {})), Path(out, name)
            try:
                times.row(f"write {name}", partial(kind.write, file, nbest))
            except DataError as error:  # OpenNMT's lists have one size, Sockeye's scores are log-probabilities
                print(f"| {name} cannot have these lists: {error} | | |")
                continue
            times.row(f"read {name}", partial(kind.read, file))
        same = Path(out, "moses").read_bytes() == gzip.decompress(path.read_bytes())
        times.row("distinct", nbest.distinct)
        times.row("merge with itself", lambda: NBest.merge([nbest, nbest]))
    print(f"\n{len(nbest.hypotheses):,} hypotheses of {len(nbest):,} sentences, {len(nbest.features.names)} features")
    print(f"written in Moses' format, the bytes are {'the same' if same else 'NOT the same'}")


if __name__ == "__main__":
    main()
