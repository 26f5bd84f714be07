"""Choosing among the lists of large files (`dragoman mbr`): peak memory and time against the number of sentences.

    python benchmarks/many_lists.py --nbest ../shared/data/moses/fr-en/val.merged.nbest.gz --sentences 2000 20000
    python benchmarks/many_lists.py --nbest val.merged.nbest.gz --sentences 2000 20000 --options "--cluster local:2"

Lists are those of a file of Moses again and again, as far as they have so many candidates. Memory is that of the
command's own process, without workers; so is the processor's time, with threads.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from quick import parse_arguments

MBR = "from dragoman.cli.main import main; main()"


def lists_of(nbest: Path, candidates: int) -> list[list[str]]:
    """The first candidates of each list that has as many, without the sentence's number."""
    with gzip.open(nbest, "rt", encoding="utf-8") as stream:
        groups = itertools.groupby(stream, key=lambda line: line.split(" ||| ")[0])
        firsts = [[line.split(" ||| ", 1)[1] for line in itertools.islice(group, candidates)] for _, group in groups]
    return [rows for rows in firsts if len(rows) == candidates]


def measure(path: Path, out: Path, options: Sequence[str]) -> tuple[float, float, float]:
    """Megabytes, seconds on the clock, and of the processor."""
    command = [sys.executable, "-c", MBR, "mbr", "--candidates", str(path), "--out", str(out), *options]
    start, most = time.monotonic(), 0
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while True:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))
        most = max(most, int(found[1]) if found else 0)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    if status:
        raise SystemExit(f"{command} failed")
    return most / 1024, time.monotonic() - start, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print a row for each number of sentences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nbest", type=Path, required=True)
    parser.add_argument("--sentences", type=int, nargs="+", required=True)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--options", default="--threads 1")
    arguments = parse_arguments(parser, "--nbest {moses}/moses/fr-en/val.merged.nbest.gz --sentences 5 --candidates 5")
    lists = lists_of(arguments.nbest, arguments.candidates)
    print("| sentences | file | peak memory | clock | processor | choices |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "lists.nbest", Path(folder) / "out"
        for sentences in arguments.sentences:
            with path.open("w", encoding="utf-8") as stream:
                for i, rows in zip(range(sentences), itertools.cycle(lists), strict=False):
                    stream.writelines(f"{i} ||| {row}" for row in rows)
            memory, clock, processor = measure(path, out, arguments.options.split())
            size, digest = path.stat().st_size / 1e6, hashlib.sha256(out.read_bytes()).hexdigest()[:8]
            print(
                f"| {sentences:,} | {size:,.0f} MB | {memory:.0f} MB | {clock:.1f} s | {processor:.1f} s | {digest} |"
            )


if __name__ == "__main__":
    main()
