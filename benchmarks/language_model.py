"""Language models on Multi30k: agreement with lmplz, time to estimate, perplexity, speed of queries.

    python benchmarks/language_model.py --data ../shared/data [--kenlm kenlm-0.3.0]

With `--kenlm FOLDER` it also builds a program that times KenLM's probing model on the same words. The folder has
KenLM's sources, as PyPI has them:

    pip download --no-deps --no-binary :all: kenlm==0.3.0 && tar -xf kenlm-0.3.0.tar.gz

Queries are timed by the CPU time of one thread, estimation by the clock.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.corpus import EOS, Corpus
from dragoman.core.phrases import NGrams
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import save_arrays
from dragoman.model.language_model import LanguageModel
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from quick import parse_arguments
from timing import best_of

ROOT = Path(__file__).resolve().parent.parent


def read_numbers(path: Path) -> dict[str, tuple[float, float]]:
    """Read an ARPA file as a mapping from n-grams to log-probability and back-off weight."""
    numbers = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            if len(fields) > 1:
                numbers[fields[1]] = (float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0)
    return numbers


def compare(ngrams: NGrams, theirs: dict[str, tuple[float, float]]) -> str:
    words = list(ngrams.vocab)
    ours = {
        " ".join(words[i] for i in row): numbers
        for table in ngrams.orders
        for row, *numbers in zip(table.words.tolist(), table.logprobs.tolist(), table.backoffs.tolist(), strict=True)
    }
    if ours.keys() != theirs.keys():
        return f"{len(ours.keys() ^ theirs.keys())} n-grams differ"
    worst = [max(abs(ours[ngram][i] - theirs[ngram][i]) for ngram in ours) for i in (0, 1)]
    return f"same {len(ours)} n-grams, largest difference of log10 {worst[0]:.1e}, of back-off {worst[1]:.1e}"


def build_harness(kenlm: Path, folder: Path) -> Path:
    sources = [
        path
        for pattern in ("lm/*.cc", "util/*.cc", "util/double-conversion/*.cc")
        for path in sorted(kenlm.glob(pattern))
        if not path.stem.endswith(("_main", "_test", "_benchmark"))
    ]
    program = folder / "language_model_query"
    includes = [f"-I{kenlm}", f"-I{ROOT / 'src/dragoman/kernels'}"]
    flags = ["-std=c++20", "-O3", "-DNDEBUG", "-DKENLM_MAX_ORDER=6", "-w"]
    harness = ROOT / "benchmarks/language_model_query.cpp"
    subprocess.run(["g++", *flags, *includes, harness, *sources, "-lpthread", "-o", program], check=True)
    return program


def run_harness(program: Path, kind: str, *paths: Path) -> dict[str, float]:
    """Run the program, which tells what it does, and return the numbers that it prints."""
    printed = subprocess.run([program, kind, *paths], check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(printed[::2], map(float, printed[1::2]), strict=True))


def one_at_a_time(program: Path, arpa: Path, model: LanguageModel, corpus: Corpus, folder: Path) -> tuple[float, float]:
    """Millions of words a second, one word at a time: our model, and KenLM's probing model."""
    (folder / "arpa").write_bytes(gzip.decompress(arpa.read_bytes()))
    (folder / "text").write_text("".join(f"{line}\n" for line in corpus.lines()), encoding="utf-8")
    sentences = model.sentences(corpus)
    np.insert(sentences.values, sentences.offsets[1:], EOS).tofile(folder / "ids")
    shutil.rmtree(folder / "model", ignore_errors=True)
    save_arrays(folder / "model", model.arrays())
    ours = run_harness(program, "dragoman", folder / "model", folder / "ids")
    kenlm = run_harness(program, "probing", folder / "arpa", folder / "text")
    assert abs(ours["total"] - kenlm["total"]) < 1e-5 * abs(kenlm["total"]), (ours, kenlm)
    return ours["speed"], kenlm["speed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--kenlm", type=Path, help="folder of KenLM's sources, to build and time it")
    arguments = parse_arguments(parser, "--data {moses}")
    train = Corpus.read(arguments.data / "multi30k/train.en.gz")
    test = Corpus.read(arguments.data / "multi30k/test_2016_flickr.en.gz")
    texts = {"train": train, "test x 20": Corpus(test.vocab, Ragged.concatenate([test.sentences] * 20))}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build_harness(arguments.kenlm, folder) if arguments.kenlm else None
        for order in (3, 5):
            options = KneserNey(order=order)
            ngrams = estimate(train, options)
            model = LanguageModel.from_ngrams(ngrams)
            arpa = arguments.data / f"moses/fr-en/lm{order}.arpa.gz"
            print(f"## Order {order}\n")
            print(f"- against lmplz: {compare(ngrams, read_numbers(arpa))}")
            runtimes = [Runtime(threads=threads) for threads in (1, 2)]
            seconds = [best_of(5, partial(estimate, train, options, runtime=runtime)).clock for runtime in runtimes]
            print(f"- estimation: {seconds[0]:.3f} s on one thread, {seconds[1]:.3f} s on two")
            print(f"- indexing: {best_of(5, partial(LanguageModel.from_ngrams, ngrams)).clock:.3f} s")
            perplexity = model.perplexity(test)
            print(
                f"- perplexity of test_2016_flickr: {perplexity.including_oovs:.2f} with, "
                f"{perplexity.excluding_oovs:.2f} without {perplexity.oovs} OOVs of {perplexity.tokens} tokens"
            )
            print("\n| text | tokens | kernel, one thread | one word at a time | KenLM probing | kernel / KenLM |")
            print("|---|---|---|---|---|---|")
            for text, corpus in texts.items():
                sentences = model.sentences(corpus)
                tokens = corpus.words + len(corpus)
                speed = tokens / best_of(7, partial(model.logprobs, sentences)).processor / 1e6
                row = f"| {text} | {tokens} | {speed:.1f} M words/s |"
                if program:
                    view, kenlm = one_at_a_time(program, arpa, model, corpus, folder)
                    row += f" {view:.1f} | {kenlm:.1f} | {speed / kenlm:.2f} |"
                print(row)
            print()


if __name__ == "__main__":
    main()
