"""Grouping rows that do not fit into memory: our spill buffer, Polars and DuckDB.

    python benchmarks/sorting.py --rows 10000000 --memory 200M

The task is that of phrase extraction: rows of a 64-bit key and a number come in blocks; all rows of one key are needed
together, in the order in which they came. Each way is a process of its own that makes the same rows and counts the
distinct keys. Needs `pip install polars duckdb`, which Dragoman itself does not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quick import parse_arguments

BLOCK = 1 << 20


def blocks(rows: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Keys as frequent as phrases are: half of the rows have a key of their own, the others one of few."""
    random = np.random.default_rng(1)
    for first in range(0, rows, BLOCK):
        size = min(BLOCK, rows - first)
        few = random.zipf(1.3, size).astype(np.uint64)
        many = random.integers(0, 1 << 60, size, dtype=np.uint64)
        keys = np.where(random.random(size) < 0.5, few, many) * np.uint64(0x9E3779B97F4A7C15)
        yield keys, np.arange(first, first + size)


def nothing(rows: int, memory: int, folder: Path) -> int:
    """Make the rows only: what is to be subtracted from the others."""
    for _ in blocks(rows):
        pass
    return 0


def spill_buffer(rows: int, memory: int, folder: Path) -> int:
    """Buckets on disk, read in partitions that fit, each sorted in memory."""
    from dragoman.core.spill import BUCKETS, SpillBuffer
    from dragoman.core.workspace import Workspace

    found = 0
    with Workspace(memory, folder) as workspace:
        buffer = SpillBuffer(
            workspace,
            "rows",
            lambda block: (block["key"] >> np.uint64(54)).astype(np.uint16),  # type: ignore[operator]
            bytes_per_row=48,
            buckets=BUCKETS,
            order="number",
        )
        for keys, numbers in blocks(rows):
            buffer.add({"key": keys, "number": numbers})
        for part in buffer.partitions():
            keys = np.sort(part["key"], kind="stable")
            found += 1 + int(np.count_nonzero(keys[1:] != keys[:-1]))
    return found


def polars(rows: int, memory: int, folder: Path) -> int:
    """A streaming group-by over Parquet files."""
    import polars

    for i, (keys, numbers) in enumerate(blocks(rows)):
        polars.DataFrame({"key": keys, "number": numbers}).write_parquet(folder / f"{i}.parquet")
    scan = polars.scan_parquet(folder / "*.parquet")
    sorted_rows = scan.sort("key", "number").select((polars.col("key") != polars.col("key").shift()).sum() + 1)
    return int(sorted_rows.collect(engine="streaming").item())


def duckdb(rows: int, memory: int, folder: Path) -> int:
    """A table in a file, sorted with its memory limit."""
    import duckdb

    base = duckdb.connect(str(folder / "rows.db"))
    base.execute(f"set memory_limit='{memory >> 20}MiB'; set threads=1; set temp_directory='{folder}'")
    base.execute("create table rows (key ubigint, number bigint)")
    for keys, numbers in blocks(rows):
        block = {"key": keys, "number": numbers}  # noqa: F841 - DuckDB finds it by its name
        base.execute("insert into rows select * from block")
    base.execute(f"copy (select * from rows order by key, number) to '{folder}/sorted.parquet' (format parquet)")
    answer = base.execute("select count(distinct key) from rows").fetchone()
    return int(answer[0]) if answer else 0


WAYS = {way.__name__: way for way in (nothing, spill_buffer, polars, duckdb)}


def main() -> None:
    """Measure each way in a process of its own."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--memory", default="200M")
    arguments.add_argument("--way", choices=list(WAYS))
    given = parse_arguments(arguments, "--rows 10000")
    from dragoman.core.workspace import memory_size

    if given.way:
        with tempfile.TemporaryDirectory() as folder:
            print(WAYS[given.way](given.rows, memory_size(given.memory), Path(folder)))
        return
    for way in WAYS:
        command = [sys.executable, __file__, "--rows", str(given.rows), "--memory", given.memory, "--way", way]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "POLARS_MAX_THREADS": "1"})
        assert process.stdout is not None
        found = process.stdout.read().decode().strip()
        _, status, usage = os.wait4(process.pid, 0)
        figures = {"cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss / 1024, "keys": found}
        print(json.dumps({"way": way, "failed": status != 0, **figures}), flush=True)


if __name__ == "__main__":
    main()
