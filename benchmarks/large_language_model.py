"""A language model of real size: load time, memory and speed beside KenLM's models of the same n-grams.

    python benchmarks/large_language_model.py --kenlm kenlm-0.3.0 [--sentences 1500000] [--out FOLDER]

Estimates a model from synthetic text (see `synthetic_text.py`), writes it in ARPA format, and has KenLM build its
probing model, its trie, and its trie with 8 bits for each number and compressed pointers from that. Each model then
scores the same held-out text in a process of its own, in turns. `--kenlm` is as for `language_model.py`; without it
only our model is measured. Files that are in `--out` already are used again.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.core.corpus import EOS, Corpus
from dragoman.core.runtime import Runtime
from dragoman.core.store import load_arrays, save_arrays
from dragoman.core.workspace import Workspace, memory_size
from dragoman.formats.arpa import write_arpa
from dragoman.model.language_model import LanguageModel
from dragoman.training.lm.kneser_ney import KneserNey, estimate, estimate_model
from language_model import build_harness, run_harness
from quick import parse_arguments
from synthetic_text import synthetic_text
from timing import best_of

KENLM = "probing", "trie", "quantised"
HELD_OUT = 20_000


def make(out: Path, sentences: int, runtime: Runtime) -> None:
    """Estimate the model, and write its arrays, its ARPA file and the held-out text."""
    timed = best_of(1, partial(synthetic_text, sentences + HELD_OUT, 1))
    text = timed.result
    print(f"- text: {text.words:,} words, {timed.processor:.0f} s of processor time", flush=True)
    training, held_out = text.take(np.arange(sentences)), text.take(np.arange(sentences, len(text)))
    estimated = best_of(1, partial(estimate_model, training, KneserNey(order=5), runtime=runtime))
    model = estimated.result
    print(f"- estimated and indexed in {estimated.processor:.0f} s of processor time", flush=True)
    (out / "text").write_text("".join(f"{line}\n" for line in held_out.lines()), encoding="utf-8")
    ids = model.sentences(held_out)
    np.insert(ids.values, ids.offsets[1:], EOS).tofile(out / "ids")
    save_arrays(out / "model", model.arrays())
    # Estimated again, because tables come from disk then; those of an indexed model would take memory for all n-grams.
    tables = estimate(training, KneserNey(order=5), runtime=runtime)
    written = best_of(1, partial(write_arpa, out / "arpa", tables, runtime=runtime))
    print(f"- ARPA file written in {written.processor:.0f} s of processor time", flush=True)


def size(path: Path) -> float:
    """Size of a file or of the files of a folder, in MB."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.iterdir())) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kenlm", type=Path, help="folder of KenLM's sources, to build and time it")
    parser.add_argument("--sentences", type=int, default=1_500_000)
    parser.add_argument("--out", type=Path, help="folder to keep files in")
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--runs", type=int, default=3)
    options = parse_arguments(parser, "--sentences 300 --runs 1")
    with tempfile.TemporaryDirectory() as temporary, Workspace(memory_size(options.memory), options.out) as workspace:
        out = options.out or Path(temporary)
        if not (out / "model").exists():
            make(out, options.sentences, Runtime(workspace=workspace))
        files = {"dragoman": (out / "model", out / "ids")}
        program = out / "language_model_query" if options.kenlm else None
        if program and not program.exists():
            build_harness(options.kenlm, out)
        for kind in KENLM if program else ():
            files[kind] = (out / kind, out / "text")
            if program and not (out / kind).exists():
                built = run_harness(program, f"build-{kind}", out / "arpa", out / kind)
                print(f"- KenLM's {kind} built in {built['cpu']:.0f} s of processor time", flush=True)
        loaded = best_of(options.runs, lambda: LanguageModel.from_arrays(load_arrays(out / "model")))
        model = loaded.result
        listed = sum(model.sizes)
        print(f"- {listed:,} n-grams ({' '.join(f'{count:,}' for count in model.sizes)})")
        sentences = model.sentences(Corpus.read(out / "text"))
        tokens = len(sentences.values) + len(sentences)
        bulk = tokens / best_of(7, partial(model.logprobs, sentences)).processor / 1e6
        print(f"- opened for Python in {loaded.clock:.3f} s; in bulk {bulk:.1f} M words a second, one thread")
        if not program:
            return
        found: dict[str, list[dict[str, float]]] = {kind: [] for kind in files}
        for _ in range(options.runs):
            for kind, paths in files.items():
                found[kind].append(run_harness(program, kind, *paths))
        print("\n| model | file MB | bytes an n-gram | load s | resident MB | M words a CPU second |")
        print("|---|---|---|---|---|---|")
        for kind, runs in found.items():
            mb = size(files[kind][0])
            load, speed = min(run["load"] for run in runs), max(run["speed"] for run in runs)
            memory = max(run["memory"] for run in runs)
            print(f"| {kind} | {mb:,.0f} | {mb * 2**20 / listed:.1f} | {load:.2f} | {memory:,.0f} | {speed:.2f} |")
        totals = {kind: runs[0]["total"] for kind, runs in found.items()}
        print(f"\nBase-10 log-probability of {tokens:,} words: {', '.join(f'{k} {v:.1f}' for k, v in totals.items())}")


if __name__ == "__main__":
    main()
