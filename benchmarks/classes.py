"""Word classes: time and likelihood of the exchange algorithm, and what classes gain in translation.

    python benchmarks/classes.py --data DATA --out FOLDER [--pairs fr-en de-en] [--variants plain lm ...] [--other FILE]

Texts are those of Multi30k; the pair ja-en is the Tanaka corpus. Variants are models as `train` makes them by default,
or as Moses would (`moses`), or with some features over classes.
The first table has the processor time and log-likelihood of classes of the English training text and of parts of it;
`--other` is a file of classes (word, tab, number) by another program, of all of the text or its first `--sentences`.
The second has BLEU on val, without a look at the test sets: batch MIRA tunes on each half of val, and translates the
other; both halves are scored together. What is tuned is kept: the command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import dragoman as dm
from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import open_output, read_lines
from dragoman.model.bundle import Model
from dragoman.model.word_classes import WordClasses
from dragoman.training.classes import Clustering, estimate_classes
from dragoman.training.pipeline import CLASS_LM
from experiments import dragoman, mean_text, multi30k_files
from quick import parse_arguments
from timing import best_of

#: The features of each variant of a model; the language model over classes is one of them.
VARIANTS = {
    "plain": (),
    "lm": (CLASS_LM,),
    "boundary": ("boundary-tags",),
    "reordering": ("sparse-reordering",),
    "pairs": ("class-pair",),
    "all": (CLASS_LM, "boundary-tags", "sparse-reordering"),
}
FEATURES = ("boundary-tags", "sparse-reordering", "class-pair")
#: Models trained as a newcomer does, and as Moses would.
RECIPES: dict[str, list[str]] = {"default": [], "moses": ["--preset", "moses"]}


def log_likelihood(corpus: Corpus, classes: WordClasses) -> float:
    """The log-likelihood of a text under a bigram model over classes; words without a class are one class."""
    of_word, counts = classes.of_words(corpus.vocab) + 1, np.bincount(corpus.sentences.values)
    filled = corpus.sentences.lengths > 0
    running = np.insert(of_word[corpus.sentences.values], corpus.sentences.offsets[1:][filled], 0)
    text, size = np.append(0, running).astype(np.int64), classes.number + 2
    pairs = np.bincount(text[:-1] * size + text[1:])
    one = np.bincount(text[1:])
    return n_log_n(pairs) - 2 * n_log_n(one) + n_log_n(np.append(counts, one[0]))


def n_log_n(counts: np.ndarray) -> float:
    return float((counts * np.log(np.maximum(counts, 1))).sum())


def report_classes(corpus: Corpus, numbers: list[int], runs: int) -> None:
    print(
        f"| sentences | tokens | classes | processor time, s, best of {runs} | log-likelihood |\n|---|---|---|---|---|"
    )
    for share, number in itertools.product((4, 2, 1), numbers):
        part = corpus.take(np.arange(len(corpus) // share))
        timed = best_of(runs, partial(estimate_classes, part, Clustering(classes=number)))
        row = f"{len(part):,} | {part.words:,} | {number} | {timed.processor:.2f}"
        print(f"| {row} | {timed.result.log_likelihood:,.0f} |", flush=True)


def model_of(name: str, folder: Path, pair: str, options: argparse.Namespace) -> Path:
    """The model of a recipe, or one with all features without some of them."""
    source, target = files_of("train", options.data, pair)
    command = ["train", "--source", source, "--target", target, "--tokenised"]
    out, full = folder / name, folder / "full"
    if name in RECIPES:
        if not out.exists():
            dragoman(*command, *RECIPES[name], "--out", out)
        return out
    if not full.exists():
        classes = ["--classes", options.classes[0], "--class-lm-order", options.order]
        chosen = [flag for feature in FEATURES for flag in ("--feature", feature)]
        dragoman(*command, *RECIPES["moses"], *classes, *chosen, "--out", full)
    if not out.exists():
        model, kept = Model.load(full), VARIANTS[name]
        lms = {lm: part for lm, part in model.language_models.items() if lm != CLASS_LM or lm in kept}
        features = {feature: learnt for feature, learnt in model.features.items() if feature.name in kept}
        weights = Weights({name: value for name, value in model.weights.items() if name != CLASS_LM or name in kept})
        replace(model, language_models=lms, features=features, weights=weights).save(out)
    return out


def files_of(name: str, data: Path, pair: str) -> list[Path]:
    """Source and target of a text of a language pair."""
    if pair != "ja-en":
        return multi30k_files(name, data, pair)
    return [data.resolve() / f"enja/{name}.{language}.gz" for language in pair.split("-")]


def halves(data: Path, folder: Path, pair: str) -> list[tuple[Path, Path]]:
    """The odd and the even sentences of val, source and target."""
    found = []
    for first in (0, 1):
        files = folder / f"{first}.source", folder / f"{first}.target"
        for file, whole in zip(files, files_of("val", data, pair), strict=True):
            with open_output(file) as stream:
                stream.writelines(f"{line}\n".encode() for line in itertools.islice(read_lines(whole), first, None, 2))
        found.append(files)
    return found


def tuned_and_translated(
    system: dm.System, halves: list[tuple[Path, Path]], run: Path, options: argparse.Namespace, seed: int
) -> tuple[list[str], float, float]:
    """Translations of val, each half with weights tuned on the other, and the times of tuning and decoding."""
    outputs: list[str] = []
    tuning = decoding = 0.0
    settings = {} if options.iterations is None else {"iterations": options.iterations}
    for i in (1, 0):
        source, target = halves[i]
        how = {"method": "mira", "seed": seed, "progress": False, **settings}
        tuned = best_of(1, partial(system.tune, source, target, out=run.with_name(f"{run.name}-{seed}-{i}"), **how))
        best = system.with_weights(tuned.result)
        found = best_of(1, partial(best.translate, halves[1 - i][0]))
        outputs += found.result
        tuning, decoding = tuning + tuned.processor, decoding + found.processor
    return outputs, tuning, decoding


def report_translation(options: argparse.Namespace, pair: str) -> None:
    folder = options.out.resolve() / pair
    folder.mkdir(parents=True, exist_ok=True)
    parts = halves(options.data, folder, pair)
    references = [line for _, target in parts for line in read_lines(target)]
    print(f"\n| {pair} | BLEU on val, seeds {options.seeds} | tuning, s | decoding, s |\n|---|---|---|---|")
    for name in options.variants:
        system = dm.load(model_of(name, folder, pair, options), threads=1)
        done = [tuned_and_translated(system, parts, folder / f"run-{name}", options, seed) for seed in options.seeds]
        scores = [float(dm.score(one, references, metric="bleu:tokenise=none", resamples=0)) for one, _, _ in done]
        tuning, decoding = (float(np.mean([times[i] for times in done])) for i in (1, 2))
        print(f"| {name} | {mean_text(scores)} | {tuning:.0f} | {decoding:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="*", default=["fr-en", "de-en", "ja-en"])
    parser.add_argument("--variants", nargs="+", choices=[*RECIPES, *VARIANTS], default=list(RECIPES))
    parser.add_argument("--classes", nargs="+", type=int, default=[50, 200], help="translation takes the first")
    parser.add_argument("--order", type=int, default=7, help="of the language model over classes")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--iterations", type=int, help="of tuning; by default as many as it needs")
    parser.add_argument("--sentences", type=int, help="of the text to estimate classes from; by default all")
    parser.add_argument("--other", type=Path, help="a file of classes by another program")
    parser.add_argument("--runs", type=int, default=3)
    quick = "--data {data} --out {out} --pairs fr-en --variants moses all --classes 5 --order 3 --iterations 1 --runs 1"
    options = parse_arguments(parser, quick)
    corpus = Corpus.read(options.data / "multi30k/train.en.gz")
    corpus = corpus.take(np.arange(options.sentences or len(corpus)))
    report_classes(corpus, options.classes, options.runs)
    if options.other is not None:
        other = WordClasses.read(options.other)
        print(f"\n{options.other}: {other.number} classes, log-likelihood {log_likelihood(corpus, other):,.0f}")
    for pair in options.pairs:
        report_translation(options, pair)


if __name__ == "__main__":
    main()
