"""Errors of parsing kernels, as messages with file and line."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike

#: For each kind of fault, what was found, with `{}` for the text in question, and what was expected.
Faults = Mapping[int, tuple[str, str]]

_SHOWN_CHARACTERS = 60


def check_fault(fault: tuple[int, int, int, int], data: bytes, faults: Faults, path: PathLike, first_line: int) -> None:
    """Raise if a kernel that parsed `data` stopped at a fault."""
    kind, line, begin, end = fault
    if kind:
        found, expected = faults[kind]
        raise DataError(found.format(quote(data[begin:end])), path=path, line=first_line + line, expected=expected)


def quote(text: bytes | str) -> str:
    """Quote a piece of a file for a message: shortened, and without control characters."""
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    text = text.strip()
    text = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return "'" + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) + "'"


# In step with TableFault in kernels/text/table_parser.hpp.
FAULTS: Faults = {
    1: ("found {}, which has fewer than three fields", "source ||| target ||| scores"),
    2: ("found {}, which has more than three fields", "source ||| target ||| scores"),
    3: ("the source phrase is empty in {}", "at least one word"),
    4: ("the target phrase is empty in {}", "at least one word, for a phrase cannot be translated by nothing"),
    5: ("the phrase {} has more than 255 words", "at most 255"),
    6: ("found {} among the numbers", "a number"),
    7: ("found {} among the numbers", "a finite number that is not negative"),
    8: ("found no scores", "at least one, between the second and the third |||"),
    9: ("found the scores {}", "as many as on line 1"),
    10: ("found {} in the alignment", "points such as 0-1"),
    11: ("the alignment point {} lies outside its phrases", "positions below the phrases' lengths, from 0"),
    12: ("found {}, which does not end in [X]", "what the rule rewrites at the end of each side"),
    13: ("found the nonterminal {}", "[X][X], for grammars have no other than X"),
    14: ("found {}, which has more than two nonterminals", "at most two"),
    15: ("the two sides have different numbers of nonterminals in {}", "the same"),
    16: ("the source side is a nonterminal alone in {}", "a word, for the rule could be used without end"),
    17: ("the point {} links a nonterminal with a word", "nonterminals that are linked with each other"),
    18: ("the point {} links a nonterminal that is linked already", "one link for each nonterminal"),
    19: ("the links {} leave out a nonterminal", "one link for each nonterminal"),
    20: ("found {}, which has fewer than four fields", "[X] ||| source ||| target ||| features"),
    21: ("found the left side {}", "[X]; glue is built in, so that rules for S are left out"),
    22: ("found the nonterminal {}", "[X,1] or [X,2], for grammars have no other than X"),
    23: ("found the nonterminal {} on the source side", "the index 1 first and 2 second"),
    24: ("found the nonterminal {} on the target side", "those of the source side, each once"),
    25: ("found {} among the features", "NAME=NUMBER or NUMBER"),
    26: ("found {} among the features", "a number from -100 to 700"),
    27: ("found {} among the features again", "each once"),
    28: ("the point {} links what does not belong together", "links of words"),
    29: ("found {} among the features", "a negative logarithm from -700 to 100"),
}
