"""Rules of hierarchical models beside those of Moses, with the time and memory that they take.

    python benchmarks/rules.py --data ../shared/data

Trains with Moses' word links in a process of its own, then compares with its files: every rule instance of the first
100 sentence pairs; every rule, score and count of its (filtered) tables; the number of rules of the whole tables. Moses
keeps counts of instances as text with six digits and sums in single precision: the comparison is repeated with counts
rounded to six digits.
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import resource
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Vocab
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.pharaoh import read_links
from dragoman.model.grammar import Grammar
from dragoman.model.rule_scores import ONE, AlignedText, RuleInstances, score_instances
from dragoman.training.lexical import LexicalTables, lexical_tables, word_weights
from dragoman.training.rules.extract import aligned_text, extract_rules
from dragoman.training.rules.model import rules
from quick import parse_arguments

# Moses' training after word alignment, in seconds of one processor, and the rules that it made.
MOSES = {"fr-en": (520, (577_134, 2_697_126, 1_693_710)), "de-en": (504, (633_129, 2_734_385, 1_597_437))}
TABLES = {"fr-en": "rule-table.val-test_2016.gz", "de-en": "rule-table.test_2016.gz"}
NONTERMINAL = "[X][X]"


def read(data: Path, pair: str) -> tuple[Bitext, AlignedText]:
    source, target = pair.split("-")
    bitext = Bitext.read(data / "multi30k" / f"train.{source}.gz", data / "multi30k" / f"train.{target}.gz")
    return bitext, aligned_text(bitext, read_links(data / "moses" / pair / "aligned.grow-diag-final-and.gz", bitext))


def cost(data: Path, pair: str, threads: int) -> tuple[float, float, float]:
    """Seconds of wall time and of processor time, and peak memory in MB, from links to the grammar."""
    bitext, text = read(data, pair)
    start, used = time.monotonic(), time.process_time()
    Grammar.from_pairs(rules(bitext, text.links, runtime=Runtime(threads=threads)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return time.monotonic() - start, time.process_time() - used, peak


def score_rules(
    instances: RuleInstances, bitext: Bitext, text: AlignedText, lexical: LexicalTables, runtime: Runtime
) -> PhrasePairs:
    """Count and score the rules of all instances of a text."""
    vocabs = bitext.source.vocab, bitext.target.vocab
    return score_instances(instances, text, vocabs, word_weights(bitext, text.links, lexical), runtime=runtime)


class Spelling:
    """Sides as Moses writes them: words, and all nonterminals alike."""

    def __init__(self, vocab: Vocab) -> None:
        self.words = [vocab.text(np.array([i], np.int32)) for i in range(len(vocab))]

    def __call__(self, side: list[int]) -> str:
        return " ".join(NONTERMINAL if symbol < 0 else self.words[symbol] for symbol in side)


def spelt(left: list[int], right: list[int], links: NDArray[np.uint16]) -> frozenset[tuple[int, int]]:
    """Links as Moses writes them, with those of nonterminals."""
    pairing = {(left.index(symbol), j) for j, symbol in enumerate(right) if symbol < 0}
    return frozenset(pairing | {(link >> 8, link & 255) for link in links.tolist()})


def links_of(text: str) -> frozenset[tuple[int, int]]:
    return frozenset((int(s), int(t)) for s, t in (link.split("-") for link in text.split()))


def score_all(bitext: Bitext, text: AlignedText) -> PhrasePairs:
    """Extract, count and score all rules of a text."""
    lexical = lexical_tables(bitext, text.links).rounded(7)
    return score_rules(extract_rules(text), bitext, text, lexical, Runtime())


#: Two sides and the links between them.
SpeltRule = tuple[str, str, frozenset[tuple[int, int]]]


def spelt_instances(bitext: Bitext, text: AlignedText, sentences: int) -> defaultdict[SpeltRule, list[float]]:
    """Counts of the rule instances of the first sentence pairs."""
    head = np.arange(sentences)
    first = AlignedText(text.source.take(head), text.target.take(head), text.links.take(head))
    instances = extract_rules(first)
    place = first.for_kernels(), instances.for_kernels()
    sides = []
    for of_target in (False, True):
        ids, symbols, offsets = kernels.number_rule_sides(*place, of_target, 1, None)
        sides.append(Ragged(symbols, offsets).take(ids))
    links = Ragged(*kernels.rule_links(np.arange(len(instances), dtype=np.uint32), *place))
    source, target = Spelling(bitext.source.vocab), Spelling(bitext.target.vocab)
    found: defaultdict[SpeltRule, list[float]] = defaultdict(list)
    for left, right, inner, count in zip(*sides, links, instances.counts / ONE, strict=True):
        words = source(left.tolist()), target(right.tolist())
        found[*words, spelt(left.tolist(), right.tolist(), inner)].append(count)
    return found


def compare_instances(bitext: Bitext, text: AlignedText, data: Path, pair: str) -> str:
    """The instances of the first 100 pairs, to six digits."""
    ours = spelt_instances(bitext, text, 100)
    theirs: defaultdict[SpeltRule, list[float]] = defaultdict(list)
    with gzip.open(data / "hiero" / pair / "extract.first100.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            words_left, words_right, moses_links, moses_count, *_ = line.split(" ||| ")
            theirs[words_left[:-4], words_right[:-4], links_of(moses_links)].append(float(moses_count))
    same = [key for key in theirs if len(ours[key]) == len(theirs[key])]
    off = [abs(a / b - 1) for key in same for a, b in zip(sorted(ours[key]), sorted(theirs[key]), strict=True)]
    return (
        f"{sum(map(len, theirs.values())):,} instances of Moses, {sum(map(len, ours.values())):,} of ours, "
        f"{len(off):,} the same; greatest difference of counts {max(off):.1e}"
    )


def compare_tables(pairs: PhrasePairs, data: Path, pair: str) -> str:
    """Rules, links, scores and counts of the filtered table."""
    spelling, target_spelling = Spelling(pairs.source_vocab), Spelling(pairs.target_vocab)
    of_source = {spelling(side.tolist()): i for i, side in enumerate(pairs.sources)}
    first = np.searchsorted(pairs.source_ids, np.arange(len(pairs.sources) + 1))
    found: Counter[str] = Counter()
    greatest: dict[str, float] = {}
    twins = 0
    source = None
    ours: dict[tuple[str, frozenset[tuple[int, int]]], tuple[frozenset[tuple[int, int]], int]] = {}
    assert pairs.counts is not None
    assert pairs.alignments is not None
    with gzip.open(data / "hiero" / pair / TABLES[pair], "rt", encoding="utf-8") as stream:
        for line in stream:
            left, right, scores, links, counts, *_ = line.split(" ||| ")
            if left != source:
                found["ours only"] += len(ours)
                source, ours, by_words = left, {}, Counter[str]()
                i = of_source.get(left[:-4])
                side = [] if i is None else pairs.sources[i].tolist()
                for row in range(0) if i is None else range(first[i], first[i + 1]):
                    target = pairs.targets[int(pairs.target_ids[row])].tolist()
                    inner = spelt(side, target, pairs.alignments[row])
                    pairing = frozenset(link for link in inner if left.split()[link[0]] == NONTERMINAL)
                    ours[target_spelling(target), pairing] = (inner, row)
                    by_words[target_spelling(target)] += 1
            symbols = left.split()
            their_links = links_of(links)
            pairing = frozenset(link for link in their_links if symbols[link[0]] == NONTERMINAL)
            mine = ours.pop((right[:-4], pairing), None)
            found["rules"] += 1
            if mine is None:
                found["theirs only"] += 1
                continue
            inner, row = mine
            found["other links"] += inner != their_links
            # Relative differences; a number printed as 0 is one that six digits cannot hold.
            values = [*zip(pairs.scores[row], map(float, scores.split()), strict=True)]
            values += zip(pairs.counts[row], map(float, counts.split()), strict=True)
            off = [abs(a / b - 1) if b else abs(a) for a, b in values]
            if by_words[right[:-4]] > 1 and max(off) > 1e-3:
                twins += 1
                continue
            for name, difference in zip(
                ("bwd", "bwd_lex", "fwd", "fwd_lex", "count(e)", "count(f)", "count"), off, strict=True
            ):
                found[f"{name} off by more than 1e-5"] += difference > 1e-5
                greatest[name] = max(greatest.get(name, 0), float(difference))
    found["ours only"] += len(ours)
    worst = ", ".join(f"{name} {value:.1e}" for name, value in greatest.items())
    return f"{dict(found)}; greatest differences: {worst}; but for {twins} rules with a twin of other pairing"


def six_digits(instances: RuleInstances) -> RuleInstances:
    counts = instances.counts / ONE
    unit = 10.0 ** (5 - np.floor(np.log10(counts)))
    return replace(instances, counts=np.round(np.round(counts * unit) / unit * ONE).astype(np.uint64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pairs", nargs="+", default=[*MOSES])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only-cost", action="store_true")
    options = parse_arguments(parser, "--data {hiero} --runs 1")
    # First, because a process is said to have had the memory of the one that started it.
    for pair in options.pairs:
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            costs = [pool.apply(cost, (options.data, pair, options.threads)) for _ in range(options.runs)]
        wall, cpu, memory = (min(column) for column in zip(*costs, strict=True))
        times = f"{MOSES[pair][0] / cpu:.0f} times"
        print(
            f"{pair}: {wall:.1f} s wall, {cpu:.1f} s CPU (Moses {MOSES[pair][0]}: {times}), {memory:.0f} MB", flush=True
        )
    runtime = Runtime(threads=options.threads)
    for pair in options.pairs:
        numbers = MOSES[pair][1]
        if options.only_cost:
            continue
        bitext, text = read(options.data, pair)
        print(f"  {compare_instances(bitext, text, options.data, pair)}", flush=True)
        # Moses writes its lexical tables with seven decimals.
        lexical = lexical_tables(bitext, text.links).rounded(7)
        instances = extract_rules(text, runtime=runtime)
        exact = score_rules(instances, bitext, text, lexical, runtime)
        before = np.concatenate([[0], np.cumsum(exact.sources.values < 0)])[exact.sources.offsets]
        nonterminals = np.bincount(np.diff(before)[exact.source_ids]).tolist()
        print(f"  {len(instances):,} instances; rules by nonterminals {nonterminals}, Moses {[*numbers]}", flush=True)
        print(f"  {compare_tables(exact, options.data, pair)}", flush=True)
        del exact
        rounded = score_rules(six_digits(instances), bitext, text, lexical, runtime)
        print(f"  counts of six digits: {compare_tables(rounded, options.data, pair)}", flush=True)


if __name__ == "__main__":
    main()
