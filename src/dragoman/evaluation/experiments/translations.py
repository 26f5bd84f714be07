"""Translations of the test sets under some weights, by every decision, in files that are written once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.checksummed_files import FileRecord
from dragoman.evaluation.experiments.plan import TestSet
from dragoman.evaluation.experiments.plan_parts import PlannedDecision
from dragoman.evaluation.experiments.scale_choice import choose_scales
from dragoman.model.bundle import Model
from dragoman.sampling.draw import Draw
from dragoman.text.preparation import TextPreparation
from dragoman.translation.stream import Outputs, Stream
from dragoman.tuning.runs.job import Job

FINAL = "final.txt"


def translations_folder(folder: Path, test: TestSet, decision: PlannedDecision) -> Path:
    """Return the folder of a run's translations of a test set."""
    return folder / "tests" / test.folder / decision.folder


@dataclass(frozen=True)
class Translations:
    """Translations of test sets under the weights of one run, in its folder."""

    job: Job
    tests: tuple[TestSet, ...]
    decisions: tuple[PlannedDecision, ...]
    folder: Path
    runtime: Runtime = Runtime()

    @property
    def finals(self) -> list[Path]:
        """The files of the final weights."""
        return [translations_folder(self.folder, t, d) / FINAL for t in self.tests for d in self.decisions]

    @property
    def is_older(self) -> bool:
        """True if there are translations without checksums."""
        return FileRecord(self.folder).is_older and (self.folder / "tests").exists()

    def write(self, final: Weights, steps: Mapping[str, Weights]) -> None:
        """Translate by all decisions under the final weights, and by the first one under the weights of each step.

        Scales are chosen for the final weights. Files that exist are not written again.
        """
        ready = choose_scales(self.job, self.decisions, final, self.folder, runtime=self.runtime)
        for test in self.tests:
            # Pairs of decisions: as planned, which determines the folder, and with the chosen scale.
            pairs = list(zip(self.decisions, ready, strict=True))
            wanted = {translations_folder(self.folder, test, p) / FINAL: (final, d) for p, d in pairs}
            first = translations_folder(self.folder, test, self.decisions[0])
            wanted |= {first / name: (weights, ready[0]) for name, weights in steps.items()}
            self._write_missing(test, wanted)

    def _write_missing(self, test: TestSet, wanted: Mapping[Path, tuple[Weights, PlannedDecision]]) -> None:
        files = FileRecord(self.folder)
        done: dict[tuple[str, PlannedDecision], bytes] = {}
        to_do: dict[str, tuple[Weights, dict[PlannedDecision, list[Path]]]] = {}
        for path, (weights, decision) in wanted.items():
            key = weights.format()
            if files.has(path):
                done[key, decision] = path.read_bytes()
            else:
                to_do.setdefault(key, (weights, {}))[1].setdefault(decision, []).append(path)
        lines = list(read_lines(test.source)) if to_do else []
        for key, (weights, paths) in to_do.items():
            new = [decision for decision in paths if (key, decision) not in done]
            if new:
                done |= {(key, decision): text for decision, text in self._translate(test, lines, weights, new).items()}
            for decision, missing in paths.items():
                for path in missing:
                    files.write(path, done[key, decision])

    def _translate(
        self, test: TestSet, lines: Sequence[str], weights: Weights, decisions: Sequence[PlannedDecision]
    ) -> dict[PlannedDecision, bytes]:
        """Translate a test set by several decisions, to the model's words; decisions share equal evidence."""
        stream = Stream(
            self.job.translator(self._model, weights, runtime=self.runtime),
            prepared=self.job.prepared,
            restoration=TextPreparation(),
            runtime=self.runtime,
        )
        groups: dict[tuple[object, ...], list[PlannedDecision]] = {}
        for decision in decisions:
            groups.setdefault(decision.sees, []).append(decision)
        texts: dict[PlannedDecision, list[str]] = {decision: [] for decision in decisions}
        for group in groups.values():
            trees = self._model.open_trees(test.trees)
            for result in stream.results(lines, _outputs(group, self.job.seed), trees=trees):
                chosen = [result.text] * len(group) if group[0].by_decoder else [result.text, *result.more_texts]
                for decision, text in zip(group, chosen, strict=True):
                    texts[decision].append(text)
        return {decision: "".join(f"{line}\n" for line in found).encode() for decision, found in texts.items()}

    @cached_property
    def _model(self) -> Model:
        return Model.load(self.job.model)


def _outputs(group: Sequence[PlannedDecision], seed: int) -> Outputs:
    """Return the outputs for decisions with the same evidence, or for the decoder's translation."""
    first = group[0]
    if first.by_decoder:
        return Outputs()
    draw = Draw(first.sampling, seed, features=False) if first.by_samples else None
    more = tuple(other.decision.rule for other in group[1:])
    return Outputs(decision=first.decision, more_rules=more, samples=draw)
