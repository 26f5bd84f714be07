"""The phrase-based search beside Moses: model scores, features, BLEU, speed.

    python benchmarks/search.py --data ../shared/data --models models

Imports Moses' tuned models (once, into --models), translates test_2016_flickr with the settings that Moses used, and
compares with Moses' own best derivations. Speeds exclude loading and are the best of several runs.
"""

from __future__ import annotations

import argparse
import gzip
import time
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import sacrebleu

from dragoman.core.feature_rows import Weights
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.moses import import_moses
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.phrase.translator import PhraseResult, PhraseTranslator
from dragoman.search.translation import Translation
from quick import parse_arguments
from timing import best_of

# Moses' sentences a second with untuned weights, one thread, on a machine like this (README of the data).
MOSES_SPEED = {("fr-en", "stack"): 8.4, ("fr-en", "cube"): 68.0, ("de-en", "stack"): 9.7, ("de-en", "cube"): 85.0}
SETTINGS = {"stack": SearchLimits(algorithm="stack", stack_size=200), "cube": SearchLimits(pop_limit=400)}
FILES = {"stack": "stack200", "cube": "cube400"}
NAMES = {
    "LexicalReordering0": ["lr.bwd.mono", "lr.bwd.swap", "lr.bwd.other", "lr.fwd.mono", "lr.fwd.swap", "lr.fwd.other"],
    "Distortion0": ["distortion"],
    "LM0": ["lm"],
    "WordPenalty0": ["word_penalty"],
    "PhrasePenalty0": ["phrase_penalty"],
    "TranslationModel0": ["tm.bwd", "tm.bwd_lex", "tm.fwd", "tm.fwd_lex"],
}
UNTUNED = {"word_penalty": -1.0, "phrase_penalty": 0.2, "distortion": 0.3, "lm": 0.5, "unknown_word": 1.0}


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return stream.read().split("\n")[:-1]


def moses_features(text: str) -> dict[str, float]:
    values: dict[str, float] = {}
    name, place = "", 0
    for field in text.split():
        if field.endswith("="):
            name, place = field[:-1], 0
        else:
            values[NAMES[name][place]] = float(field)
            place += 1
    return values


def moses_line(sentence: int, found: Translation) -> str:
    """A line of Moses' list of best derivations."""
    parts = [f"{name}= {' '.join(f'{found.features.get(one, 0.0)}' for one in ours)}" for name, ours in NAMES.items()]
    return f"{sentence} ||| {found.text}  |||  {' '.join(parts)} ||| {found.score:.6g}"


def load(data: Path, models: Path, pair: str) -> Model:
    folder = models / pair
    if not folder.exists():
        import_moses(data / "moses" / pair / "moses.tuned.ini").save(folder)
    return Model.load(folder)


def parity(model: Model, data: Path, pair: str) -> None:
    space = SpaceLimits(reordering_limit=6, table_limit=20, table_limit_by="score")
    source = lines(data / "multi30k" / f"test_2016_flickr.{pair[:2]}.gz")
    reference = lines(data / "multi30k" / "test_2016_flickr.en.gz")
    for name, limits in SETTINGS.items():
        file = data / "moses" / pair / f"test_2016_flickr.{FILES[name]}.1best.gz"
        theirs = [row.split(" ||| ") for row in lines(file)]
        translator = PhraseTranslator(model, limits=limits, space=space, runtime=Runtime(threads=2))
        ours = list(translator.translate(source, features=True))
        scores = np.array([t.score for t in ours])
        moses = np.array([float(row[3]) for row in theirs])
        gaps, same = [], 0
        for translation, row in zip(ours, theirs, strict=True):
            if translation.text == row[1].strip() and abs(translation.score - float(row[3])) < 1e-3:
                same += 1
                values = moses_features(row[2])
                gaps += [
                    abs(translation.features.get(n, 0.0) - v) / max(1.0, abs(v))
                    for n, v in values.items()
                    if not any(p.unknown for p in translation.phrases) or not n.startswith(("tm.", "lm"))
                ]
        bleu = [
            sacrebleu.corpus_bleu(texts, [reference], tokenize="none", force=True).score
            for texts in ([t.text for t in ours], [row[1].strip() for row in theirs])
        ]
        print(
            f"| {pair} {name} | {(scores >= moses - 1e-3).mean():.1%} | {scores.mean():.5f} | {moses.mean():.5f} | "
            f"{same} | {max(gaps):.1e} | {bleu[0]:.2f} | {bleu[1]:.2f} |"
        )


