"""The chart search beside Moses': model scores, features, BLEU, speed, and curves of score against time.

    python benchmarks/chart.py --data ../shared/data --models models [--plot FILE.svg]

Imports Moses' hierarchical models (once, into --models), translates test_2016_flickr with the settings that Moses used,
and compares with Moses' own best derivations. Speeds exclude loading and are the best of several runs.
"""

from __future__ import annotations

import argparse
import gzip
from functools import partial
from pathlib import Path

import numpy as np
import sacrebleu

from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.moses import import_moses
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from quick import parse_arguments
from timing import best_of

# Sentences a second of the processor, one thread (README of the data): cube pruning on the 1,000 test sentences.
MOSES = {("fr-en", "untuned"): 12.0, ("fr-en", "tuned"): 14.4, ("de-en", "untuned"): 16.0, ("de-en", "tuned"): 20.2}
# On a quiet machine, first 250 sentences of fr-en, pop limit 200: seconds (README of the yardstick), and the mean score
# beyond that of its cube pruning, whose derivations are in the data.
MOSES_QUIET = {"cube": (8.4, 0.0), "incremental": (4.4, 0.0026)}
SPACE = SpaceLimits(table_limit_by="score")
POP_LIMITS = (10, 20, 50, 100, 150, 200, 400)
LN = 0.9998963157289519  # of 2.718, what Moses' glue feature counts


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return stream.read().split("\n")[:-1]


def load(data: Path, models: Path, pair: str, weights: str) -> Model:
    folder = models / f"hiero.{pair}.{weights}"
    if not folder.exists():
        import_moses(data / "hiero" / pair / f"moses.{weights}.ini").save(folder)
    return Model.load(folder)


def constant(model: Model) -> float:
    """What Moses' scores have beyond ours: two words, for the ends of the sentence, and two rules for them."""
    return 2 * model.weights["rule_penalty"] - 2 * model.weights["word_penalty"]


def as_moses(found: Translation) -> list[float]:
    """The features of a translation as Moses prints them."""
    values = found.features
    names = ("tm.bwd", "tm.bwd_lex", "tm.fwd", "tm.fwd_lex")
    glue = values["glue"]
    counted = [values["lm"], values.get("word_penalty", 0.0) - 2, values["rule_penalty"] + glue + 2]
    return [*counted, *(values.get(name, 0.0) for name in names), LN * glue]


def moses_line(sentence: int, found: Translation, model: Model) -> str:
    """A line of Moses' list of best derivations."""
    lm, words, rules, *table, glue = as_moses(found)
    features = f"LM0= {lm} WordPenalty0= {words} PhrasePenalty0= {rules} TranslationModel0= {' '.join(map(str, table))}"
    score = found.score + constant(model)
    return f"{sentence} ||| {found.text}  |||  {features} TranslationModel1= {glue} ||| {score:.6g}"


def parity(data: Path, models: Path, pair: str, weights: str) -> None:
    model = load(data, models, pair, weights)
    source = lines(data / "multi30k" / f"test_2016_flickr.{pair[:2]}.gz")
    reference = lines(data / "multi30k" / "test_2016_flickr.en.gz")
    file = data / "hiero" / pair / f"test_2016_flickr.{weights}.pop200.1best.gz"
    theirs = [row.split(" ||| ") for row in lines(file)]
    translator = Translator.of(model, limits=SearchLimits(pop_limit=200), space=SPACE, runtime=Runtime(threads=2))
    ours = list(translator.translate(source, features=True))
    scores = np.array([found.score for found in ours]) + constant(model)
    moses = np.array([float(row[3]) for row in theirs])
    gaps = [0.0]
    same = 0
    for found, row in zip(ours, theirs, strict=True):
        if found.text == row[1].strip() and abs(found.score + constant(model) - float(row[3])) < 2e-3:
            same += 1
            values = [float(field) for field in row[2].split() if not field.endswith("=")]
            gaps += [abs(x - y) / max(1.0, abs(y)) for x, y in zip(as_moses(found), values, strict=True)]
    bleu = [
        sacrebleu.corpus_bleu(texts, [reference], tokenize="none", force=True).score
        for texts in ([found.text for found in ours], [row[1].strip() for row in theirs])
    ]
    print(
        f"| {pair} {weights} | {(scores >= moses - 1e-3).mean():.1%} | {scores.mean():.4f} | {moses.mean():.4f} | "
        f"{same} | {np.quantile(gaps, 0.999):.1e}, {max(gaps):.1e} | {bleu[0]:.2f} | {bleu[1]:.2f} |"
    )


