"""Metrics on Moses' lists and outputs: time to count, corpus scores beside sacreBLEU's, time of significance tests."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dragoman.core.corpus import Corpus
from dragoman.core.files import read_lines
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.significance import approximate_randomisation, conclusive_shares, paired_bootstrap
from dragoman.metrics.combined import parse_metric
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent
METRICS = ["bleu", "nist", "wer", "per", "ter", "chrf", "chrf:word_order=2", "meteor"]


def read_nbest(path: Path) -> tuple[Corpus, np.ndarray]:
    fields = [line.split(" ||| ", 2) for line in read_lines(path)]
    return Corpus.from_lines([text for _, text, _ in fields]), np.array([int(row) for row, _, _ in fields])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--data {moses} --runs 1")
    multi30k, moses = options.data / "multi30k", options.data / "moses"

    hypotheses, sentences = read_nbest(moses / "fr-en/val.merged.nbest.gz")
    references = [Corpus.read(multi30k / "val.en.gz")]
    print(f"Statistics of {len(hypotheses):,} hypotheses of {len(references[0]):,} sentences (val.merged.nbest.gz)\n")
    print("| metric | seconds, 1 thread | 2 threads |\n|---|---|---|")
    for name in METRICS:
        scorer = parse_metric(name).scorer(references)
        times = [
            best_of(options.runs, partial(scorer.statistics, hypotheses, sentences, runtime=runtime)).clock
            for runtime in (Runtime(threads=1), Runtime(threads=2))
        ]
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} |")

    print(
        "\nMoses' outputs of test_2016_flickr: ours, sacreBLEU's (its README: fr-en 50.50 ± 0.11, de-en 40.24 ± 0.15)\n"
    )
    print(
        "| output | " + " | ".join(METRICS) + " | sacreBLEU: BLEU | TER | chrF |\n" + "|---" * (len(METRICS) + 4) + "|"
    )
    references = [Corpus.read(multi30k / "test_2016_flickr.en.gz")]
    texts = [references[0].lines()]
    outputs = {}
    for pair in ("fr-en", "de-en"):
        for search in ("cube400", "stack200"):
            output, _ = read_nbest(moses / f"{pair}/test_2016_flickr.{search}.1best.gz")
            outputs[f"{pair} {search}"] = output
            ours = []
            for name in METRICS:
                scorer = parse_metric(name).scorer(references)
                ours.append(float(scorer.score(scorer.statistics(output).sum(axis=0))))
            truths = [BLEU(tokenize="none", force=True), TER(), CHRF()]
            theirs = [truth.corpus_score(output.lines(), texts).score for truth in truths]
            cells = [f"{value:.2f}" for value in ours] + [f"{value:.2f}" for value in theirs]
            print(f"| {pair} {search} | " + " | ".join(cells) + " |")
            differences = np.array(ours)[[0, 4, 5]] - theirs
            assert np.abs(differences).max() < 1e-9, differences

    scorer = parse_metric("bleu").scorer(references)
    first, second = (scorer.statistics(outputs[name]) for name in ("fr-en cube400", "de-en cube400"))
    tests: dict[str, Callable[[], Any]] = {
        "paired bootstrap, 1,000 resamples": lambda: paired_bootstrap(scorer, [first, second]),
        "approximate randomisation, 10,000 shuffles": lambda: approximate_randomisation(scorer, first, second),
        "conclusive samples, 100 of 300": lambda: conclusive_shares(scorer, [first, second], size=300),
    }
    print(f"\nTests of two systems on {len(first):,} sentences\n\n| test | seconds |\n|---|---|")
    for name, test in tests.items():
        print(f"| {name} | {best_of(options.runs, test).clock:.3f} |")


if __name__ == "__main__":
    main()
