"""Speed beside Moses, Moses2 and fast_align, through a yardstick that holds on any machine.

    python benchmarks/yardstick.py --data ../shared/data --models models [--rounds 5]
    python benchmarks/yardstick.py --data ../shared/data --models models --curves [--picture cube-curves.svg]

The yardstick Y is a fixed workload of KenLM (120 passes of an order-3 model over the 29,000 English captions), which
everybody can run. The peers were timed as multiples of Y in one run on a quiet machine; here Y and Dragoman are timed
alternately, and each takes its best round: user CPU of one thread, loading left out. Multiples are good to 15 to 20 %.
The last rows are how many times as fast two threads are by the clock.
`--curves` compares cube pruning at the same mean score: for each point of Moses2, the first pop limit of ours that does
not score less; for hierarchical models the same beside Moses, over the sentences without unknown words. Pop limit 1 is
what is spent outside the search. A machine with a load above 1.5 is refused, or, with `--busy`, the result is marked.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import kenlm
from matplotlib.figure import Figure

from dragoman.core.runtime import Runtime
from dragoman.evaluation.figures.svg import figure_svg
from dragoman.model.bundle import Model
from dragoman.model.moses import import_moses
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import Translator
from quick import parse_arguments

#: Multiples of Y of the peers, one thread on a quiet machine, with the command's input as here.
PEERS = {
    "phrase-based, cube 400, 1,000 sentences": {"Moses": 2.79, "Moses2": 0.99},
    "phrase-based, stack 200, 250 sentences": {"Moses": 5.36, "Moses2": 2.05},
    "hierarchical, cube 200, 250 sentences": {"Moses": 2.17},
    "hierarchical, incremental 200, 250 sentences": {"Moses": 1.09},
    "training, 29,000 pairs": {"Moses, fast_align, lmplz": 15.67},
}

#: Moses2 with cube pruning, 1,000 sentences: seconds by pop limit where Y took 3.93 s, and the mean score.
CURVE_SECONDS = 3.93
CURVE = {
    20: (0.38, -24.68758),
    50: (0.70, -24.67598),
    100: (1.27, -24.67378),
    200: (2.08, -24.67288),
    400: (3.88, -24.67216),
    1000: (8.61, -24.67196),
}

#: Moses2 with pop limit 1, in seconds like these.
FLOOR_SECONDS = 0.35

#: Pop limits of ours that are compared with them.
POP_LIMITS = (1, 4, 6, 8, 9, 10, 14, 20, 24, 28, 36, 50, 70, 84, 100, 200, 400, 1000, 2000)

#: Moses on the first 250 sentences: multiples of Y, and the mean score of those without unknown words; Moses adds 2.4.
CHART_PEERS = {"Moses, hierarchical cube 200": (2.17, 1.30701), "Moses, hierarchical incremental 200": (1.09, 1.31010)}
CHART_POP_LIMITS = (20, 24, 30, 36, 40, 50, 60, 80, 100, 150, 200)

#: What is timed with one thread and with two, and how many times as fast Moses2 is with two.
THREADED = {
    "two threads by the clock, cube 400": "Moses2 2.00",
    "two threads by the clock, stack 200": "",
    "two threads by the clock, hierarchical cube 200": "",
}

#: Returns the mean model score of what was translated, if any.
Work = Callable[[], float | None]


def read_lines(path: Path) -> list[str]:
    """Return the lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return stream.read().split("\n")[:-1]


def user_seconds(work: Work) -> tuple[float, float | None]:
    """Return the user CPU that some work took, of child processes too, and what it returned."""

    def used() -> float:
        return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

    before = used()
    result = work()
    return used() - before, result


def clock_seconds(work: Work) -> tuple[float, float | None]:
    """Return the time that some work took by the clock, and what it returned."""
    before = time.monotonic()
    result = work()
    return time.monotonic() - before, result


def kenlm_work(data: Path, folder: Path, passes: int) -> Work:
    """Return the workload of the yardstick."""
    arpa = folder / "lm3.arpa"
    with gzip.open(data / "moses" / "fr-en" / "lm3.arpa.gz") as stream:
        arpa.write_bytes(stream.read())
    model, lines = kenlm.Model(str(arpa)), read_lines(data / "multi30k" / "train.en.gz")

    def work() -> None:
        for _ in range(passes):
            for line in lines:
                model.score(line)

    return work


