"""What a sentence costs: time against its length, by pop limit and by table limit, as a table and a picture.

    python benchmarks/search_cost.py --data ../shared/data --models models --picture docs/images/search-cost.svg

    python benchmarks/search_cost.py --data ../shared/data --models models --long

Sentences of the wanted length are cut from the running text of test_2016_flickr (fr). Processor time of one thread,
best of several runs. `--long` is of very long sentences, once each, in a process of its own that says how much memory
it took; the text is repeated where it ends.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from dragoman.evaluation.figures.svg import figure_svg
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from search import lines, load

LENGTHS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
LONG = (1000, 4000, 16_000, 64_000)
POP_LIMITS = (100, 400, 1000)
TABLE_LIMITS = (5, 20, 50)


def sentences(words: list[str], length: int, count: int) -> list[str]:
    return [" ".join(words[i * length : (i + 1) * length]) for i in range(count)]


def milliseconds(model: Model, text: list[str], pop_limit: int, table_limit: int, runs: int) -> float:
    limits, space = SearchLimits(pop_limit=pop_limit), SpaceLimits(table_limit=table_limit)
    translator = PhraseTranslator(model, limits=limits, space=space)
    times = []
    for _ in range(runs):
        start = time.process_time()
        for _ in translator.translate(text):
            pass
        times.append(time.process_time() - start)
    return min(times) / len(text) * 1000


def long_cost(model: Model, words: list[str], length: int, max_words: int) -> tuple[float, float]:
    """Processor seconds and the most megabytes of one sentence."""
    line = " ".join(itertools.islice(itertools.cycle(words), length))
    limits = SearchLimits(max_words=max_words, max_size=2**31 - 1)
    start = time.process_time()
    for _ in PhraseTranslator(model, limits=limits).translate([line]):
        pass
    return time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def print_long(model: Model, words: list[str]) -> None:
    """A table of very long sentences, in one piece and in pieces."""
    print("| processor seconds, most memory | " + " | ".join(f"{n:,} words" for n in LONG) + " |")
    print("|---" * (len(LONG) + 1) + "|")
    fork = multiprocessing.get_context("fork")
    for label, max_words in (("in one piece", 10**9), ("in pieces of 4,000", 4000)):
        cells = []
        for length in LONG:
            with fork.Pool(1) as pool:
                seconds, megabytes = pool.apply(long_cost, (model, words, length, max_words))
            cells.append(f"{seconds:.1f} s, {megabytes:,.0f} MB")
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def draw(curves: dict[str, dict[str, list[float]]]) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="tight")
    for place, (title, rows) in enumerate(curves.items(), 1):
        axes = figure.add_subplot(1, 2, place)
        for label, values in rows.items():
            axes.plot(LENGTHS, values, marker="o", markersize=3, label=label)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("source words")
        axes.set_ylabel("ms a sentence")
        axes.set_ylim(0)
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=40, help="sentences of each length")
    parser.add_argument("--long", action="store_true", help="very long sentences only")
    options = parse_arguments(parser, "--data {moses} --models {out} --runs 1 --sentences 1")
    model = load(options.data, options.models, "fr-en")
    words = " ".join(lines(options.data / "multi30k" / "test_2016_flickr.fr.gz")).split()
    if options.long:
        print_long(model, words)
        return
    texts = {length: sentences(words, length, options.sentences) for length in LENGTHS}

    def curve(pop_limit: int, table_limit: int) -> list[float]:
        return [milliseconds(model, texts[n], pop_limit, table_limit, options.runs) for n in LENGTHS]

    curves = {
        "by pop limit (table limit 20)": {f"{n} pops": curve(n, 20) for n in POP_LIMITS},
        "by table limit (pop limit 400)": {f"{n} options": curve(400, n) for n in TABLE_LIMITS},
    }
    print("| ms a sentence of | " + " | ".join(f"{n} words" for n in LENGTHS) + " | R² of a line |")
    print("|---" * (len(LENGTHS) + 2) + "|")
    for rows in curves.values():
        for label, values in rows.items():
            fit = np.corrcoef(LENGTHS, values)[0, 1] ** 2
            print(f"| {label} | " + " | ".join(f"{v:.1f}" for v in values) + f" | {fit:.4f} |")
    if options.picture:
        options.picture.write_text(figure_svg(draw(curves)), encoding="utf-8")


if __name__ == "__main__":
    main()
