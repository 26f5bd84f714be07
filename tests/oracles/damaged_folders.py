"""Folders of runs, experiments and checkpoints that can be damaged, each with what is made of it afterwards."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.errors import DragomanError
from dragoman.core.runtime import Runtime, ThreadWorkers
from dragoman.core.workspace import Workspace
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.results import ExperimentTranslations, TuningResults
from dragoman.evaluation.statistics.run_evidence import RunEvidence
from dragoman.model.bundle import Model
from dragoman.search.translator import Translator
from dragoman.serve.limits import RequestError
from dragoman.serve.runs import Runs
from dragoman.training.mix import Mixing, mix_models
from dragoman.training.pipeline import train_model
from dragoman.training.prepare import PreparedText
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import Job
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Run
from oracles.phrase_space import random_model, random_sentence
from oracles.phrase_table import random_bitext

#: Runs of every kind: what they keep, the method, its options, and how they decode.
RUNS = {
    "lists": ("mert", {"restarts": 1}, {"nbest": 8}),
    "hypergraphs": ("mert", {"restarts": 1}, {"evidence": "hypergraph", "density": 5}),
    "references": ("likelihood", {"iterations": 3}, {"density": 10}),
    "mixtures": ("pro-mix", {}, {"nbest": 8}),
    "pools": ("samplerank", {"epochs": 3, "pool": 8}, {}),
    "workers": ("mira-online", {"passes": 3}, {}),
    "ascent": ("risk-sentence", {"updates": 6, "evaluate_every": 2, "samples": 10}, {}),
}

#: What can happen to a file; those that are more likely stand there twice.
WAYS = ("bit", "bit", "byte", "digit", "digit", "cut", "empty", "gone", "swap", "copy", "zeros", "longer")

PLAN = """
model = "{model}"
source = "dev.s"
reference = "dev.t"
runs = 1
prepared = true
loop = {{ iterations = 2 }}
decoding = {{ nbest = 8 }}

[[method]]
name = "mert"
options = {{ restarts = 1 }}

[[method]]
name = "mira-online"
options = {{ passes = 1 }}

[[test]]
name = "test"
source = "dev.s"
reference = "dev.t"

[[decision]]
name = "best"
use = "max-derivation"

[[decision]]
name = "mbr"
use = "mbr"
evidence = "nbest"
scales = [0.5, 1]
"""


@dataclass(frozen=True)
class Subject:
    """A folder to damage, and what reads it or goes on with it: a result that can be compared.

    Where there are no checksums, as in folders of older versions, another result is no fault.
    """

    name: str
    folder: Path
    use: object
    older: bool = False


class Here(ThreadWorkers):
    """Does long jobs in this process, one after the other."""

    def run_all(self, jobs, watch, *, threads=1):
        failed = {}
        for name, job in jobs.items():
            try:
                job()
            except DragomanError as error:
                failed[name] = error
        watch()
        return failed


def tiny_texts(work):
    """Write a model that translates at once, one that mixes two, and a tuning set for them."""
    rng = np.random.default_rng(5)
    first, second = random_model(rng), random_model(rng)
    first.save(work / "model")
    mix_models({"in": first, "out": second}, Mixing(weights="uniform", keep_components=True)).save(work / "mixed")
    lines = [random_sentence(np.random.default_rng(i), 4) for i in range(5)]
    flat = first.weights.updated({name: value / 3 for name, value in first.weights.items() if name.startswith("tm")})
    translations = [found.text for found in Translator.of(first, flat).translate(lines)]
    (work / "dev.s").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (work / "dev.t").write_text("".join(f"{line} z\n" for line in translations), encoding="utf-8")


def run_subjects(work, kinds=tuple(RUNS)):
    """Runs of every kind, that have ended or were killed midway, and as an older version would have left them."""
    for kind in kinds:
        method, options, decoding = RUNS[kind]
        job = Job(
            model=work / ("mixed" if kind == "mixtures" else "model"),
            source=work / "dev.s",
            references=(work / "dev.t",),
            tuner=TUNERS.get(method).from_dict(options),
            loop=Loop(iterations=3, minimum_change=0),
            decoding=Decoding.from_dict(decoding),
            prepared=True,
        )
        use = _RunUse(job)
        ended, midway, older = (work / kind / name / "run" for name in ("ended", "midway", "older"))
        job.run(ended)
        shutil.copytree(ended, midway)
        Run(midway).cut_back(len(Run(midway).events()) - 1)
        shutil.copytree(midway, older)
        make_older(older)
        yield Subject(f"{kind}, ended", ended, use)
        yield Subject(f"{kind}, midway", midway, use)
        yield Subject(f"{kind}, older", older, use, older=True)


def make_older(folder):
    """Take the checksums out of a run's log."""
    file = folder / "events.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    texts = [json.dumps({key: row[key] for key in row if key not in ("files", "checksum")}) for row in rows]
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


@dataclass(frozen=True)
class _RunUse:
    """Reads a run as `--weights`, the service and a picture do, and goes on with it; each may refuse by itself.

    A log that ends early is that of a run which has not got so far: fewer events are the same ones.
    """

    job: Job

    def __call__(self, folder):
        model = Model.load(self.job.model)
        runs = Runs(folder.parent)
        return {
            "weights": attempt(lambda: dict(model.read_weights(folder))),
            "told": attempt(lambda: [json.dumps(event) for event in Run(folder).events()]),
            "served": attempt(lambda: len(runs.all()) + bool(runs.one(folder.name)) and None),
            "end": attempt(lambda: self._end(folder)),
        }

    def _end(self, folder):
        run = self.job.run(folder)
        events = [{k: v for k, v in event.items() if k != "seconds"} for event in run.events()]
        weights = [run.weights(i).format() for i in range(len(events) + 1)]
        return events, weights, (folder / "weights.txt").read_bytes(), run.final_report()