def load(data: Path, models: Path, kind: str, weights: str) -> Model:
    """Load a model of Moses, imported once."""
    folder = models / f"{kind}.fr-en.{weights}"
    if not folder.exists():
        import_moses(data / kind / "fr-en" / f"moses.{weights}.ini").save(folder)
    return Model.load(folder)


def search_work(
    model: Model, lines: list[str], limits: SearchLimits, space: SpaceLimits, *, threads: int = 1, known: bool = False
) -> Work:
    """Return the translation of some lines, with the mean score of all, or of those without unknown words."""
    runtime = Runtime(threads=threads)
    translator = Translator.of(model, model.weights, limits=limits, space=space, runtime=runtime)

    def work() -> float:
        found = list(translator.translate(lines))
        if known:
            found = [one for one in found if one.tree and not any(rule.unknown for _, rule in one.tree.rules())]
        return sum(translation.score for translation in found) / max(1, len(found))

    return work


def training_work(data: Path, folder: Path) -> Work:
    """Return the whole training of a phrase-based model by the command."""
    for side in ("fr", "en"):
        lines = read_lines(data / "multi30k" / f"train.{side}.gz")
        (folder / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "dragoman.cli.main", "train", "--tokenised", "--threads", "1", "--force"]
    command += ["--source", str(folder / "fr"), "--target", str(folder / "en"), "--out", str(folder / "model")]
    command += ["--preset", "moses"]

    def work() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return work


def measure(
    works: dict[str, Work], rounds: int, timer: Callable[[Work], tuple[float, float | None]] = user_seconds
) -> dict[str, tuple[float, float | None]]:
    """Do all works alternately; return the least seconds of each, and its result."""
    best: dict[str, tuple[float, float | None]] = {}
    for _ in range(rounds):
        for name, work in works.items():
            timed = timer(work)
            best[name] = min(best.get(name, timed), timed, key=lambda one: one[0])
    return best


#: A pop limit, the time in units of Y, and the mean score.
Point = tuple[int, float, float]


def points(best: dict[str, tuple[float, float | None]], prefix: str, limits: Sequence[int], yard: float) -> list[Point]:
    """Return our points of a curve."""
    found = [(limit, best[f"{prefix} {limit}"]) for limit in limits]
    return [(limit, seconds / yard, score or 0.0) for limit, (seconds, score) in found]


def print_curves(phrases: list[Point], charts: list[Point], picture: Path | None) -> None:
    """Print our points, and the speed at the score of each point of a peer; draw those of phrase-based models."""
    theirs = [(limit, seconds / CURVE_SECONDS, score) for limit, (seconds, score) in CURVE.items()]
    print("| model | pop limit | Y | mean score |\n|---|---|---|---|")
    for kind, curve in (("phrase-based", phrases), ("hierarchical", charts)):
        for limit, needed, score in curve:
            print(f"| {kind} | {limit:,} | {needed:.3f} | {score:.5f} |")
    print("\n| peer | Y | mean score | Dragoman, pop limit | Y | mean score | times as fast |")
    print("|---|---|---|---|---|---|---|")
    for limit, needed, score in theirs:
        print_faster(f"Moses2, pop limit {limit:,}", needed, score, phrases)
    for name, (needed, score) in CHART_PEERS.items():
        print_faster(name, needed, score, charts)
    floor, own = FLOOR_SECONDS / CURVE_SECONDS, phrases[0]
    print(f"| Moses2, pop limit 1 | {floor:.3f} | | 1 | {own[1]:.3f} | {own[2]:.5f} | {floor / own[1]:.1f} |")
    if picture is not None:
        beaten = [point for point in phrases if point[2] >= min(score for _, _, score in theirs) - 0.002]
        picture.write_text(figure_svg(draw({"Dragoman": beaten, "Moses2": theirs})), encoding="utf-8")


def print_faster(peer: str, needed: float, score: float, ours: list[Point]) -> None:
    """Print a peer's point beside the fastest of ours that does not score less."""
    equal = min((point for point in ours if round(point[2], 5) >= score), key=lambda point: point[1], default=None)
    cells = "none | | | "
    if equal is not None:
        cells = f"{equal[0]:,} | {equal[1]:.3f} | {equal[2]:.5f} | {needed / equal[1]:.1f}"
    print(f"| {peer} | {needed:.3f} | {score:.5f} | {cells} |")


