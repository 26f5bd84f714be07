"""Learning curves: Dragoman and a small Transformer, trained on the same first sentence pairs of a text.

    pip install torch sentencepiece
    python benchmarks/learning_curves.py --data DATA --out FOLDER [--pairs de-en en-fr ja-en] [--sizes 1000 5000 29000]
        [--minutes 60] [--picture FILE.svg]

Both systems see the same tokenised, lower-cased pairs and the same val: Dragoman tunes on it, the Transformer stops by
it. The test set is translated once by each. For the largest size, a second table joins the two: the Transformer's lists
reranked with Dragoman's features, and MBR over the lists of both; its weights are tuned on val. What is done is kept:
the command continues where it was stopped. Without PyTorch, only Dragoman's part is done.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import dragoman as dm
from dragoman.core.corpus import Corpus
from dragoman.core.files import open_output, read_lines
from dragoman.core.nbest import NBest
from dragoman.evaluation.figures.svg import figure_svg
from dragoman.model.bundle import Model
from dragoman.tuning.runs.list_features import FeatureSource
from quick import parse_arguments

if TYPE_CHECKING:
    from transformer import Translator

#: Files of each corpus: training, val and test.
MULTI30K = ("multi30k/train", "multi30k/val", "multi30k/test_2016_flickr")
ENJA = ("enja/train", "enja/val", "enja/test")
#: Width of the beam for translations, and for lists.
BEAM, LIST = 5, 20
#: By language pair and system, BLEU for numbers of sentence pairs.
Curves = dict[str, dict[str, list[tuple[int, float]]]]


@dataclass(frozen=True)
class Cell:
    """One language pair and size; texts and results are kept in its folder."""

    data: Path
    out: Path
    pair: str
    size: int
    epochs: int

    @cached_property
    def folder(self) -> Path:
        """The folder of this cell."""
        folder = self.out.resolve() / f"{self.pair}-{self.size}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def text(self, part: int, side: int) -> Path:
        """Return a side of training text (0), val (1) or test (2)."""
        name = (ENJA if "ja" in self.pair else MULTI30K)[part]
        language = self.pair.split("-")[side]
        path = self.folder / f"{('train', 'val', 'test')[part]}.{language}"
        if not path.exists():
            lines = itertools.islice(read_lines(self.data / f"{name}.{language}.gz"), self.size if part == 0 else None)
            with open_output(path) as stream:
                stream.writelines(f"{line}\n".encode() for line in lines)
        return path

    def lines(self, part: int, side: int) -> list[str]:
        """Return the lines of a text."""
        return list(read_lines(self.text(part, side)))

    def bitext(self, part: int) -> list[tuple[str, str]]:
        """Return sentence pairs without empty sides."""
        both = zip(self.lines(part, 0), self.lines(part, 1), strict=True)
        return [pair for pair in both if pair[0].strip() and pair[1].strip()]

    def kept(self, name: str, make: Callable[[], list[str]]) -> list[str]:
        """Return the lines of a file, made if it is not there, with the processor time beside it."""
        path = self.folder / name
        if not path.exists():
            begun = time.process_time()
            lines = make()
            (self.folder / f"{name}.seconds").write_text(f"{time.process_time() - begun:.1f}\n", encoding="utf-8")
            with open_output(path) as stream:
                stream.writelines(f"{line}\n".encode() for line in lines)
        return list(read_lines(path))

    def seconds(self, name: str) -> float:
        """Return the processor time that a file took."""
        return float((self.folder / f"{name}.seconds").read_text(encoding="utf-8"))

    def score(self, outputs: Sequence[str], metric: str) -> float:
        """Return the score of translations of test."""
        settings = "bleu:tokenise=none" if metric == "bleu" else metric
        return float(dm.score(list(outputs), self.lines(2, 1), metric=settings, resamples=0))

    # Dragoman

    @cached_property
    def system(self) -> dm.System:
        """Dragoman as a newcomer calls it: trained, and tuned on val."""
        folder = self.folder / "model"
        begun = time.process_time()
        if not (folder / "model.toml").exists():
            dm.train(self.text(0, 0), self.text(0, 1), out=folder, tokenised=True, threads=1, progress=False)
        model = dm.load(folder, threads=1)
        run = model.tune(self.text(1, 0), self.text(1, 1), out=self.folder / "run", prepared=True, progress=False)
        took = self.folder / "dragoman.seconds"
        if not took.exists():
            took.write_text(f"{time.process_time() - begun:.1f}\n", encoding="utf-8")
        return model.with_weights(run)

    def dragoman(self) -> list[str]:
        """Return Dragoman's translations of test."""
        return self.kept("test.dragoman", lambda: self.system.translate(self.text(2, 0), prepared=True))

    # The Transformer

    @cached_property
    def transformer(self) -> Translator:
        """The Transformer of this cell, trained or not."""
        from transformer import Settings, Translator

        return Translator(self.folder / "transformer", replace(Settings.for_pairs(self.size), epochs=self.epochs))

    def train_transformer(self, deadline: float | None) -> bool:
        """Train until it is done or the time is over; return whether it is done."""
        return self.transformer.train(self.bitext(0), self.bitext(1), deadline=deadline)

    def lists(self, part: int, beam: int) -> Path:
        """Return the Transformer's lists for val or test, as JSON lines."""

        def make() -> list[str]:
            self.transformer.load()
            found = self.transformer.nbest(self.lines(part, 0), beam)
            return [
                json.dumps({"hyps": [{"text": text, "logprob": score} for text, score in one]}, ensure_ascii=False)
                for one in found
            ]

        name = f"{('train', 'val', 'test')[part]}.beam-{beam}.jsonl"
        self.kept(name, make)
        return self.folder / name

    def neural(self) -> list[str]:
        """Return the Transformer's translations of test."""
        return [json.loads(line)["hyps"][0]["text"] for line in read_lines(self.lists(2, BEAM))]


