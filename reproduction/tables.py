"""Tables of a page: the paper's numbers, ours with the same rows and columns, and tests of differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from reproduction.results import MISSING, Results, sign_flip, standard_error


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def paper_table(paper: Mapping[str, Any]) -> str:
    """Return a table of the paper as its plan has it."""
    title = paper.get("title", "The paper")
    note = f"\n{paper['note'].strip()}\n" if "note" in paper else ""
    return f"{title}:\n\n{markdown(paper['columns'], paper['rows'])}{note}"


def our_table(ours: Mapping[str, Any], results: Results) -> str | None:
    """Return our table, each cell selected by its row and column; None if nothing was run."""
    common = {key: value for key, value in ours.items() if key not in ("title", "corner", "rows", "columns", "note")}
    columns, rows = ours["columns"], ours["rows"]
    cells = [[results.show({**common, **column, **row}) for column in columns] for row in rows]
    if all(cell == MISSING for line in cells for cell in line):
        return None
    names = [ours.get("corner", ""), *(column["label"] for column in columns)]
    table = markdown(names, ([row["label"], *line] for row, line in zip(rows, cells, strict=True)))
    note = f"\n{ours['note'].strip()}\n" if "note" in ours else ""
    return f"{ours.get('title', 'Here')}:\n\n{table}{note}"


def significance(asked: Mapping[str, Any], results: Results) -> str | None:
    """Return tests of differences between systems; `with` keeps pairs with one system, `tests` test sets."""
    rows = results.rows(asked["from"], "pairs")
    tests, system = asked.get("tests"), asked.get("with")
    rows = [row for row in rows if tests is None or row["test set"] in tests]
    rows = [row for row in rows if system is None or system in (row["better"], row["worse"])]
    if not rows:
        return None
    p = next(name for name in rows[0] if "randomisation" in name)
    shown = [(row["test set"], row["better"], row["worse"], f"{float(row['difference']):.2f}", row[p]) for row in rows]
    columns = ["test set", "better", "worse", "difference", "p (approximate randomisation, stratified over runs)"]
    return f"Differences, {asked['from']}:\n\n{markdown(columns, shown)}"


def comparison(asked: Mapping[str, Any], results: Results) -> str | None:
    """Return differences of means over runs, beside their standard errors: of cells `a` and `b` of each row."""
    common = {key: value for key, value in asked.items() if key not in ("title", "rows")}
    lines = []
    for row in asked["rows"]:
        first, second = (results.numbers({**common, **row[side]}) for side in ("a", "b"))
        if first and second:
            difference, error = fmean(first) - fmean(second), standard_error(first, second)
            ratio = f"{difference / error:+.1f}" if error else MISSING
            lines.append([row["label"], f"{difference:+.2f}", f"{error:.2f}", ratio])
    columns = ["", "difference", "standard error", "in standard errors"]
    return f"{asked['title']}:\n\n{markdown(columns, lines)}" if lines else None


def pooled(asked: Mapping[str, Any], results: Results) -> str | None:
    """Return one test over experiments for each pair of methods: signs of the differences of means are changed."""
    lines = []
    for first, second in asked["pairs"]:
        differences = []
        for name in asked["from"]:
            cell = {"from": name, "test set": asked["test set"]}
            a, b = (results.numbers({**cell, "method": method}) for method in (first, second))
            if a and b:
                differences.append(fmean(a) - fmean(b))
        if differences:
            above = f"{sum(difference > 0 for difference in differences)} of {len(differences)}"
            lines.append([first, second, f"{fmean(differences):+.2f}", above, f"{sign_flip(differences):.4f}"])
    columns = ["", "against", "mean difference", "cells above", "p (exact, signs of the cells' differences changed)"]
    return f"{asked['title']}:\n\n{markdown(columns, lines)}" if lines else None


def listing(asked: Mapping[str, Any], results: Results) -> str | None:
    """Return rows of a file as they are: some columns, or with `pivot` a column for each value of one of them."""
    rows = results.select({"from": asked["from"], "file": asked["file"], **asked.get("where", {})})
    if not rows:
        return None
    if "pivot" in asked:
        line, column, value, *more = asked["pivot"]
        names = list(dict.fromkeys(row[column] for row in rows))
        cells: dict[str, dict[str, str]] = {}
        for row in rows:
            cells.setdefault(row[line], {name: row[name] for name in more})[row[column]] = row[value]
        shown = [[key, *(found.get(name, MISSING) for name in [*names, *more])] for key, found in cells.items()]
        return f"{asked['title']}:\n\n{markdown([line, *names, *more], shown)}"
    columns = asked["columns"]
    return f"{asked['title']}:\n\n{markdown(columns, ([row[name] for name in columns] for row in rows))}"


_KINDS = {
    "ours": our_table,
    "comparison": comparison,
    "pooled": pooled,
    "listing": listing,
    "significance": significance,
}


def tables(plan: Mapping[str, Any], results: Results) -> Iterator[str]:
    """Yield the parts of a plan's section that are tables."""
    for paper in plan.get("paper", []):
        yield paper_table(paper)
    for key, make in _KINDS.items():
        for asked in plan.get(key, []):
            found = make(asked, results)
            if found is not None:
                yield found
