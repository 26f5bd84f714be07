"""Moses' rule tables: `source [X] ||| target [X] ||| scores ||| links ||| counts ||| …`, one rule per line.

A nonterminal is `[X][X]`; the last symbol of each side is the left-hand side of the rule. Links show which nonterminals
of source and target belong together; in their positions, a nonterminal counts as one symbol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.grammar_lines import spell_nonterminals
from dragoman.formats.moses.phrase_table import pairs_of_table
from dragoman.formats.moses.table_lines import read_table_lines, write_table_lines
from dragoman.formats.pair_lines import points_of


def read_rule_table(
    path: PathLike,
    *,
    source_vocab: Vocab | None = None,
    target_vocab: Vocab | None = None,
    score_names: Sequence[str] | None = None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Read a rule table, compressed or not; its words are added to the vocabularies (new ones by default).

    On both sides, -1 is the nonterminal that is the first on the source side, and -2 the second. Alignments are between
    words, sorted. Rules are grouped by source side, and the first of repeated rules is kept. A constant last score of
    2.718 is dropped, because every hierarchical model counts its rules.
    """
    table = read_table_lines(path, source_vocab=source_vocab, target_vocab=target_vocab, rules=True, runtime=runtime)
    return pairs_of_table(path, table, score_names, what="rule", runtime=runtime)


def write_rule_table(path: PathLike, pairs: PhrasePairs, *, runtime: Runtime = Runtime()) -> None:
    """Write a rule table, compressed by the ending of its name, in the order that Moses' programs need."""
    points = kernels.rule_links(
        np.ascontiguousarray(pairs.source_ids),
        pairs.sources.for_kernels(),
        np.ascontiguousarray(pairs.target_ids),
        pairs.targets.for_kernels(),
        points_of(pairs.alignments),
    )
    text = replace(spell_nonterminals(path, pairs, ["[X][X]"] * 2, end="[X]"), alignments=Ragged(*points))
    write_table_lines(path, text, pairs.scores, extras=True, runtime=runtime)


#: The score of the glue rule: e, as Moses writes it.
GLUE_SCORE = 2.718

# The fields after the scores are the same in all of Moses' glue grammars.
_BEGIN = ("<s> [X]", "<s> [S]", "0-0")
_END = ("[X][S] </s> [X]", "[X][S] </s> [S]", "0-0 1-1")
_JOIN = ("[X][S] [X][X] [X]", "[X][S] [X][X] [S]", "0-0 1-1")


def is_glue_grammar(path: PathLike) -> bool:
    """Return True if the first rule of a table makes an S, as in a glue grammar."""
    fields = next(read_lines(path), "").split("|||")
    return len(fields) > 1 and fields[1].rstrip().endswith("[S]")


def read_glue_grammar(path: PathLike) -> float:
    """Check that a glue grammar is the usual one, and return the score of its glue rule.

    The usual one begins with `<s>`, ends with `</s>`, both without cost, and adds one X at a time.
    """
    scores: dict[tuple[str, str], float] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = [" ".join(field.split()) for field in line.split("|||")]
        rule, links = (fields[0], *fields[1:2]), fields[3] if len(fields) > 3 else ""
        known = {(source, target): points for source, target, points in (_BEGIN, _END, _JOIN)}
        if len(fields) < 3 or known.get((rule[0], rule[-1])) != links or (rule[0], rule[-1]) in scores:
            raise DataError(
                f"found {quote(line)}", path=path, line=number, expected="the three glue rules S → <s>, S </s>, S X"
            )
        scores[rule[0], rule[-1]] = _score(path, number, fields[2])
    for source, target, _ in (_BEGIN, _END, _JOIN):
        if (source, target) not in scores:
            raise DataError(f"lacks the rule {source} ||| {target}", path=path, expected="the three glue rules")
    for number, (rule, score) in enumerate(scores.items(), 1):
        if rule != _JOIN[:2] and score != 1:
            raise DataError(f"found the score {score:g}", path=path, line=number, expected=f"1 for {rule[0]}")
    return scores[_JOIN[:2]]


def _score(path: PathLike, number: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not 0 < score < math.inf:
        raise DataError(f"found the scores {quote(text)}", path=path, line=number, expected="one positive number")
    return score


def write_glue_grammar(path: PathLike) -> None:
    """Write the usual glue grammar."""
    with open_output(path) as stream:
        for source, target, links in (_BEGIN, _END, _JOIN):
            score = GLUE_SCORE if source == _JOIN[0] else 1
            stream.write(f"{source} ||| {target} ||| {score:g} ||| {links} ||| 0 ||| |||\n".encode())
