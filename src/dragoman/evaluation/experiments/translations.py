"""Translations of the test sets under some weights, by every decision, in files that are written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

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


def final_name(decoding: int = 1) -> str:
    """Return the name of a file of translations under final weights, by the number of the decoding, from 1.

    >>> final_name(), final_name(2)
    ('final.txt', 'final-2.txt')
    """
    return FINAL if decoding == 1 else f"final-{decoding}.txt"


def seed_of(seed: int, decoding: int) -> int:
    """Return the seed of a decoding of a run: for the first the run's own, for the others numbers of their own.

    >>> seed_of(3, 1), seed_of(3, 2) == seed_of(3, 2), seed_of(3, 2) == seed_of(2, 3)
    (3, True, False)
    """
    return seed if decoding == 1 else int(np.random.SeedSequence([seed, decoding]).generate_state(1, np.uint64)[0])


def translations_folder(folder: Path, test: TestSet, decision: PlannedDecision) -> Path:
    """Return the folder of a run's translations of a test set."""
    return folder / "tests" / test.folder / decision.folder


#: A decision, with the scale chosen for it, and the number of the decoding, from 1.
_Decoding = tuple[PlannedDecision, int]


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
        return [
            translations_folder(self.folder, test, decision) / final_name(decoding)
            for test in self.tests
            for decision in self.decisions
            for decoding in range(1, decision.decodings + 1)
        ]

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
            wanted = {
                translations_folder(self.folder, test, planned) / final_name(i): (final, (decision, i))
                for planned, decision in pairs
                for i in range(1, decision.decodings + 1)
            }
            first = translations_folder(self.folder, test, self.decisions[0])
            wanted |= {first / name: (weights, (ready[0], 1)) for name, weights in steps.items()}
            self._write_missing(test, wanted)

    def _write_missing(self, test: TestSet, wanted: Mapping[Path, tuple[Weights, _Decoding]]) -> None:
        files = FileRecord(self.folder)
        done: dict[tuple[str, _Decoding], bytes] = {}
        to_do: dict[str, tuple[Weights, dict[_Decoding, list[Path]]]] = {}
        for path, (weights, decision) in wanted.items():
            key = weights.format()
            if files.has(path):
                done[key, decision] = path.read_bytes()
            else:
                to_do.setdefault(key, (weights, {}))[1].setdefault(decision, []).append(path)
        lines = list(read_lines(test.source)) if to_do else []
        for key, (weights, paths) in to_do.items():
            new = [decoding for decoding in paths if (key, decoding) not in done]
            for group in _same_evidence(new):
                done |= {(key, decoding): text for decoding, text in self._translate(test, lines, weights, group)}
                for decoding in group:
                    for path in paths[decoding]:
                        files.write(path, done[key, decoding])
            for decoding in (decoding for decoding in paths if decoding not in new):
                for path in paths[decoding]:
                    files.write(path, done[key, decoding])

    def _translate(
        self, test: TestSet, lines: Sequence[str], weights: Weights, group: Sequence[_Decoding]
    ) -> Iterator[tuple[_Decoding, bytes]]:
        """Translate a test set by decisions with the same evidence, to the model's words."""
        stream = Stream(
            self.job.translator(self._model, weights, runtime=self.runtime),
            prepared=self.job.prepared,
            restoration=TextPreparation(),
            runtime=self.runtime,
        )
        texts: list[list[str]] = [[] for _ in group]
        by_decoder = group[0][0].by_decoder
        trees = self._model.open_trees(test.trees)
        for result in stream.results(lines, _outputs(group, self.job.seed), trees=trees):
            chosen = [result.text] * len(group) if by_decoder else [result.text, *result.more_texts]
            for found, text in zip(texts, chosen, strict=True):
                found.append(text)
        for decoding, found in zip(group, texts, strict=True):
            yield decoding, "".join(f"{line}\n" for line in found).encode()

    @cached_property
    def _model(self) -> Model:
        return Model.load(self.job.model)


def _same_evidence(decodings: Iterable[_Decoding]) -> list[list[_Decoding]]:
    """Group decodings that share their evidence: of samples, those with the same number and so the same seed."""
    groups: dict[tuple[object, ...], list[_Decoding]] = {}
    for decision, number in decodings:
        groups.setdefault((decision.sees, number), []).append((decision, number))
    return list(groups.values())


def _outputs(group: Sequence[_Decoding], seed: int) -> Outputs:
    """Return the outputs for decisions with the same evidence, or for the decoder's translation."""
    first, number = group[0]
    if first.by_decoder:
        return Outputs()
    draw = Draw(first.sampling, seed_of(seed, number), features=False) if first.by_samples else None
    more = tuple(other.decision.rule for other, _ in group[1:])
    return Outputs(decision=first.decision, more_rules=more, samples=draw)
