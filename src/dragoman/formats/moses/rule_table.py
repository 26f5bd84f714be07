"""Moses' rule tables: `source [X] ||| target [X] ||| scores ||| links ||| counts ||| …`, one rule a line.

A nonterminal is `[X][X]`; the last symbol of each side is what the rule rewrites. Which nonterminal of the source goes
with which of the target is said by the links, in whose positions a nonterminal counts as one symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman import kernels
from dragoman.core.files import PathLike
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.vocab import Vocab
from dragoman.formats.moses.phrase_table import pairs_of_table
from dragoman.formats.moses.table_lines import read_table_lines, write_table_lines
from dragoman.formats.pair_lines import points_of
from dragoman.formats.rule_sides import spelled


def read_rule_table(
    path: PathLike,
    *,
    source_vocab: Vocab | None = None,
    target_vocab: Vocab | None = None,
    score_names: Sequence[str] | None = None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Read a rule table, compressed or not; its words are added to the vocabularies (new ones by default).

    On both sides -1 is the nonterminal that is first from the left on the source side, -2 the second; the alignments
    are those of words, sorted. Rules of one source side are brought together and of repeated rules the first is kept.
    A constant last score of 2.718 is dropped: every hierarchical model counts its rules anyway.
    """
    table = read_table_lines(path, source_vocab=source_vocab, target_vocab=target_vocab, rules=True, runtime=runtime)
    return pairs_of_table(path, table, score_names, what="rule", runtime=runtime)


def write_rule_table(path: PathLike, pairs: PhrasePairs, *, runtime: Runtime = Runtime()) -> None:
    """Write a rule table, compressed if its name says so, sorted as Moses' programs want it."""
    points = kernels.rule_links(
        np.ascontiguousarray(pairs.source_ids),
        pairs.sources.for_kernels(),
        np.ascontiguousarray(pairs.target_ids),
        pairs.targets.for_kernels(),
        points_of(pairs.alignments),
    )
    text = replace(spelled(path, pairs, ["[X][X]"] * 2, end="[X]"), alignments=Ragged(*points))
    write_table_lines(path, text, pairs.scores, extras=True, runtime=runtime)
