"""Keep one source for every published figure: the files `benchmarks/results/*.toml`.

    python benchmarks/figures.py write                        put the figures into all documents
    python benchmarks/figures.py check                        fail if a document shows something else
    python benchmarks/figures.py record TOPIC TABLE -- COMMAND   run a benchmark and store the table that it prints
    python benchmarks/figures.py confirm TOPIC [TEXT ...]     say that texts have been read beside their new tables

A topic's file has tables, single figures and texts (paragraphs with figures in them), each with its command, date,
commit and machine. Documents mark the places where they show them:

    <!-- table: training/sizes -->          a whole table, up to the mark of its end
    <!-- /table -->
    <!-- figure: training/wall -->2.13 s<!-- /figure -->
    <!-- cell: training/sizes 1 3 -->2.13<!-- /cell -->     row 1, column 3 of a table
    <!-- text: training/choice -->          a paragraph, up to the mark of its end
    <!-- /text -->
    <!-- overview -->                       the table of all topics, in RESULTS.md
    <!-- /overview -->

`record` takes the last Markdown table that the command prints. Figures that no command gives again say so in `note`.
A text says in `basis` which tables it is about, with a digest of each: when a table is recorded anew, `check` fails
until the text was read again, corrected in the topic's file where it is wrong, and confirmed.

`check` also fails if a document has a measured figure (a number with a unit, or with decimals) outside of these marks.
Settings and constants of the literature are listed in `benchmarks/results/settings.txt`.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
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
_TEXT = re.compile(r"(<!-- text: ([\w/.-]+) -->\n)(.*?)(<!-- /text -->)", re.S)
_OVERVIEW = re.compile(r"(<!-- overview -->\n)(.*?)(<!-- /overview -->)", re.S)

#: Numbers, code and formulas that no check for unmarked figures looks at.
_HIDDEN = [
    re.compile(pattern, re.S | re.M)
    for pattern in (
        r"<!-- (table|text|figure|cell): .*?<!-- /\1 -->",
        r"<!-- overview -->.*?<!-- /overview -->",
        r"<!--.*?-->",
        r"^```.*?^```",
        r"^(?: {4}|\t)[^\n]*$",
        r"`[^`]*`",
        r"\$\$.*?\$\$",
        r"\$[^$\n]*\$",
        r"\]\([^)]*\)",
        # Places in papers, and versions.
        r"(?:section|sections|table|figure|equation|thesis,|thesis|Python|TLS|version)\s\(?\d+\.\d+",
        r"\(\d+\.\d+(?:(?:,| to| and)\s\d+\.\d+)*\)",
    )
]
_SIGN, _DASH, _CROSS = "[+\u2212-]?", "\u2013", "\u00d7"
_NUMBER = rf"{_SIGN}\d[\d,]*(?:\.\d+)?"
_UNIT = rf"(?:[mµn]?s|[kMG]B|%|BLEU|nats|seconds|minutes|hours|h|M words/s|{_CROSS}|times|points|degrees)"
#: A number (or a range of numbers) with a unit, or a number with decimals.
_MEASURED = re.compile(
    rf"(?<![\w./:={_DASH}-])(?:{_NUMBER}(?:\s?(?:to|and|or|[±/{_DASH}])\s?{_NUMBER})*\s{_UNIT}(?![\w-])"
    rf"|{_SIGN}\d[\d,]*\.\d+(?![\w.]))"
)


def documents() -> Iterator[Path]:
    """Yield every document that may show figures."""
    yield ROOT / "README.md"
    yield ROOT / "benchmarks" / "RESULTS.md"
    yield from sorted(RESULTS.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def read_topics(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Read the files of all topics, by name."""
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted((folder or RESULTS).glob("*.toml"))
    }


def fill(text: str, topics: dict[str, dict[str, Any]]) -> str:
    """Return a document with the figures of `topics` at their marks."""
    text = _TEXT.sub(lambda found: found[1] + _find(topics, "text", found[2])["text"] + found[4], text)
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


def digest(table: dict[str, Any]) -> str:
    """Return a digest of the figures of a table."""
    return hashlib.sha256(format_table(table).encode()).hexdigest()[:8]


def unconfirmed(topics: dict[str, dict[str, Any]]) -> list[str]:
    """Return the texts whose tables were recorded anew after they were written."""
    return [
        f"{topic}/{text['id']}"
        for topic, content in topics.items()
        for text in content.get("text", [])
        if text.get("basis", []) != _basis(topics, topic, text)
    ]


def confirm(topic: str, names: list[str]) -> None:
    """Store that texts (all of a topic by default) agree with their tables as they are now."""
    topics = read_topics()
    content = topics[topic]
    for text in content.get("text", []):
        if "basis" in text and (not names or text["id"] in names):
            text["basis"] = _basis(topics, topic, text)
    (RESULTS / f"{topic}.toml").write_text(format_topic(content), encoding="utf-8")


def _basis(topics: dict[str, dict[str, Any]], topic: str, text: dict[str, Any]) -> list[str]:
    names = [entry.split()[0] for entry in text.get("basis", [])]
    return [f"{name} {digest(_find(topics, 'table', f'{topic}/{name}'))}" for name in names]


def unmarked(text: str) -> list[str]:
    """Return the measured figures of a document that have no mark, settings included.

    >>> unmarked("It takes 2.5 s, or <!-- figure: a/b -->3 s<!-- /figure -->, on 2 cores with `--limit 5.5`.")
    ['2.5 s']
    """
    for pattern in _HIDDEN:
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return [" ".join(found[0].split()) for found in _MEASURED.finditer(text)]


def unsourced(path: Path) -> list[str]:
    """Return the measured figures of a document that have no mark and are no settings."""
    lines = (RESULTS / "settings.txt").read_text(encoding="utf-8").splitlines()
    name = path.relative_to(ROOT).as_posix()
    known = {line.partition(": ")[2] for line in lines if line.partition(": ")[0] == name}
    return [figure for figure in unmarked(path.read_text(encoding="utf-8")) if figure not in known]


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
        if "\n" in value:
            return f"'''\n{value}'''"
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
    parser.add_argument("action", choices=["write", "check", "record", "confirm"])
    parser.add_argument("arguments", nargs="*", help="record: TOPIC TABLE -- COMMAND; confirm: TOPIC [TEXT ...]")
    options = parser.parse_args()
    if options.action == "record":
        if len(options.arguments) < 3:
            parser.error("record takes TOPIC TABLE -- COMMAND")
        record(options.arguments[0], options.arguments[1], options.arguments[2:])
    if options.action == "confirm":
        if not options.arguments:
            parser.error("confirm takes TOPIC [TEXT ...]")
        confirm(options.arguments[0], options.arguments[1:])
    topics = read_topics()
    changed = stale(topics)
    if options.action == "check":
        for path in changed:
            print(f"{path.relative_to(ROOT)}: shows other figures than benchmarks/results/*.toml; run: make figures")
        texts, bare = unconfirmed(topics), {path: found for path in documents() if (found := unsourced(path))}
        for text in texts:
            print(
                f"{text}: was written for other figures; read it, then run: figures.py confirm {text.replace('/', ' ')}"
            )
        for path, found in bare.items():
            print(f"{path.relative_to(ROOT)}: has figures without a source: {', '.join(found)}")
        raise SystemExit(1 if changed or texts or bare else 0)
    for path in changed:
        path.write_text(fill(path.read_text(encoding="utf-8"), topics), encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