def experiment_subjects(work):
    """An experiment that has ended, with decisions and curves."""
    plan = work / "plan.toml"
    plan.write_text(PLAN.format(model=work / "model"), encoding="utf-8")
    folder = work / "experiment" / "out"

    def use(folder):
        return {"end": attempt(lambda: _experiment_end(plan, folder))}

    _experiment_end(plan, folder)
    yield Subject("experiment", folder, use)


def _experiment_end(plan, folder):
    experiment = Experiment.begin(plan, folder)
    experiment.run(runtime=Runtime(workers=Here()))
    translated, tuned = ExperimentTranslations(experiment), TuningResults(experiment)
    test = experiment.plan.tests[0]
    measured = translated.statistics(test, "bleu")
    found = {system.name: measured.scores(system).tolist() for system in measured.systems}
    for method in experiment.plan.methods:
        run = tuned.best_run(method)
        found[f"curve {method.name}"] = [translated.curve(method, test).tolist(), tuned.curve(method).tolist()]
        found[f"weights {method.name}"] = dict(run.weights()), tuned.unchanged(method).tolist(), run.final_report()
        if isinstance(method.tuner, Tuner):
            evidence = RunEvidence.read(run.folder)
            found[f"problem {method.name}"] = evidence.problem.objective(evidence.vector(run.weights()))
    found["scales"] = [
        (chosen.scale, chosen.scores) for system in measured.systems for chosen in translated.scales(system)
    ]
    return found


def checkpoint_subjects(work):
    """What a training that was killed left of its links and its table, or grammar."""
    bitext = random_bitext(np.random.default_rng(7), 30, words=8, longest=5, links=0.9)[0]
    whole = work / "checkpoint" / "whole"

    def use(folder):
        return {
            "end": attempt(lambda: _trained(bitext, folder.parent / "model", StageCheckpoint(folder.parent / "model")))
        }

    checkpoint = StageCheckpoint(whole / "model")
    _trained(bitext, whole / "model", checkpoint)
    yield Subject("checkpoint", checkpoint.folder, use)


def _trained(bitext, out, checkpoint):
    with Workspace(100_000) as workspace:
        train_model(PreparedText(bitext), runtime=Runtime(workspace=workspace, checkpoint=checkpoint)).model.save(out)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def attempt(work):
    """What something gives, or the sentence with which it is refused."""
    try:
        return work()
    except (DragomanError, RequestError) as error:
        said = str(error).strip()
        if not said or "\n" in said:
            raise AssertionError(f"no sentence: {said!r}") from error
        return Refused(said)


@dataclass(frozen=True)
class Refused:
    """A refusal, and its sentence."""

    sentence: str


def verdict(subject, expected, found):
    """Say what became of damage: `refused`, `same`, `other`, or where there are checksums `silent change`."""
    if any(
        not isinstance(value, Refused)
        and value != expected[name]
        and not (name == "told" and value == expected[name][: len(value)])
        for name, value in found.items()
    ):
        return "other" if subject.older else f"silent change: {[n for n in found if found[n] != expected[n]]}"
    return "refused" if any(isinstance(value, Refused) for value in found.values()) else "same"


def damage_folder(rng, folder):
    """Damage a file of a folder, or two; returns what was done to which."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file, other = rng.choice(files), rng.choice(files)
    data = bytearray(file.read_bytes())
    way = rng.choice(WAYS)
    way = rng.choice([way, way, "line gone", "line twice"]) if data.count(b"\n") else way
    if way == "digit" and not any(chr(byte).isdigit() for byte in data):
        way = "bit"
    if way in ("bit", "byte", "zeros", "cut") and not data:
        way = "longer"
    if way in ("bit", "byte"):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8) if way == "bit" else rng.randrange(1, 256)
    elif way == "digit":
        at = rng.choice([i for i, byte in enumerate(data) if 48 <= byte <= 57])
        data[at] = rng.choice([digit for digit in b"0123456789" if digit != data[at]])
    elif way == "cut":
        del data[rng.randrange(len(data)) :]
    elif way == "empty":
        data.clear()
    elif way == "zeros":
        begin = rng.randrange(len(data))
        end = min(len(data), begin + rng.choice([1, 8, 64, 4096]))
        data[begin:end] = bytes(end - begin)
    elif way == "longer":
        data += rng.choice([b"\0", b"x", b"\n", b"1 2\n", bytes(range(256))])
    elif way.startswith("line"):
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        lines[at : at + 1] = [] if way == "line gone" else [lines[at]] * 2
        data = b"\n".join(lines)
    elif way in ("swap", "copy"):
        before, data = data, other.read_bytes()
        if way == "swap":
            other.write_bytes(before)
    if way == "gone":
        file.unlink()
    else:
        file.write_bytes(data)
    return f"{way} {file.relative_to(folder)}" + (f" {other.relative_to(folder)}" if way in ("swap", "copy") else "")
