"""A local cluster of two processes beside two threads, what communication costs, and what that means for many workers.

    python benchmarks/cluster.py --data DATA --out FOLDER [--lines 300] [--rounds 3]

Tunes on the first lines of Multi30k's val (mert, two iterations) and carries out an experiment of two runs, by two
threads and by two workers in turn, and compares what they leave. Then prints constants (seconds a task, bytes and
seconds a sentence), and from these the time that 8 to 512 workers would take.
"""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.files import open_output, read_lines
from dragoman.core.work.cluster import ClusterWorkers
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.model.bundle import Model
from dragoman.search.kept import Keep, kept
from dragoman.search.limits import SearchLimits
from dragoman.search.spread import Recipe, Spread, _Task
from dragoman.search.translator import BATCH, Translator
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.problems.nbest_evidence import DecodeLists
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.loop import Loop
from experiments import multi30k_test, trained_model, write_plan

#: What a network carries in a second, on paper: a gigabit.
BANDWIDTH = 117e6
WORKERS = [1, 2, 8, 32, 128, 512]
LIMITS = SearchLimits(pop_limit=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    model = trained_model(arguments.data, arguments.out, "fr-en")
    texts = [shortened(arguments.data, arguments.out, language, arguments.lines) for language in ("fr", "en")]
    begin = time.perf_counter()
    with Workers.of("local:2") as cluster:
        list(cluster.map(abs, range(2)))
        clock, used = time.perf_counter() - begin, processor_time(cluster)
        print(
            f"start-up of local:2, to the first results: {clock:.2f} s (processor of all three: {used:.2f} s)",
            flush=True,
        )
        ratios(arguments, model, texts, cluster)
        constants = measured(model, texts[0], cluster)
    on_paper(constants)


def shortened(data: Path, out: Path, language: str, lines: int) -> Path:
    path = out.resolve() / f"val.{language}"
    with open_output(path) as stream:
        for line in itertools.islice(read_lines(data / f"multi30k/val.{language}.gz"), lines):
            stream.write(f"{line}\n".encode())
    return path


def ratios(arguments: argparse.Namespace, model: Path, texts: list[Path], cluster: Workers) -> None:
    job = Job(model, texts[0], (texts[1],), Mert(), loop=Loop(iterations=2), limits=LIMITS, prepared=True)
    plan = write_plan(
        arguments.out.resolve(),
        "cluster",
        [
            '[[method]]\nname = "mert"\n\n[loop]\niterations = 1\n\n',
            multi30k_test("test_2016_flickr", arguments.data, "fr-en"),
        ],
        model=model,
        data=arguments.data,
        pair="fr-en",
        runs=2,
    )
    text = plan.read_text(encoding="utf-8")
    for path in texts:
        text = text.replace(f"{arguments.data.resolve()}/multi30k/{path.name}.gz", str(path))
    plan.write_text(text, encoding="utf-8")
    ways = {"two threads": ThreadWorkers(2), "local:2": cluster}

    def tune(workers: Workers, out: Path) -> None:
        job.run(out, threads=2, workers=workers)

    def experiment(workers: Workers, out: Path) -> None:
        Experiment.begin(plan, out).run(workers=workers)

    print("\n| seconds, best of rounds in turn | two threads | local:2 | speed of local:2 |\n|---|---|---|---|")
    for name, work in (("tune --method mert", tune), ("experiment", experiment)):
        clock, processor = alternated(ways, work, arguments.out.resolve() / "work", arguments.rounds)
        for what, times in (("clock", clock), ("processor", processor)):
            # Processes that run an experiment's jobs for threads keep their times to themselves.
            if what == "clock" or work is tune:
                threads, local = times["two threads"], times["local:2"]
                print(f"| {name}, {what} | {threads:.1f} | {local:.1f} | {threads / local:.2f} |", flush=True)


def processor_time(workers: Workers) -> float:
    """What this process has used, and the workers of a cluster."""
    others = workers._client.run(time.process_time).values() if isinstance(workers, ClusterWorkers) else []
    return time.process_time() + sum(others)


def alternated(
    ways: dict[str, Workers], work: Callable[[Workers, Path], None], out: Path, rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    best, used = dict.fromkeys(ways, math.inf), dict.fromkeys(ways, math.inf)
    for _ in range(rounds):
        weights = []
        for name, workers in ways.items():
            shutil.rmtree(out, ignore_errors=True)
            begin, before = time.perf_counter(), processor_time(workers)
            work(workers, out)
            best[name] = min(best[name], time.perf_counter() - begin)
            used[name] = min(used[name], processor_time(workers) - before)
            weights.append([path.read_bytes() for path in sorted(out.rglob("weights.txt"))])
        assert weights[0] == weights[1], "the results differ"
    shutil.rmtree(out, ignore_errors=True)
    return best, used


@dataclass(frozen=True)
class Constants:
    """What things take: seconds a task and a sentence, bytes a sentence that are sent back."""

    task: float
    search: float
    text_bytes: float
    list_bytes: float
    unpack: float


def measured(model: Path, source: Path, cluster: Workers) -> Constants:
    lines = list(read_lines(source))
    translator = Translator.of(Model.load(model), limits=LIMITS)
    spread = Spread(translator, cluster, model)
    portions = list(spread.portions(lines))
    recipe = Recipe.of(translator, model)
    sizes = {}
    for name, work in (("text", Keep()), ("list", DecodeLists(100, False, False))):
        begin = time.process_time()
        sizes[name] = sum(len(_Task(recipe, work)(portion)) for portion in portions) / len(lines)
        used = (time.process_time() - begin) / len(lines)
    begin = time.perf_counter()
    count = 1000
    assert sum(1 for _ in cluster.map(abs, range(count), window=64)) == count
    task = (time.perf_counter() - begin) / count
    begin = time.process_time()
    assert sum(len(part) for part in kept(spread, Keep(), lines)) == len(lines)
    unpack = (time.process_time() - begin) / len(lines)
    print(f"\n| constant | value |\n|---|---|\n| a task, through scheduler and client | {task * 1e3:.1f} ms |")
    print(f"| a translation that comes back | {sizes['text']:,.0f} bytes |")
    print(f"| a list of 100 hypotheses | {sizes['list']:,.0f} bytes |")
    print(f"| searching and listing a sentence, processor | {used * 1e3:.1f} ms |")
    print(f"| the client's part for a translation, processor | {unpack * 1e3:.2f} ms |", flush=True)
    return Constants(task, used, sizes["text"], sizes["list"], unpack)


def on_paper(of: Constants) -> None:
    """What is done by workers is divided, what goes through the client and the network is not."""
    print("\n| workers | a million translations, s | speed-up | lists of 10,000 sentences, s | speed-up |")
    print("|---|---|---|---|---|")
    rows = [(workers, *paper(of, workers)) for workers in WORKERS]
    _, first_texts, first_lists = rows[0]
    for workers, texts, lists in rows:
        print(f"| {workers} | {texts:,.0f} | {first_texts / texts:.1f} | {lists:,.1f} | {first_lists / lists:.1f} |")


def paper(of: Constants, workers: int) -> Iterator[float]:
    for sentences, size in ((1_000_000, of.text_bytes), (10_000, of.list_bytes)):
        divided = sentences * of.search / workers
        client = sentences * max(of.task / BATCH + of.unpack, size / BANDWIDTH)
        yield max(divided, client)  # the client works while workers do: whoever takes longer decides


if __name__ == "__main__":
    main()
