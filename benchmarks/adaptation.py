"""Systems from corpora of several domains compared (Haddow 2013): BLEU over repeated runs, table 1 and figure 1.

    python benchmarks/adaptation.py --data DATA --out FOLDER [--runs 3] [--figure docs/images/adaptation.svg]

Each of three domains is the in-domain side once: with 2,000 or 500 of its sentence pairs, or all (0), in two languages
and both directions, and with the other two as one corpus (two tables) or two (three tables). Each of these cells is an
experiment (`dragoman experiment`) without a report: systems are trained once, tuned by PRO (pro-mix by PRO-mix), and
translate the domain's test set. What is done is kept, the command goes on where it was stopped, and the table and the
picture are of all cells that are done. Those that say most come first: small sets of the domain, three tables.

To be cheap, tuning sees 500 lines (`--dev-lines`), optimises six times at most (`--iterations`, of 15 by default
elsewhere), and searches, also for the test, have a pop limit of 100 (`--pop-limit`, 400 by default elsewhere).
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from typing import Any, get_args, get_type_hints

import numpy as np

import dragoman as dm
from dragoman.core.files import open_output, read_lines
from dragoman.core.progress import live_progress
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.figures.svg import COLOURS, panel_grid, write_svg
from dragoman.training.adapt import Adaptation
from experiments import mean_text
from quick import parse_arguments

DOMAINS = ("multi30k", "libreoffice", "wesnoth")
PAIRS = ("fr-en", "de-en", "en-fr", "en-de")
SYSTEMS = ("in", "joint", "perp", "uniform", "log-linear", "fill-up", "pro-mix")
SIZES = (2000, 500, 0)
#: The model of pro-mix tuned by minimum risk, which takes several times as long: only if it is asked for.
RISK = "risk-mix"

PLAN = """\
source = "dev.0"
reference = "dev.1"
prepared = true
runs = {runs}
curves = false
loop = {{ iterations = {iterations} }}
search = {{ pop_limit = {pop_limit} }}
adapt = {{ systems = {systems}, tokenised = true, align = "{align}" }}
test = [{{ name = "test", source = "{test[0]}", reference = "{test[1]}" }}]
"""
METHOD = """
[[method]]
name = "{}"
use = "{}"
system = "{}"
"""
CORPUS = """
[[corpus]]
name = "{}"
source = "{}"
target = "{}"
"""


@dataclass(frozen=True)
class Cell:
    """One comparison of all systems; the size is the number of in-domain sentence pairs, 0 is all."""

    size: int
    tables: int
    pair: str
    domain: str

    def __str__(self) -> str:
        return f"{self.pair}-{self.domain}-{self.size or 'all'}-{self.tables}"


def file_of(data: Path, domain: str, part: str, pair: str, side: int) -> Path:
    """A text of a domain: `part` is train, dev or test."""
    language = pair.split("-")[side]
    if domain == "multi30k":
        return data / f"multi30k/{ {'train': 'train', 'dev': 'val', 'test': 'test_2016_flickr'}[part] }.{language}.gz"
    stored = pair if pair.endswith("-en") else "-".join(reversed(pair.split("-")))
    return data / f"{domain}/{part}.{stored}.{language}.gz"


def copied(files: Iterable[Path], count: int, out: Path) -> None:
    """Write the first lines of texts after each other into a file; all of them if the count is 0."""
    lines = islice(chain.from_iterable(map(read_lines, files)), count or None)
    out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def plan_of(arguments: argparse.Namespace, cell: Cell, folder: Path) -> Path:
    """Write the texts and the plan of a cell, unless they are there."""
    data = arguments.data.resolve()

    def texts(part: str, domains: Sequence[str]) -> list[list[Path]]:
        return [[file_of(data, domain, part, cell.pair, side) for domain in domains] for side in (0, 1)]

    others = [domain for domain in DOMAINS if domain != cell.domain]
    corpora = {"in": [cell.domain]} | ({"out": others} if cell.tables == 2 else {other: [other] for other in others})
    models = {name: "pro-mix" if name == RISK else name for name in arguments.systems}
    tuners = {"pro-mix": "pro-mix", RISK: "risk-nbest"}
    text = PLAN.format(
        runs=arguments.runs,
        iterations=arguments.iterations,
        pop_limit=arguments.pop_limit,
        systems=list(dict.fromkeys(models.values())),
        align=arguments.align,
        test=[file for (file,) in texts("test", [cell.domain])],
    )
    text += "".join(METHOD.format(name, tuners.get(name, "pro"), model) for name, model in models.items())
    text += "".join(CORPUS.format(name, f"{name}.0", f"{name}.1") for name in corpora)
    path = folder / "plan.toml"
    if path.exists():
        if path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{folder} was begun with other options; expected the same, or another --out")
        return path
    folder.mkdir(parents=True, exist_ok=True)
    for side, files in enumerate(texts("dev", [cell.domain])):
        copied(files, arguments.dev_lines, folder / f"dev.{side}")
    for name, domains in corpora.items():
        for side, files in enumerate(texts("train", domains)):
            copied(files, cell.size if name == "in" else 0, folder / f"{name}.{side}")
    with open_output(path) as stream:
        stream.write(text.encode())
    return path


def compared(arguments: argparse.Namespace, cell: Cell) -> dict[str, Any]:
    """Carry a cell out, or read what came of it."""
    folder = arguments.out.resolve() / str(cell)
    result, plan = folder / "result.json", plan_of(arguments, cell, folder)
    if result.exists():
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found
    begun = time.monotonic()
    experiment = Experiment.begin(plan, folder / "experiment")
    experiment.run(runtime=Runtime(threads=arguments.threads, progress=live_progress()))
    (test,) = experiment.plan.tests
    runs = {
        method.name: [experiment.folder(method, seed) for seed in experiment.plan.seeds]
        for method in experiment.plan.methods
    }
    outputs = {name: [run / "tests" / test.folder / "final.txt" for run in folders] for name, folders in runs.items()}
    found = {
        **asdict(cell),
        "scores": {
            name: [dm.score(file, test.references[0], "bleu").value for file in files]
            for name, files in outputs.items()
        },
        "order": dm.compare(outputs, test.references[0]).order,
        "phrases_from": [last_event(run).get("phrases_from", {}) for run in runs.get("pro-mix", [])],
        "unchanged": {name: sum(last_event(run).get("unchanged", False) for run in runs[name]) for name in runs},
        "minutes": round((time.monotonic() - begun) / 60, 1),
    }
    with open_output(result) as stream:
        stream.write(json.dumps(found, indent=1).encode())
    shutil.rmtree(folder / "experiment" / "models", ignore_errors=True)  # some gigabytes a cell
    return found


def last_event(run: Path) -> dict[str, Any]:
    """What a run told last."""
    found: dict[str, Any] = json.loads((run / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    return found


def change(result: dict[str, Any], system: str) -> float:
    """How much better a system is than the domain's corpus alone, on average."""
    return fmean(result["scores"][system]) - fmean(result["scores"]["in"])