def report_curves(cells: Sequence[Cell], deadline: float | None, with_transformer: bool) -> Curves:
    """Print the table of all cells; return BLEU by pair, system and size."""
    print("| pair | sentence pairs | system | BLEU | chrF | CPU, min |\n|---|---|---|---|---|---|")
    curves: Curves = {}
    for cell in cells:
        outputs = {"Dragoman": cell.dragoman()}
        seconds = {"Dragoman": cell.seconds("dragoman")}
        if with_transformer and cell.train_transformer(deadline):
            outputs["Transformer"], seconds["Transformer"] = cell.neural(), cell.transformer.seconds
        elif with_transformer:
            print(f"| {cell.pair} | {cell.size:,} | Transformer | training is not done | | |", flush=True)
        for name, lines in outputs.items():
            bleu, chrf = (cell.score(lines, metric) for metric in ("bleu", "chrf"))
            curves.setdefault(cell.pair, {}).setdefault(name, []).append((cell.size, bleu))
            values = f"{bleu:.1f} | {chrf:.1f} | {seconds[name] / 60:.1f}"
            print(f"| {cell.pair} | {cell.size:,} | {name} | {values} |", flush=True)
    return curves


def report_joint(cell: Cell) -> None:
    """Print what the two systems give together: reranking the Transformer's lists, and MBR over both."""
    features: dict[str, FeatureSource] = {
        "lm": partial(log_probabilities, cell.system.model),
        "words": lambda texts: [len(text.split()) for text in texts],
        "agreement": "chrf",
    }

    def joined(part: int) -> NBest:
        ours = cell.system.nbest(cell.text(part, 0), LIST, prepared=True)
        return dm.join_candidates({"transformer": cell.lists(part, LIST), "dragoman": ours})

    def neural(part: int) -> Path:
        return cell.lists(part, LIST)

    def reranked(lists: Callable[[int], Path | NBest]) -> list[str]:
        weights = dm.tune_reranker(
            lists(1), cell.text(1, 1), metric="bleu:tokenise=none", features=features, threads=1, progress=False
        )
        return dm.rerank(lists(2), weights, features=features)

    rows: dict[str, Callable[[], list[str]]] = {
        "Dragoman": cell.dragoman,
        "Transformer": cell.neural,
        "Transformer's lists, reranked": lambda: cell.kept("test.reranked", lambda: reranked(neural)),
        "Transformer's lists, MBR by chrF": lambda: cell.kept("test.mbr", lambda: chosen(neural(2))),
        "both systems' lists, reranked": lambda: cell.kept("test.joint-reranked", lambda: reranked(joined)),
        "both systems' lists, MBR by chrF": lambda: cell.kept("test.joint-mbr", lambda: chosen(joined(2))),
    }
    for name, outputs in rows.items():
        found = outputs()
        print(
            f"| {cell.pair} | {name} | {cell.score(found, 'bleu'):.2f} | {cell.score(found, 'chrf'):.2f} |", flush=True
        )


def chosen(lists: Path | NBest) -> list[str]:
    """Return the choice by MBR, each candidate counting once."""
    return list(dm.mbr(lists, utility="chrf", weights_from="uniform", threads=1))


def log_probabilities(model: Model, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the log-probability of each text under the model's language model."""
    lm = next(iter(model.language_models.values()))
    sentences = lm.sentences(Corpus.from_lines(texts))
    return np.add.reduceat(lm.logprobs(sentences), sentences.offsets[:-1] + np.arange(len(sentences)))


def draw(curves: Curves) -> Figure:
    """Draw BLEU against sentence pairs, a panel for each language pair."""
    figure = Figure(figsize=(3.4 * len(curves), 3.2), layout="tight")
    for axes, (pair, systems) in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True):
        for name, points in systems.items():
            axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=name)
        axes.set_xscale("log")
        sizes = [size for size, _ in next(iter(systems.values()))]
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_title(pair)
        axes.set_xlabel("sentence pairs")
        axes.set_ylabel("BLEU")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    """Print both tables, and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", default=["de-en", "en-fr", "ja-en"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 5000, 29000], help="ja-en has the largest only")
    parser.add_argument("--minutes", type=float, help="stop training after these, to continue another time")
    parser.add_argument("--epochs", type=int, default=100, help="at most; training stops early by val")
    parser.add_argument("--picture", type=Path, help="where to draw the curves")
    options = parse_arguments(parser, "--data {data} --out {out} --pairs de-en --sizes 100 200 --epochs 2")
    deadline = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    neural = all(find_spec(name) for name in ("torch", "sentencepiece"))
    if not neural:
        print("PyTorch and sentencepiece are not installed: the Transformer is left out\n")
    cells = [
        Cell(options.data, options.out, pair, size, options.epochs)
        for size in sorted(options.sizes)
        for pair in options.pairs
        if pair != "ja-en" or size == max(options.sizes)
    ]
    curves = report_curves(cells, deadline, neural)
    largest = [cell for cell in cells if cell.size == max(options.sizes) and neural and cell.transformer.is_trained]
    if largest:
        print("\n| pair | system | BLEU | chrF |\n|---|---|---|---|")
    for cell in largest:
        report_joint(cell)
    if options.picture is not None:
        options.picture.write_text(figure_svg(draw(curves)), encoding="utf-8")


if __name__ == "__main__":
    main()
