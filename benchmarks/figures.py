"""Keep one source for every published figure: the files `benchmarks/results/*.toml`.

    python benchmarks/figures.py write                        put the figures into all documents
    python benchmarks/figures.py check                        fail if a document shows something else
    python benchmarks/figures.py record TOPIC TABLE -- COMMAND   run a benchmark and store the table that it prints

A topic's file has tables and single figures, each with its command, date, commit and machine. Documents mark the places
where they show them:

    <!-- table: training/sizes -->          a whole table, up to the mark of its end
    <!-- /table -->
    <!-- figure: training/wall -->2.13 s<!-- /figure -->
    <!-- cell: training/sizes 1 3 -->2.13<!-- /cell -->     row 1, column 3 of a table
    <!-- overview -->                       the table of all topics, in RESULTS.md
    <!-- /overview -->

`record` takes the last Markdown table that the command prints. Figures that no command gives again say so in `note`.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"

_TABLE = re.compile(r"(<!-- table: ([\w/.-]+) -->\n)(.*?)(<!-- /table -->)", re.S)
_FIGURE = re.compile(r"(<!-- figure: ([\w/.-]+) -->)(.*?)(<!-- /figure -->)")
_CELL = re.compile(r"(<!-- cell: ([\w/.-]+) (\d+) (\d+) -->)(.*?)(<!-- /cell -->)")
_OVERVIEW = re.compile(r"(<!-- overview -->\n)(.*?)(<!-- /overview -->)", re.S)


def documents() -> Iterator[Path]:
    """Yield every document that may show figures."""
    yield ROOT / "README.md"
    yield ROOT / "benchmarks" / "RESULTS.md"
    yield from sorted(RESULTS.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def read_topics(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Read the files of all topics, by name."""
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}


def fill(text: str, topics: dict[str, dict[str, Any]]) -> str:
    """Return a document with the figures of `topics` at their marks."""
    text = _TABLE.sub(lambda found: found[1] + format_table(_find(topics, "table", found[2])) + found[4], text)
    text = _FIGURE.sub(lambda found: found[1] + format_figure(_find(topics, "figure", found[2])) + found[4], text)
    text = _CELL.sub(lambda found: found[1] + format_cell(topics, *found.groups()[1:4]) + found[6], text)
    return _OVERVIEW.sub(lambda found: found[1] + format_overview(topics) + found[3], text)


def format_table(table: dict[str, Any]) -> str:
    """Return a table as Markdown."""
    lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return "".join(_row(line) for line in lines)


def format_figure(figure: dict[str, Any]) -> str:
    """Return a figure with its deviation and unit.

    >>> format_figure({"value": 50.59, "deviation": 0.13}), format_figure({"value": "2.13", "unit": "s"})
    ('50.59 ± 0.13', '2.13 s')
    """
    deviation = f" ± {figure['deviation']}" if "deviation" in figure else ""
    unit = f" {figure['unit']}" if "unit" in figure else ""
    return f"{figure['value']}{deviation}{unit}"


def format_cell(topics: dict[str, dict[str, Any]], name: str, row: str, column: str) -> str:
    """Return a cell of a table; rows and columns are counted from 1."""
    rows = _find(topics, "table", name)["rows"]
    if not (0 < int(row) <= len(rows) and 0 < int(column) <= len(rows[0])):
        raise SystemExit(f"the table {name} has no row {row} or no column {column}")
    return str(rows[int(row) - 1][int(column) - 1])


def format_overview(topics: dict[str, dict[str, Any]]) -> str:
    """Return the table of all topics: what was asked, what was reached, and by which command."""
    rows = [["page", "what was asked, or what it stands beside", "reached", "command"], ["---"] * 4]
    for name, topic in sorted(topics.items(), key=lambda item: item[1]["position"]):
        for number, row in enumerate(topic.get("overview", [])):
            page = f"[{topic['title']}](results/{name}.md)" if number == 0 else ""
            rows.append([page, row["asked"], row["reached"], row["command"]])
    return "".join(_row(row) for row in rows)


def stale(topics: dict[str, dict[str, Any]]) -> list[Path]:
    """Return the documents that show something else than the files say."""
    return [path for path in documents() if fill(text := path.read_text(encoding="utf-8"), topics) != text]


def record(topic: str, table: str, command: list[str]) -> None:
    """Run a benchmark and store the last table that it prints, with command, date, commit and machine."""
    load = os.getloadavg()[0]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    sys.stdout.write(done.stdout)
    tables = re.findall(r"(?:^\|.*\n)+", done.stdout, re.M)
    if not tables:
        raise SystemExit(f"{' '.join(command)}: printed no table")
    rows = [_cells(line) for line in tables[-1].splitlines()]
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    path = RESULTS / f"{topic}.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    entry = {
        "id": table,
        "command": " ".join(command),
        "date": datetime.date.today().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, load {load:.1f} at the start",
        "columns": rows[0],
        "rows": rows[2:],
    }
    others = [other for other in content.get("table", []) if other["id"] != table]
    path.write_text(format_topic({**content, "table": [*others, entry]}), encoding="utf-8")


def format_topic(topic: dict[str, Any]) -> str:
    """Return a topic's file as TOML: plain keys first, then lists of tables."""
    lines = [f"{key} = {_value(value)}" for key, value in topic.items() if not isinstance(value, list)]
    for key, entries in topic.items():
        for entry in entries if isinstance(entries, list) else []:
            lines += ["", f"[[{key}]]"]
            lines += [f"{name} = {_value(value)}" for name, value in entry.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + "".join(f"    {_value(row)},\n" for row in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    if isinstance(value, str):
        if "'" not in value and ('"' in value or "\\" in value):
            return f"'{value}'"
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


def _find(topics: dict[str, dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    topic, _, identifier = name.partition("/")
    for entry in topics.get(topic, {}).get(kind, []):
        if entry["id"] == identifier:
            return dict(entry)
    raise SystemExit(f"no {kind} is called {name}; expected one of benchmarks/results/{topic}.toml")


def _row(cells: list[str]) -> str:
    if all(cell == "---" for cell in cells):
        return "|" + "---|" * len(cells) + "\n"
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def main() -> None:
    """Write, check or record figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "check", "record"])
    parser.add_argument("arguments", nargs="*", help="of record: TOPIC TABLE -- COMMAND")
    options = parser.parse_args()
    if options.action == "record":
        if len(options.arguments) < 3:
            parser.error("record takes TOPIC TABLE -- COMMAND")
        record(options.arguments[0], options.arguments[1], options.arguments[2:])
    topics = read_topics()
    changed = stale(topics)
    if options.action == "check":
        for path in changed:
            print(f"{path.relative_to(ROOT)}: shows other figures than benchmarks/results/*.toml; run: make figures")
        raise SystemExit(1 if changed else 0)
    for path in changed:
        path.write_text(fill(path.read_text(encoding="utf-8"), topics), encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