def translate(translator: Translator, source: list[str]) -> float:
    """Translate all; returns the mean score."""
    return float(np.mean([found.score for found in translator.translate(source)]))


def speed(data: Path, models: Path, pair: str, weights: str, runs: int) -> None:
    model = load(data, models, pair, weights)
    source = lines(data / "multi30k" / f"test_2016_flickr.{pair[:2]}.gz")
    clock, processor = {}, {}
    for threads in (1, 2):
        runtime = Runtime(threads=threads)
        translator = Translator.of(model, limits=SearchLimits(pop_limit=200), space=SPACE, runtime=runtime)
        timed = best_of(runs, partial(translate, translator, source))
        clock[threads], processor[threads] = timed.clock, timed.processor
    rate, moses = len(source) / processor[1], MOSES[pair, weights]
    print(f"| {pair} {weights} | {rate:.0f} | {moses:g} | {rate / moses:.1f} | {clock[1] / clock[2]:.2f} |")


def curves(data: Path, models: Path, runs: int, plot: Path | None) -> None:
    """Mean score and time of both searches for several pop limits, and how fast they reach the scores of Moses."""
    model = load(data, models, "fr-en", "untuned")
    source = lines(data / "multi30k" / "test_2016_flickr.fr.gz")[:250]
    file = data / "hiero" / "fr-en" / "test_2016_flickr.untuned.pop200.1best.gz"
    moses = float(np.mean([float(row.split(" ||| ")[3]) for row in lines(file)[:250]]))
    points: dict[str, list[tuple[float, float]]] = {}
    for algorithm in ("cube", "incremental"):
        for limit in POP_LIMITS:
            limits = SearchLimits(algorithm=algorithm, pop_limit=limit)
            timed = best_of(runs, partial(translate, Translator.of(model, limits=limits, space=SPACE), source))
            mean = timed.result + constant(model)
            points.setdefault(algorithm, []).append((timed.processor, mean))
            print(
                f"| {algorithm} | {limit} | {mean:.4f} | {timed.processor:.2f} | {len(source) / timed.processor:.0f} |"
            )
    theirs = {name: (seconds, moses + more) for name, (seconds, more) in MOSES_QUIET.items()}
    for name, (seconds, mean) in theirs.items():
        print(f"| Moses, {name} (quiet machine) | 200 | {mean:.4f} | {seconds:.2f} | {len(source) / seconds:.0f} |")
    print("\n| at the mean score of Moses' | search | processor, s | times as fast |\n|---|---|---|---|")
    for name, (seconds, mean) in theirs.items():
        for algorithm, row in points.items():
            least = min((own for own, reached in row if reached >= mean - 1e-4), default=np.nan)
            print(f"| {name} | {algorithm} | {least:.2f} | {seconds / least:.1f} |")
    if plot is not None:
        draw(points, theirs, plot)


def draw(points: dict[str, list[tuple[float, float]]], theirs: dict[str, tuple[float, float]], path: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for name, row in points.items():
        axes.plot(*zip(*row, strict=True), marker="o", label=f"Dragoman, {name}")
    for (name, (seconds, mean)), marker in zip(theirs.items(), "sD", strict=True):
        axes.plot([seconds], [mean], marker, color="black", fillstyle="none", label=f"Moses, {name}, pop limit 200")
    axes.set_xscale("log")
    axes.set_xlabel("seconds of the processor, 250 sentences")
    axes.set_ylabel("mean model score")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    options = parse_arguments(parser, "--data {hiero} --models {out} --runs 1")
    print("| model | at least Moses' - 1e-3 | mean score | Moses' | same | features: 99.9 %, all | BLEU | Moses' |")
    print("|---|---|---|---|---|---|---|---|")
    for pair, weights in MOSES:
        parity(options.data, options.models, pair, weights)
    print("\n| model | sentences a second | Moses' | ratio | two threads |\n|---|---|---|---|---|")
    for pair, weights in MOSES:
        speed(options.data, options.models, pair, weights, options.runs)
    print("\n| search | pop limit | mean score | processor, s | sentences a second |\n|---|---|---|---|---|")
    curves(options.data, options.models, options.runs, options.plot)


if __name__ == "__main__":
    main()
