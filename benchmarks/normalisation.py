"""Normalisation of historical text by the protocol of Bollmann (2019): accuracy of words for sizes of training data.

    python benchmarks/normalisation.py --data DATA --out FOLDER [--languages german slovene] [--sizes 100 1000]
    python benchmarks/normalisation.py --data DATA --out FOLDER --ablation --sizes 1000

For each language and size, consecutive samples of so many tokens are trained on (up to `--samples`), weights are tuned
on the whole development set, and accuracy is that on the test set; the settings are the same for all. What is done is
kept in FOLDER/results.jsonl: the command goes on where it was stopped, and prints the table of all there is. With
`--ablation`, the choice is tuned on the first half of the development set without some of its features and measured on
the second; the test set is not looked at.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.progress import available_cores
from dragoman.core.runtime import Runtime
from dragoman.normalisation.candidate_lists import CANDIDATE_FEATURES, CandidateGenerator, CandidateLists
from dragoman.normalisation.characters import LIMITS, CharacterModel, character_model, tune_weights, words_model
from dragoman.normalisation.choice import tune_scorer
from dragoman.normalisation.evaluate import evaluate
from dragoman.normalisation.examples import read_examples
from dragoman.normalisation.lexicon import Lexicon, Memory
from dragoman.normalisation.training import START, Learning, train_normaliser
from dragoman.search.translator import Translator
from quick import parse_arguments

LANGUAGES = {
    "german": ("german-ridges", "de"),
    "slovene": ("slovene-goo300k-bohoric", "sl"),
    "swedish": ("swedish-gaw", "sv"),
    "spanish": ("spanish-ps18", "es"),
}
SIZES = (100, 250, 500, 1000, 5000, 10_000, 25_000)

#: What is left out of the choice, one after the other.
GROUPS = {
    "everything": (),
    "no word list (known, compound, near)": ("known", "compound", "same.known", "near"),
    "no memory (memorised, share, alike, used)": ("memorised", "share", "alike", "used"),
    "no changes of letters (letters)": ("letters",),
    "no forms alike (alike)": ("alike",),
    "no compounds (compound)": ("compound",),
    "the model's features alone": CANDIDATE_FEATURES,
}


class Task:
    """The texts of one language."""

    def __init__(self, data: Path, language: str):
        name, code = LANGUAGES[language]
        self.files = {part: data / f"histnorm/{name}.{part}.txt.gz" for part in ("train", "dev", "test")}
        self.train, self.dev = (read_examples([self.files[part]]) for part in ("train", "dev"))
        self.lexicon = Lexicon.read([data / f"histnorm/modern.{code}.txt.gz"])
        self.runtime = Runtime(threads=available_cores())
        self.words = words_model(self.lexicon, CharacterModel(), runtime=self.runtime)

    def measured(self, size: int, sample: int) -> dict[str, float]:
        """Train on one sample, tune on the development set, and measure on the test set."""
        clock, test = [time.process_time()], read_examples([self.files["test"]])
        normaliser = train_normaliser(
            self.train.first(size, sample * size), self.dev, self.lexicon, words=self.words, runtime=self.runtime
        )
        clock.append(time.process_time())
        found = evaluate(test, normaliser.modern_forms(test, runtime=self.runtime), normaliser.memory)
        seconds = dict(zip(("train_seconds", "apply_seconds"), np.diff([*clock, time.process_time()]), strict=True))
        return {**found.to_dict(), **{name: round(float(value), 2) for name, value in seconds.items()}}

    def ablated(self, size: int) -> dict[str, float]:
        """Accuracy on the second half of the development set, the choice being tuned on the first."""
        runtime, half = self.runtime, len(self.dev) // 2
        halves = self.dev.first(half), self.dev.first(len(self.dev), half)
        examples = self.train.first(size)
        model = character_model(examples, self.words, CharacterModel(), runtime=runtime)
        model = replace(model, weights=tune_weights(model, halves[0].forms, CharacterModel(), runtime=runtime))
        translator = Translator.of(model, limits=LIMITS, runtime=runtime)
        generator = CandidateGenerator(translator, Memory.of(examples), self.lexicon, Learning().candidates)
        lists = [CandidateLists.concatenate([*generator.lists([*half.forms])]) for half in halves]
        found = {}
        for name, left_out in GROUPS.items():
            kept = [i for i, feature in enumerate(lists[0].names) if feature not in left_out]
            first, second = (
                CandidateLists(part.offsets, part.texts, tuple(part.names[i] for i in kept), part.features[:, kept])
                for part in lists
            )
            start = model.weights.updated(START)
            gold = [*halves[0].forms.values()]
            choice = tune_scorer(first, gold, start, Learning().tuner, runtime=runtime)
            best = choice.order(second)[second.offsets[:-1]]
            right = sum(
                counts[second.texts[row]] for counts, row in zip(halves[1].forms.values(), best.tolist(), strict=True)
            )
            found[name] = 100 * right / len(halves[1])
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--languages", nargs="+", default=[*LANGUAGES])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--samples", type=int, default=10, help="consecutive samples of a size, at most")
    parser.add_argument("--ablation", action="store_true")
    quick = "--data {histnorm} --out {out} --languages german --sizes 100 --samples 1"
    arguments = parse_arguments(parser, quick)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / ("ablation.jsonl" if arguments.ablation else "results.jsonl")
    for language in arguments.languages:
        run(arguments, results, language)
    print_ablation(read(results)) if arguments.ablation else print_table(read(results))


def run(arguments: argparse.Namespace, results: Path, language: str) -> None:
    """Do what is not done of one language."""
    task = None
    for sample in range(1 if arguments.ablation else arguments.samples):
        for size in arguments.sizes:
            done = {(row["language"], row["size"], row["sample"]) for row in read(results)}
            if (language, size, sample) in done:
                continue
            task = task or Task(arguments.data, language)
            if size > len(task.train) or (sample and (sample + 1) * size > len(task.train)):
                continue
            found = task.ablated(size) if arguments.ablation else task.measured(size, sample)
            row = {"language": language, "size": size, "sample": sample, **found}
            with results.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")


def read(results: Path) -> list[dict[str, Any]]:
    """All rows that were written."""
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Accuracy by size and language: mean, deviation and number of samples."""
    languages = [name for name in LANGUAGES if any(row["language"] == name for row in rows)]
    print(f"| tokens | {' | '.join(languages)} |\n|---|{'---|' * len(languages)}")
    for size in sorted({row["size"] for row in rows}):
        cells = []
        for language in languages:
            found = [row["accuracy"] for row in rows if (row["language"], row["size"]) == (language, size)]
            spread = f" ± {np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
            cells.append(f"{np.mean(found):.2f}{spread} ({len(found)})" if found else "")
        print(f"| {size:,} | {' | '.join(cells)} |")


def print_ablation(rows: Sequence[dict[str, Any]]) -> None:
    """Accuracy without some features, a column a language and size."""
    columns = [f"{row['language']}, {row['size']:,}" for row in rows]
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name in GROUPS:
        print(f"| {name} | {' | '.join(f'{row[name]:.2f}' for row in rows)} |")


if __name__ == "__main__":
    main()
