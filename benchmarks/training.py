"""Time and memory of the whole training, at several corpus sizes.

    python benchmarks/training.py --data ../shared/data

Trains from tokenised text with the defaults (diagonal alignment both ways, grow-diag-final-and, phrases up to 7 words,
msd-bidirectional-fe, order-3 model) through the command line, in a process of its own, and reports the best of several
runs. Larger corpora are distinct domains put one after the other.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from quick import parse_arguments

# fast_align both ways, atools, Moses' train-model steps 4-9 and lmplz on the same 29,000 pairs and two cores.
MOSES_SECONDS = 2.9 + 3.1 + 0.7 + 85.6 + 0.8


def sides(data: Path) -> tuple[list[bytes], list[bytes]]:
    """All pairs there are: French first, then German, into English; captions, then manuals, then dialogue."""
    source: list[bytes] = []
    target: list[bytes] = []
    for language in ("fr", "de"):
        pair = f"train.{language}-en"
        for folder, stem in (("multi30k", "train"), ("libreoffice", pair), ("wesnoth", pair)):
            for lines, side in ((source, language), (target, "en")):
                with gzip.open(data / folder / f"{stem}.{side}.gz") as stream:
                    lines += stream.read().splitlines()
    return source, target


def run(source: Path, target: Path, out: Path, threads: int) -> tuple[float, float, float]:
    """Seconds of wall time and of processor time, and peak memory in MB, of one training."""
    command = [sys.executable, "-m", "dragoman.cli.main", "train", "--tokenised", "--threads", str(threads), "--force"]
    command += ["--preset", "moses", "--source", str(source), "--target", str(target), "--out", str(out)]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"training failed: {' '.join(command)}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[29_000, 58_000, 116_000])
    options = parse_arguments(parser, "--data {data} --sizes 200 --runs 1")
    source, target = sides(options.data)
    print("| pairs | source words | wall s | CPU s | µs of CPU a word | peak MB | Moses' wall / ours |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            files = Path(folder) / "source", Path(folder) / "target"
            for file, lines in zip(files, (source, target), strict=True):
                file.write_bytes(b"\n".join(lines[:size]) + b"\n")
            words = sum(len(line.split()) for line in source[:size])
            results = [run(*files, Path(folder) / "model", options.threads) for _ in range(options.runs)]
            wall, cpu, memory = (min(column) for column in zip(*results, strict=True))
            ratio = f"{MOSES_SECONDS / wall:.0f}" if size == 29_000 else ""
            print(
                f"| {size:,} | {words:,} | {wall:.2f} | {cpu:.2f} | {cpu / words * 1e6:.1f} | {memory:.0f} | {ratio} |"
            )


if __name__ == "__main__":
    main()
