"""How long foreign files take to read and write: best of several runs, on the Moses files of the data folder."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.formats.arpa import read_arpa, write_arpa
from dragoman.formats.moses.ini import read_moses_ini
from dragoman.formats.moses.phrase_table import read_phrase_table, write_phrase_table
from dragoman.formats.moses.reordering import attach_reordering, read_reordering, write_reordering
from dragoman.formats.pharaoh import read_links, write_links

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
    parser.add_argument("--pair", default="fr-en")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    folder = arguments.data / "moses" / arguments.pair
    runs = arguments.runs

    print(f"| {arguments.pair}, seconds, best of {runs} | wall | processor |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as out:
        pairs = timed("read phrase-table.gz", runs, lambda: read_phrase_table(folder / "phrase-table.gz"))
        timed("write phrase-table", runs, lambda: write_phrase_table(f"{out}/table", pairs))
        timed("write phrase-table.gz", runs, lambda: write_phrase_table(f"{out}/table.gz", pairs))
        timed("read phrase-table", runs, lambda: read_phrase_table(f"{out}/table"))
        table = timed("read reordering-table.gz", runs, lambda: read_reordering(folder / "reordering-table.gz"))
        joined = timed("join the two", runs, lambda: attach_reordering(pairs, table, "lex"))
        timed("write reordering-table.gz", runs, lambda: write_reordering(f"{out}/reordering.gz", joined, "lex"))
        for path in sorted(folder.glob("lm*.arpa.gz")):
            ngrams = timed(f"read {path.name}", runs, lambda path=path: read_arpa(path))
            timed(f"write {path.name}", runs, lambda ngrams=ngrams: write_arpa(f"{out}/lm.arpa.gz", ngrams))
        name = "aligned.grow-diag-final-and.gz"
        links = timed(f"read {name}", runs, lambda: read_links(folder / name))
        timed(f"write {name}", runs, lambda: write_links(f"{out}/links.gz", links))
        timed("read moses.tuned.ini", runs, lambda: read_moses_ini(folder / "moses.tuned.ini"))
    print(f"\n{len(pairs):,} phrase pairs, {len(table):,} reordering entries, {len(links):,} lines of links")


if __name__ == "__main__":
    main()
