"""The sampler beside exact answers on short sentences: the shapes of the thesis's figures 5.10 and 7.3.

    python benchmarks/diagnostics.py --data ../shared/data --models models --pictures docs/images

Moses' tuned weights sum to about 1, which makes a flat distribution; a temperature of 0.2 is five times these weights.
Prints markdown: divergence as samples come in, what lattices and n-best lists lack, and expected features (table 7.1).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from dragoman.core.files import open_output
from dragoman.core.runtime import Runtime
from dragoman.evaluation.figures.samplers import draw_divergence, draw_expectations
from dragoman.evaluation.figures.svg import figure_svg
from dragoman.evaluation.reports.sampler_report import (
    Table,
    chain_table,
    divergence_table,
    error_table,
    expectation_table,
)
from dragoman.sampling.diagnostics.diagnosis import Diagnosis, diagnose
from dragoman.sampling.diagnostics.diagnosis_results import Summary, summarise
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from search import lines, load

FEATURES = ("lm", "tm.bwd", "tm.bwd_lex", "tm.fwd", "tm.fwd_lex", "distortion", "word_penalty", "phrase_penalty")


def show(table: Table, hidden: str = "lr.") -> None:
    kept = [i for i, column in enumerate(table.columns) if not column.startswith(hidden) and column != "unknown_word"]
    print(f"\n{table.title}\n")
    rows: list[Sequence[object]] = [table.columns, ["---"] * len(table.columns), *table.rows]
    for cells in rows:
        shown = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in (cells[i] for i in kept))
        print(f"| {' | '.join(shown)} |")


def closer(summary: Summary, samples: int, nbest: int, feature: str) -> str:
    """How the errors of samples compare with that of an n-best list."""
    column = summary.features.index(feature)
    errors = {(row.evidence, row.size): row.errors[column] for row in summary.expectations}
    ours = " ".join(f"{error:.3f}" for (name, size), error in errors.items() if name != "n-best" and size == samples)
    return f"| {feature} | {ours} | {errors['n-best', nbest]:.3f} | {errors['lattice', None]:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--temperatures", type=float, nargs="+", default=[1.0, 0.3, 0.2, 0.1])
    parser.add_argument("--sentences", type=int, default=10)
    parser.add_argument("--words", type=int, nargs=2, default=[6, 8])
    parser.add_argument("--samples", type=int, default=25_000)
    parser.add_argument("--threads", type=int, default=1)
    options = parse_arguments(
        parser, "--data {moses} --models {out} --temperatures 1 --sentences 2 --words 6 8 --samples 6000"
    )
    translator = PhraseTranslator(load(options.data, options.models, "fr-en"), runtime=Runtime(threads=options.threads))
    shortest, longest = options.words
    text = enumerate(lines(options.data / "multi30k" / "test_2016_flickr.fr.gz"), 1)
    chosen = [(i, line) for i, line in text if shortest <= len(line.split()) <= longest][: options.sentences]
    for temperature in options.temperatures:
        start = time.perf_counter()
        settings = Diagnosis(temperature=temperature, samples=options.samples)
        found = list(diagnose(translator, chosen, settings))
        summary = summarise(found)
        print(f"\n## Temperature {temperature:g} ({time.perf_counter() - start:.0f} s)\n")
        print(
            f"{summary.exact_sentences} sentences; exact entropy of derivations {summary.derivation_entropy:.2f} nats"
        )
        for table in (divergence_table, chain_table, expectation_table, error_table):
            show(table(summary))
        print("\n| error of | 5,000 samples | 20,000-best | lattice |\n|---|---|---|---|")
        for feature in FEATURES:
            print(closer(summary, 5000, 20_000, feature))
        if options.pictures is not None:
            for name, figure in (
                ("divergence", draw_divergence(summary)),
                ("expectations", draw_expectations(summary, FEATURES)),
            ):
                with open_output(options.pictures / f"sampler-{name}-{temperature:g}.svg") as stream:
                    stream.write(figure_svg(figure).encode())


if __name__ == "__main__":
    main()
