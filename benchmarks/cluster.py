"""A local cluster of two processes beside two threads, what communication costs, and what that means for many workers.

    python benchmarks/cluster.py --data DATA --out FOLDER [--lines 300] [--rounds 3]

Tunes on the first lines of Multi30k's val (mert, two iterations), carries out an experiment of two runs and trains on
Multi30k, by two threads and by two workers in turn, and compares what they leave. Then prints constants (processor
seconds and bytes a sentence), and from these the time that 8 to 512 workers would take.
"""

from __future__ import annotations

import argparse
import itertools
import math
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.files import open_output, read_lines
from dragoman.core.runtime import Runtime, Workers, _RemoteTask
from dragoman.core.work.cluster import ClusterWorkers
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Shard, ShardedTranslator, Translator, Work, _Search
from dragoman.training.pipeline import train_model
from dragoman.training.prepare import Preparation, prepare_bitext
from dragoman.translation.stream import Outputs, ShardResults
from dragoman.tuning.methods.mert import Mert
from dragoman.tuning.problems.evidence import DecodeLists
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.loop import Loop
from experiments import multi30k_test, trained_model, write_plan
from quick import parse_arguments

#: What a network carries in a second, on paper: a gigabit.
BANDWIDTH = 117e6
WORKERS = [1, 2, 8, 32, 128, 512]
LIMITS = SearchLimits(pop_limit=200)
#: So often is a text translated one time after the other, so that it is a stream.
TIMES = 20
#: A command that begins a cluster, and has it do something; what the process of which workers are forks takes is the
#: time that a process takes to load Dask, once more.
START = """
import time
begin = time.perf_counter()
from dragoman.core.runtime import Workers
with Workers.of("local:2") as workers:
    list(workers.map(abs, range(2)))
    clock = time.perf_counter() - begin
    print(clock, time.process_time() + sum(workers._client.run(time.process_time).values()))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parse_arguments(parser, "--data {data} --out {out} --lines 10 --rounds 1")
    model = trained_model(arguments.data, arguments.out, "fr-en")
    texts = [shortened(arguments.data, arguments.out, language, arguments.lines) for language in ("fr", "en")]
    found = [subprocess.run([sys.executable, "-c", START], check=True, stdout=subprocess.PIPE) for _ in range(5)]
    starts = [tuple(map(float, one.stdout.split())) for one in found]
    clock, used = (min(column) for column in zip(*starts, strict=True))
    print(f"start-up of local:2, to the first results: {clock:.2f} s ({used:.2f} s of processor)", flush=True)
    with Workers.of("local:2") as cluster:
        list(cluster.map(abs, range(2)))
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
    ways = {"two threads": Runtime(threads=2), "local:2": Runtime(threads=2, workers=cluster)}

    def tune(runtime: Runtime, out: Path) -> None:
        job.run(out, runtime=runtime)

    def experiment(runtime: Runtime, out: Path) -> None:
        Experiment.begin(plan, out).run(runtime=runtime)

    source, target = (arguments.data / f"multi30k/train.{language}.gz" for language in ("fr", "en"))
    prepared = prepare_bitext(source, target, Preparation(), runtime=ways["two threads"])

    def training(runtime: Runtime, out: Path) -> None:
        train_model(prepared, runtime=runtime).model.save(out)

    print("\n| seconds, best of rounds in turn | two threads | local:2 | speed of local:2 |\n|---|---|---|---|")
    for name, work in (("tune --method mert", tune), ("experiment", experiment), ("train", training)):
        clock, processor = alternated(ways, work, arguments.out.resolve() / "work", arguments.rounds)
        for what, times in (("clock", clock), ("processor", processor)):
            # Processes that run an experiment's jobs for threads keep their times to themselves.
            if what == "clock" or work is not experiment:
                threads, local = times["two threads"], times["local:2"]
                print(f"| {name}, {what} | {threads:.1f} | {local:.1f} | {threads / local:.2f} |", flush=True)


def processor_time(workers: Workers) -> float:
    """What this process has used, and the workers of a cluster."""
    others: list[float] = []
    if isinstance(workers, ClusterWorkers):
        others.extend(workers._client.run(time.process_time).values())
    return time.process_time() + sum(others)


def alternated(
    ways: dict[str, Runtime], work: Callable[[Runtime, Path], None], out: Path, rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    best, used = dict.fromkeys(ways, math.inf), dict.fromkeys(ways, math.inf)
    for _ in range(rounds):
        weights = []
        for name, runtime in ways.items():
            shutil.rmtree(out, ignore_errors=True)
            begin, before = time.perf_counter(), processor_time(runtime.workers)
            work(runtime, out)
            best[name] = min(best[name], time.perf_counter() - begin)
            used[name] = min(used[name], processor_time(runtime.workers) - before)
            weights.append([path.read_bytes() for path in sorted(out.rglob("weights.txt"))])
        assert weights[0] == weights[1], "the results differ"
    shutil.rmtree(out, ignore_errors=True)
    return best, used


@dataclass(frozen=True)
class Constants:
    """What a sentence takes: processor seconds of a worker and of client and scheduler, and bytes that come back."""

    worker: float
    client: float
    size: float


def measured(model: Path, source: Path, cluster: Workers) -> dict[str, Constants]:
    """Constants of translating, and of making lists of 100 hypotheses."""
    lines = list(read_lines(source))
    translator = Translator.of(Model.load(model), limits=LIMITS)
    spread = ShardedTranslator(translator, model, runtime=Runtime(workers=cluster))
    shards = list(spread.shards(lines * TIMES))
    works: dict[str, Work[Any]] = {
        "translation": ShardResults(Outputs()),
        "list of 100": DecodeLists(100, False, False),
    }
    found = {}
    assert isinstance(cluster, ClusterWorkers)
    begin = time.process_time()
    futures = [cluster._submit(abs, i) for i in range(300)]
    assert [cluster._result(future) for future in futures] == [*range(300)]
    empty = (time.process_time() - begin) / 300
    print(f"\na task that does nothing, processor of client and scheduler: {empty * 1e3:.2f} ms\n")
    print("| a sentence | worker, ms | client and scheduler, ms | bytes back |\n|---|---|---|---|")
    for name, work in works.items():
        task = pickle.loads(pickle.dumps(_RemoteTask(_Search(translator, model, work))))  # as a worker has it
        next(_repeat(task, shards))  # once before, to load what is needed
        begin = time.process_time()
        once = list(spread.shards(lines))
        size = sum(map(len, _repeat(task, once))) / len(lines)
        worker = (time.process_time() - begin) / len(lines)
        begin = time.process_time()
        assert sum(1 for _ in spread.map(work, shards)) == len(shards)
        client = (time.process_time() - begin) / (TIMES * len(lines))
        found[name] = Constants(worker, client, size)
        print(f"| {name} | {worker * 1e3:.2f} | {client * 1e3:.2f} | {size:,.0f} |", flush=True)
    return found


def _repeat(task: _RemoteTask[Shard, Any], shards: list[Shard]) -> Iterator[bytes]:
    return (pickle.dumps(task(shard)) for shard in shards)


def on_paper(found: dict[str, Constants]) -> None:
    """What workers do is divided; the client and the network work meanwhile, so that whoever takes longest decides."""
    print("\n| workers | a million translations, s | speed-up | lists of 10,000 sentences, s | speed-up |")
    print("|---|---|---|---|---|")
    cases = list(zip(found.values(), (1_000_000, 10_000), strict=True))
    for workers in WORKERS:
        row = [sentences * taken(of, workers) for of, sentences in cases]
        gains = [taken(of, 1) / taken(of, workers) for of, _ in cases]
        print(f"| {workers} | {row[0]:,.0f} | {gains[0]:.1f} | {row[1]:,.1f} | {gains[1]:.1f} |")


def taken(of: Constants, workers: int) -> float:
    """Seconds a sentence."""
    return max(of.worker / workers, of.client, of.size / BANDWIDTH)


if __name__ == "__main__":
    main()