def draw(curves: dict[str, list[tuple[int, float, float]]]) -> Figure:
    """Draw mean scores against times, with the pop limits at the points."""
    figure = Figure(figsize=(7, 4), layout="tight")
    axes = figure.add_subplot()
    for name, points in curves.items():
        _, times, scores = zip(*points, strict=True)
        axes.plot(times, scores, marker="o", markersize=3, label=name)
        for limit, needed, score in points:
            axes.annotate(str(limit), (needed, score), fontsize=7, textcoords="offset points", xytext=(3, -8))
    axes.set_xscale("log")
    axes.set_xlabel("user CPU for 1,000 sentences, in units of the yardstick")
    axes.set_ylabel("mean model score")
    axes.set_ylim(bottom=min(score for _, _, score in curves["Moses2"]) - 0.002)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    return figure


def main() -> None:
    """Print the table, or curves of mean score against time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=Path, required=True, help="where imported models are kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--curves", action="store_true", help="mean score against time by pop limit, beside Moses2")
    parser.add_argument("--picture", type=Path, help="where to draw the curves")
    parser.add_argument("--busy", action="store_true", help="go on although the machine is busy, and mark the result")
    parser.add_argument("--passes", type=int, default=120, help="passes of KenLM; figures of the peers are for 120")
    options = parse_arguments(parser, "--data {hiero} --models {out} --rounds 1 --passes 2 --busy")
    load_before = os.getloadavg()[0]
    if load_before > 1.5 and not options.busy:
        raise SystemExit(f"the load of this machine is {load_before:.1f}; expected at most 1.5, or --busy")
    test = read_lines(options.data / "multi30k" / "test_2016_flickr.fr.gz")
    space = SpaceLimits(reordering_limit=6, table_limit=20, table_limit_by="score")
    phrases = load(options.data, options.models, "moses", "tuned")
    by_score = SpaceLimits(table_limit_by="score")
    rules = load(options.data, options.models, "hiero", "untuned")
    tasks = {
        "cube": (phrases, test, SearchLimits(pop_limit=400), space),
        "stack": (phrases, test[:250], SearchLimits(algorithm="stack", stack_size=200), space),
        "chart": (rules, test[:250], SearchLimits(pop_limit=200), by_score),
        "incremental": (rules, test[:250], SearchLimits(algorithm="incremental", pop_limit=200), by_score),
    }
    clock: dict[str, tuple[float, float | None]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works: dict[str, Work] = {"yardstick": kenlm_work(options.data, folder, options.passes)}
        if options.curves:
            for limit in POP_LIMITS:
                works[f"phrases {limit}"] = search_work(phrases, test, SearchLimits(pop_limit=limit), space)
            for limit in CHART_POP_LIMITS:
                limits = SearchLimits(pop_limit=limit)
                works[f"charts {limit}"] = search_work(rules, test[:250], limits, by_score, known=True)
        else:
            values = [*(search_work(*task) for task in tasks.values()), training_work(options.data, folder)]
            works |= dict(zip(PEERS, values, strict=True))
        best = measure(works, options.rounds)
        if not options.curves:
            threaded = dict(zip(THREADED, tasks.values(), strict=False))
            both = {f"{what} {n}": search_work(*task, threads=n) for what, task in threaded.items() for n in (1, 2)}
            clock = measure(both, options.rounds, clock_seconds)
    yard = best.pop("yardstick")[0]
    busy = "**busy machine**, " if load_before > 1.5 else ""
    print(f"{busy}load {load_before:.1f} at the start, Y {yard:.2f} s\n")
    if options.curves:
        ours = points(best, "phrases", POP_LIMITS, yard), points(best, "charts", CHART_POP_LIMITS, yard)
        print_curves(*ours, options.picture)
        return
    print("| what | s | Y | peer, Y | times as fast |\n|---|---|---|---|---|")
    for what, peers in PEERS.items():
        seconds = best[what][0]
        theirs = ", ".join(f"{peer} {multiple:.2f}" for peer, multiple in peers.items())
        ratios = ", ".join(f"{multiple * yard / seconds:.1f}" for multiple in peers.values())
        print(f"| {what} | {seconds:.2f} | {seconds / yard:.2f} | {theirs} | {ratios} |")
    for what, peer in THREADED.items():
        one, two = clock[f"{what} 1"][0], clock[f"{what} 2"][0]
        print(f"| {what} | {two:.2f} | {two / yard:.2f} | {peer} | {one / two:.2f} |")


if __name__ == "__main__":
    main()
