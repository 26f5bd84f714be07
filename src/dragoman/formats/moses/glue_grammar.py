"""Moses' glue grammars: the three rules that join from left to right what a rule table gives."""

from __future__ import annotations

import math

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.formats.faults import shown

#: The score of the rule that joins: e, as Moses writes it.
GLUE_SCORE = 2.718

# What follows the scores is the same in all that Moses writes, and says nothing new.
_BEGIN = ("<s> [X]", "<s> [S]", "0-0")
_END = ("[X][S] </s> [X]", "[X][S] </s> [S]", "0-0 1-1")
_JOIN = ("[X][S] [X][X] [X]", "[X][S] [X][X] [S]", "0-0 1-1")


def is_glue_grammar(path: PathLike) -> bool:
    """Whether the first rule of a table makes an S, as those of a glue grammar do."""
    fields = next(read_lines(path), "").split("|||")
    return len(fields) > 1 and fields[1].rstrip().endswith("[S]")


def read_glue_grammar(path: PathLike) -> float:
    """Check that a glue grammar is the usual one, and return the score of the rule that joins.

    The usual one begins with `<s>`, ends with `</s>`, both for nothing, and adds one X at a time.
    """
    scores: dict[tuple[str, str], float] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = [" ".join(field.split()) for field in line.split("|||")]
        rule, links = (fields[0], *fields[1:2]), fields[3] if len(fields) > 3 else ""
        known = {(source, target): points for source, target, points in (_BEGIN, _END, _JOIN)}
        if len(fields) < 3 or known.get((rule[0], rule[-1])) != links or (rule[0], rule[-1]) in scores:
            raise DataError(
                f"found {shown(line)}", path=path, line=number, expected="the three glue rules S → <s>, S </s>, S X"
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
        raise DataError(f"found the scores {shown(text)}", path=path, line=number, expected="one positive number")
    return score


def write_glue_grammar(path: PathLike) -> None:
    """Write the usual glue grammar."""
    with open_output(path) as stream:
        for source, target, links in (_BEGIN, _END, _JOIN):
            score = GLUE_SCORE if source == _JOIN[0] else 1
            stream.write(f"{source} ||| {target} ||| {score:g} ||| {links} ||| 0 ||| |||\n".encode())
