"""How long foreign files take to read and write: best of several runs, on the Moses files of the data folder."""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

from dragoman.formats.arpa import read_arpa, write_arpa
from dragoman.formats.moses.ini import read_moses_ini
from dragoman.formats.moses.phrase_table import read_phrase_table, write_phrase_table
from dragoman.formats.moses.reordering import attach_reordering, read_reordering, write_reordering
from dragoman.formats.pharaoh import read_links, write_links
from quick import parse_arguments
from timing import TimeTable

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--pair", default="fr-en")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parse_arguments(parser, "--data {moses} --runs 1")
    folder = arguments.data / "moses" / arguments.pair

    times = TimeTable(arguments.pair, arguments.runs)
    with tempfile.TemporaryDirectory() as out:
        pairs = times.row("read phrase-table.gz", lambda: read_phrase_table(folder / "phrase-table.gz"))
        times.row("write phrase-table", lambda: write_phrase_table(f"{out}/table", pairs))
        times.row("write phrase-table.gz", lambda: write_phrase_table(f"{out}/table.gz", pairs))
        times.row("read phrase-table", lambda: read_phrase_table(f"{out}/table"))
        table = times.row("read reordering-table.gz", lambda: read_reordering(folder / "reordering-table.gz"))
        joined = times.row("join the two", lambda: attach_reordering(pairs, table, "lex"))
        times.row("write reordering-table.gz", lambda: write_reordering(f"{out}/reordering.gz", joined, "lex"))
        for path in sorted(folder.glob("lm*.arpa.gz")):
            ngrams = times.row(f"read {path.name}", partial(read_arpa, path))
            times.row(f"write {path.name}", partial(write_arpa, f"{out}/lm.arpa.gz", ngrams))
        name = "aligned.grow-diag-final-and.gz"
        links = times.row(f"read {name}", lambda: read_links(folder / name))
        times.row(f"write {name}", lambda: write_links(f"{out}/links.gz", links))
        times.row("read moses.tuned.ini", lambda: read_moses_ini(folder / "moses.tuned.ini"))
    print(f"\n{len(pairs):,} phrase pairs, {len(table):,} reordering entries, {len(links):,} lines of links")


if __name__ == "__main__":
    main()