def speed(model: Model, data: Path, pair: str, rule: Literal["probability", "score"], runs: int) -> None:
    space = SpaceLimits(reordering_limit=6, table_limit=20, table_limit_by=rule)
    weights = Weights({n: UNTUNED.get(n, 0.2 if n.startswith("tm") else 0.3) for n in model.feature_names})
    source = lines(data / "multi30k" / f"test_2016_flickr.{pair[:2]}.gz")
    for name, limits in SETTINGS.items():
        rates = {}
        for threads in (1, 2):
            runtime = Runtime(threads=threads)
            translator = PhraseTranslator(model, weights, limits=limits, space=space, runtime=runtime)
            timed = best_of(runs, partial(_expansions, translator, source))
            rates[threads], expansions = len(source) / timed.clock, timed.result
        moses = MOSES_SPEED[pair, name]
        print(
            f"| {pair} {name}, by {rule} | {rates[1]:.0f} | {rates[1] * expansions / len(source) / 1e6:.1f} M "
            f"| {moses:g} | "
            f"{rates[1] / moses:.1f} | {rates[2] / rates[1]:.2f} |"
        )


def _expansions(translator: PhraseTranslator, source: list[str]) -> int:
    """Translate, and count what the search looked at."""
    count = 0
    for part in translator.search_batches(source):
        assert isinstance(part, PhraseResult)
        part.translations()
        count += int(part.found.expansions.sum())
    return count


def nbest(model: Model, data: Path, pair: str, runs: int) -> None:
    source = lines(data / "multi30k" / f"val.{pair[:2]}.gz")
    translator = PhraseTranslator(model)
    times = {"1-best": np.inf, "100-best": np.inf}
    for _ in range(runs):
        for name, work in (
            ("1-best", lambda: translator.translate(source)),
            ("100-best", lambda: translator.nbest(source, 100)),
        ):
            start = time.perf_counter()
            for _ in work():
                pass
            times[name] = min(times[name], time.perf_counter() - start)
    print(f"| {pair} | {times['1-best']:.2f} | {times['100-best']:.2f} | {times['100-best'] / times['1-best']:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", type=Path, required=True, help="where imported models are kept")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--data {moses} --models {out} --runs 1")
    models = {pair: load(options.data, options.models, pair) for pair in ("fr-en", "de-en")}
    print("| tuned weights | >= Moses - 1e-3 | mean score | Moses' | same | features differ by | BLEU | Moses' |")
    print("|---|---|---|---|---|---|---|---|")
    for pair, model in models.items():
        parity(model, options.data, pair)
    print("\n| untuned weights, one thread | sentences/s | expansions/s | Moses | ratio | 2 threads / 1 |")
    print("|---|---|---|---|---|---|")
    for pair, model in models.items():
        # By score is Moses' rule, which it was timed with; by probability is our default.
        speed(model, options.data, pair, "score", options.runs)
        speed(model, options.data, pair, "probability", options.runs)
    sentences = len(lines(options.data / "multi30k" / "val.fr.gz"))
    print(f"\n| val, {sentences:,} sentences, with features | 1-best s | 100-best s | ratio |")
    print("|---|---|---|---|")
    for pair, model in models.items():
        nbest(model, options.data, pair, options.runs)


if __name__ == "__main__":
    main()
