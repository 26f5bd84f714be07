"""Grammars on demand beside tables of rules: what they take on disk and in memory, and how long sentences take.

    python benchmarks/rules_on_demand.py --data ../shared/data

The rules of Multi30k's test_2016_flickr (fr-en) are looked up in the aligned training text, for batches of some sizes,
from all places of a source side or from some. Where all places are looked at, the rules are compared with the table's.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.ragged import Ragged
from dragoman.formats.pharaoh import read_links
from dragoman.model.grammar import Grammar
from dragoman.training.rules.model import corpus_grammar
from quick import parse_arguments


def same_rules(found: Grammar, table: Grammar) -> int:
    """How many rules the table has too, with the very same scores and counts."""
    nodes = np.flatnonzero(np.diff(found.first_rule))
    same = 0
    assert found.counts is not None
    assert table.counts is not None
    for side, node in zip(found.sides(nodes), nodes, strict=True):
        here = slice(int(found.first_rule[node]), int(found.first_rule[node + 1]))
        there = table.lookup(side.tolist())
        if len(there) == here.stop - here.start:
            rows = slice(there.start, there.stop)
            equal = np.all(found.log_scores[here] == table.log_scores[rows], axis=1)
            same += int(np.count_nonzero(equal & np.all(found.counts[here] == table.counts[rows], axis=1)))
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--samples", type=int, nargs="+", default=[0, 300, 100])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 10, 100, 1000])
    options = parse_arguments(parser, "--data {moses} --samples 0 100 --batches 1 10")
    texts = options.data / "multi30k"
    bitext = Bitext.read(texts / "train.fr.gz", texts / "train.en.gz")
    links = read_links(options.data / "moses" / "fr-en" / "aligned.grow-diag-final-and.gz", bitext)
    start = time.process_time()
    grammar = corpus_grammar(bitext, links)
    size = sum(array.nbytes for array in grammar.arrays().values()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"index: {time.process_time() - start:.1f} s CPU, {size:.0f} MB, peak {peak:.0f} MB", flush=True)
    test = Corpus.read(texts / "test_2016_flickr.fr.gz")
    sentences = Ragged(test.vocab.map_to(bitext.source.vocab)[test.sentences.values], test.sentences.offsets)
    print("| places a source side | sentences | rules | ms of CPU a sentence |\n|---|---|---|---|")
    for sample in options.samples:
        for batch in options.batches:
            start = time.process_time()
            found = replace(grammar, sample=sample).for_sentences(sentences.take(np.arange(batch)))
            spent = (time.process_time() - start) / batch * 1000
            print(f"| {sample or 'all'} | {batch:,} | {len(found):,} | {spent:.0f} |", flush=True)
            if not sample and batch == max(options.batches):
                whole = found
    if 0 in options.samples:
        print(f"{same_rules(whole, grammar.whole()):,} of {len(whole):,} rules as in the table")


if __name__ == "__main__":
    main()
