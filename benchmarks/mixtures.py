"""What mixtures cost: uniting tables, decoding with components, and an iteration of PRO-mix.

    python benchmarks/mixtures.py --model MODEL --source DEV.fr --reference DEV.en [--lines 1014] [--runs 3]

The model is one with components, as `dragoman adapt --mixture pro-mix` makes it; texts are prepared for it. Prints the
seconds of uniting and baking two random tables of growing size; of decoding with components and with the same mixture
collapsed; and of one optimisation by pro-mix and by pro on the lists of that decoding.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.core.nbest import NBest
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.model.edit import bake
from dragoman.model.mixture import collapse_mixture, uniform_interpolation_weights, unite_tables
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.translator import Translator
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.methods.pro import Pro
from dragoman.tuning.methods.pro_mix import ProMix
from dragoman.tuning.problems.evidence import DecodedLists, DecodingResults
from dragoman.tuning.problems.mixtures import DecodedMixtures
from dragoman.tuning.problems.problem import weight_ranges
from quick import parse_arguments
from timing import TimeTable

WORDS = 30_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=1014)
    parser.add_argument("--pairs", nargs="+", type=int, default=[200_000, 400_000, 800_000], help="sizes of tables")
    parser.add_argument("--runs", type=int, default=3)
    quick = "--model {mixture} --source {data}/multi30k/val.fr.gz --reference {data}/multi30k/val.en.gz"
    arguments = parse_arguments(parser, f"{quick} --runs 1 --pairs 2000")
    table = TimeTable("two tables", arguments.runs)
    for size in arguments.pairs:
        both = {name: random_table(seed, size) for seed, name in enumerate("ab")}
        table.row(f"{size:,} pairs each, united, mixed and indexed", partial(indexed_mixture, both))
    decoding(arguments)


def random_table(seed: int, pairs: int) -> PhrasePairs:
    """Phrases of one to five words at random, two targets a source phrase on average: hardly a pair in two tables."""
    rng = np.random.default_rng(seed)
    source_vocab, target_vocab = (Vocab.of(f"{side}{i}" for i in rng.permutation(WORDS)) for side in "st")
    sides = []
    for count in (pairs // 2, pairs):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, count))]).astype(np.int64)
        sides.append(Ragged(rng.integers(3, WORDS + 3, offsets[-1]).astype(np.int32), offsets))
    sources, targets = sides
    return PhrasePairs(
        source_vocab,
        target_vocab,
        sources,
        targets,
        np.sort(rng.integers(0, pairs // 2, pairs)).astype(np.int32),
        np.arange(pairs, dtype=np.int32),
        rng.random((pairs, 4), np.float32),
        PHRASE_SCORES,
        alignments=Ragged(np.zeros(pairs, np.uint16), np.arange(pairs + 1)),
        reordering={"lr": rng.random((pairs, 6), np.float32)},
    )


def indexed_mixture(tables: dict[str, PhrasePairs]) -> PhraseTable:
    union = unite_tables(tables)
    return PhraseTable.from_pairs(collapse_mixture(union, uniform_interpolation_weights(union)))


def decoding(arguments: argparse.Namespace) -> None:
    model = Model.load(arguments.model)
    lines = list(islice(read_lines(arguments.source), arguments.lines))
    references = [Corpus.from_lines(islice(read_lines(arguments.reference), arguments.lines))]
    table = TimeTable(f"{len(lines):,} sentences", arguments.runs)
    plain = bake(model)
    table.row("decoded with components", lambda: list(Translator.of(model).translate(lines)))
    table.row("decoded with a baked table", lambda: list(Translator.of(plain).translate(lines)))
    scorer = Bleu().scorer(references)
    kept = Translator.of(model).search_batches(lines, forests=True)
    mixed = DecodedMixtures.of(NBest.concatenate([part.pair_lists(100) for part in kept]), model, model.weights)
    parts = Translator.of(plain).search_batches(lines, forests=True)
    lists = DecodedLists(NBest.concatenate([part.nbest(100) for part in parts]))

    def optimised(decoded: DecodingResults, tuner: Tuner, names: list[str], weights: Weights) -> object:
        problem = decoded.problem(names, weight_ranges(names), scorer)
        return tuner.optimise(problem, weights.vector(names), rng=np.random.default_rng(1))

    ours = [name for name in model.weight_names if name != "unknown_word"]
    theirs = [name for name in plain.weight_names if name != "unknown_word"]
    table.row("an optimisation by pro-mix", lambda: optimised(mixed, ProMix(), ours, model.weights))
    table.row("an optimisation by pro", lambda: optimised(lists, Pro(), theirs, plain.weights))


if __name__ == "__main__":
    main()
