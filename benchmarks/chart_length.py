"""Time of chart search against the length of sentences, which is linear beyond the span limit.

    python benchmarks/chart_length.py --model MODEL --source TEXT

MODEL is the folder of a hierarchical model, TEXT some prepared source text; its lines, joined, are cut into sentences
of each length. One thread, processor time, which a busy machine lengthens too: the least of some runs. Prints markdown.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from dragoman.core.files import read_lines
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from quick import parse_arguments
from timing import best_of

LENGTHS = (25, 50, 100, 200, 400, 800)


def _translated(translator: Translator, lines: list[str]) -> list[Translation]:
    return list(translator.translate(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--words", type=int, default=1600, help="words that are translated at each length")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--model {hierarchical} --source {data}/multi30k/train.fr.gz --runs 1")
    model = Model.load(options.model)
    words = " ".join(read_lines(options.source)).split()[: options.words]
    print(f"{len(words):,} words, span limit {model.settings.span_limit}\n")
    print("| words a sentence | sentences | ms a sentence | ms a word |")
    print("|---|---|---|---|")
    translator = Translator.of(model, limits=SearchLimits())
    for length in LENGTHS:
        lines = [" ".join(words[i : i + length]) for i in range(0, len(words) - length + 1, length)]
        _, seconds, _ = best_of(options.runs, partial(_translated, translator, lines))
        each = 1000 * seconds / len(lines)
        print(f"| {length} | {len(lines)} | {each:,.1f} | {each / length:.2f} |", flush=True)


if __name__ == "__main__":
    main()