def print_cell(result: dict[str, Any]) -> None:
    """The scores of one cell."""
    size = f"{result['size']:,}" if result["size"] else "all"
    where = f"{result['pair']}, {result['domain']}, {size} sentence pairs, {result['tables']} tables"
    print(f"\n## {where} ({result['minutes']} minutes)\n")
    print("| system | BLEU | against in | ends as begun |\n|---|---|---|---|")
    for system, values in result["scores"].items():
        unchanged = f"{result['unchanged'][system]} of {len(values)} runs"
        print(f"| {system} | {mean_text(values)} | {change(result, system):+.2f} | {unchanged} |")
    print(f"\n{result['order']}")
    if result["phrases_from"]:
        print(f"phrases from: {result['phrases_from'][0]}", flush=True)


def print_table(results: Sequence[dict[str, Any]], systems: Sequence[str]) -> None:
    """Table 1: mean changes against `in` by the domain, the number of its sentence pairs and the number of tables."""
    print("\n# Mean change against in\n")
    print(f"| domain | pairs | tables | cells | in | {' | '.join(systems)} |\n|{'---|' * (5 + len(systems))}")
    keys = dict.fromkeys((r["domain"], r["size"], r["tables"]) for r in results)
    groups = {key: [r for r in results if (r["domain"], r["size"], r["tables"]) == key] for key in keys}
    for (domain, size, tables), rows in [*groups.items(), (("all", "", ""), list(results))]:
        base = fmean(fmean(r["scores"]["in"]) for r in rows)
        means = " | ".join(f"{fmean(change(r, system) for r in rows):+.2f}" for system in systems)
        print(f"| {domain} | {'all' if size == 0 else size} | {tables} | {len(rows)} | {base:.2f} | {means} |")


def draw(path: Path, results: Sequence[dict[str, Any]], systems: Sequence[str]) -> None:
    """Figure 1: bars of the mean change for each domain and system, a panel for each number of in-domain pairs."""
    sizes = list(dict.fromkeys(r["size"] for r in results))
    figure, axes = panel_grid(len(sizes), columns=len(sizes), size=(4.2, 3.2))
    width = 0.8 / len(systems)
    for ax, size in zip(axes, sizes, strict=True):
        domains = [d for d in DOMAINS if any(r["size"] == size and r["domain"] == d for r in results)]
        for i, system in enumerate(systems):
            changes = [
                [change(r, system) for r in results if (r["size"], r["domain"]) == (size, domain)] for domain in domains
            ]
            places = np.arange(len(domains)) + (i + 0.5) * width - 0.4
            colour = COLOURS[i % len(COLOURS)]
            ax.bar(places, [fmean(values) for values in changes], width * 0.9, color=colour, label=system)
            for place, values in zip(places, changes, strict=True):
                ax.plot([place] * len(values), values, ".", color="black", markersize=3, alpha=0.5)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xticks(range(len(domains)), domains)
        ax.set_title("all pairs of the domain" if size == 0 else f"{size:,} pairs of the domain")
    axes[0].set_ylabel("BLEU against in")
    axes[-1].legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    write_svg(path, figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--domains", nargs="+", default=DOMAINS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--pairs", nargs="+", default=PAIRS)
    parser.add_argument("--tables", nargs="+", type=int, choices=(2, 3), default=(3, 2))
    parser.add_argument(
        "--systems", nargs="+", default=SYSTEMS, choices=(*SYSTEMS, RISK), help="`in` is always among them"
    )
    parser.add_argument("--align", choices=get_args(get_type_hints(Adaptation)["align"]), default=Adaptation().align)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--dev-lines", type=int, default=500, help="tune on so many lines; 0 is all")
    parser.add_argument("--pop-limit", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--figure", type=Path, help="draw figure 1 into this file (SVG)")
    arguments = parse_arguments(
        parser,
        "--data {data} --out {out} --domains multi30k --sizes 50 --pairs fr-en --tables 2 --systems uniform "
        "--runs 1 --iterations 1",
    )
    arguments.systems = list(dict.fromkeys(["in", *arguments.systems]))
    results = []
    for size in arguments.sizes:
        for tables in arguments.tables:
            for pair in arguments.pairs:
                for domain in arguments.domains:
                    results.append(compared(arguments, Cell(size, tables, pair, domain)))
                    print_cell(results[-1])
    others = arguments.systems[1:]
    print_table(results, others)
    if arguments.figure is not None:
        draw(arguments.figure, results, others)


if __name__ == "__main__":
    main()
