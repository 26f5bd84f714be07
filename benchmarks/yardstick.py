"""Speed beside Moses, Moses2 and fast_align, through a yardstick that holds on any machine.

    python benchmarks/yardstick.py --data ../shared/data --models models [--curves] [--rounds 5]

The yardstick Y is a fixed workload of KenLM (120 passes of an order-3 model over the 29,000 English captions), which
everybody can run. The peers were timed as multiples of Y in one run on a quiet machine; here Y and Dragoman are timed
alternately, and each takes its best round: user CPU of one thread, loading left out. Multiples are good to 15 to 20 %.
A machine with a load above 1.5 is refused, or, with `--busy`, the result is marked.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import kenlm

from dragoman.core.runtime import Runtime
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


def search_work(model: Model, lines: list[str], limits: SearchLimits, space: SpaceLimits) -> Work:
    """Return the translation of some lines."""
    translator = Translator.of(model, model.weights, limits=limits, space=space, runtime=Runtime(threads=1))

    def work() -> float:
        return sum(translation.score for translation in translator.translate(lines)) / len(lines)

    return work


def training_work(data: Path, folder: Path) -> Work:
    """Return the whole training of a phrase-based model by the command."""
    for side in ("fr", "en"):
        lines = read_lines(data / "multi30k" / f"train.{side}.gz")
        (folder / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "dragoman.cli.main", "train", "--tokenised", "--threads", "1", "--force"]
    command += ["--source", str(folder / "fr"), "--target", str(folder / "en"), "--out", str(folder / "model")]

    def work() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return work


def measure(works: dict[str, Work], rounds: int) -> dict[str, tuple[float, float | None]]:
    """Do all works alternately; return the least seconds of each, and its result."""
    best: dict[str, tuple[float, float | None]] = {}
    for _ in range(rounds):
        for name, work in works.items():
            timed = user_seconds(work)
            best[name] = min(best.get(name, timed), timed, key=lambda one: one[0])
    return best


def main() -> None:
    """Print the table, or curves of mean score against time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=Path, required=True, help="where imported models are kept")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--curves", action="store_true", help="mean score against time by pop limit, beside Moses2")
    parser.add_argument("--busy", action="store_true", help="go on although the machine is busy, and mark the result")
    parser.add_argument("--passes", type=int, default=120, help="passes of KenLM; figures of the peers are for 120")
    options = parse_arguments(parser, "--data {hiero} --models {out} --rounds 1 --passes 2 --busy")
    load_before = os.getloadavg()[0]
    if load_before > 1.5 and not options.busy:
        raise SystemExit(f"the load of this machine is {load_before:.1f}; expected at most 1.5, or --busy")
    test = read_lines(options.data / "multi30k" / "test_2016_flickr.fr.gz")
    space = SpaceLimits(reordering_limit=6, table_limit=20, table_limit_by="score")
    phrases = load(options.data, options.models, "moses", "tuned")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        works: dict[str, Work] = {"yardstick": kenlm_work(options.data, folder, options.passes)}
        if options.curves:
            for limit in CURVE:
                works[str(limit)] = search_work(phrases, test, SearchLimits(pop_limit=limit), space)
        else:
            rules = load(options.data, options.models, "hiero", "untuned")
            by_score = SpaceLimits(table_limit_by="score")
            incremental = SearchLimits(algorithm="incremental", pop_limit=200)
            values = [
                search_work(phrases, test, SearchLimits(pop_limit=400), space),
                search_work(phrases, test[:250], SearchLimits(algorithm="stack", stack_size=200), space),
                search_work(rules, test[:250], SearchLimits(pop_limit=200), by_score),
                search_work(rules, test[:250], incremental, by_score),
                training_work(options.data, folder),
            ]
            works |= dict(zip(PEERS, values, strict=True))
        best = measure(works, options.rounds)
    yard = best.pop("yardstick")[0]
    busy = "**busy machine**, " if load_before > 1.5 else ""
    print(f"{busy}load {load_before:.1f} at the start, Y {yard:.2f} s\n")
    if options.curves:
        print("| pop limit | Dragoman, Y | mean score | Moses2, Y | mean score |\n|---|---|---|---|---|")
        for limit, (seconds, score) in CURVE.items():
            ours, ours_score = best[str(limit)]
            print(f"| {limit:,} | {ours / yard:.3f} | {ours_score:.5f} | {seconds / CURVE_SECONDS:.3f} | {score:.5f} |")
        return
    print("| what | s | Y | peer, Y | times as fast |\n|---|---|---|---|---|")
    for what, peers in PEERS.items():
        seconds = best[what][0]
        theirs = ", ".join(f"{peer} {multiple:.2f}" for peer, multiple in peers.items())
        ratios = ", ".join(f"{multiple * yard / seconds:.1f}" for multiple in peers.values())
        print(f"| {what} | {seconds:.2f} | {seconds / yard:.2f} | {theirs} | {ratios} |")


if __name__ == "__main__":
    main()
