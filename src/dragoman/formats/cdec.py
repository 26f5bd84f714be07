"""cdec's files: grammars, weights, and input in which each sentence names its own grammar."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.phrases import PhrasePairs
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.grammar_lines import read_numbered_grammar, union_of_rules, write_numbered_grammar

_SEGMENT = re.compile(r"\s*<seg\b([^>]*)>(.*?)</seg>\s*(?:\|\|\|(.*))?", re.DOTALL)
_ATTRIBUTE = re.compile(r'\s*([A-Za-z_][\w-]*)=(?:"([^"]*)"|([^\s">]+))')


def read_cdec_grammar(
    path: PathLike,
    *,
    source_vocab: Vocab | None = None,
    target_vocab: Vocab | None = None,
    score_names: Sequence[str] | None = None,
    runtime: Runtime = Runtime(),
) -> PhrasePairs:
    """Read a grammar of cdec, compressed or not: `[X] ||| la [X,1] ||| the [X,1] ||| EgivenF=0.5 ||| 0-0`.

    Scores are the exponentials of all features. A feature that a rule lacks is 0; features without a name are called
    PhraseModel_0 and so on, as in cdec. Rules that do not rewrite X are refused, because glue is built in.
    """
    return read_numbered_grammar(
        path,
        unnamed="PhraseModel_{}".format,
        costs=False,
        source_vocab=source_vocab,
        target_vocab=target_vocab,
        score_names=score_names,
        runtime=runtime,
    )


def write_cdec_grammar(path: PathLike, rules: PhrasePairs, *, runtime: Runtime = Runtime()) -> None:
    """Write a grammar for cdec: features are the logarithms of the scores, with their names."""
    write_numbered_grammar(path, rules, named=True, runtime=runtime)


@dataclass(frozen=True)
class CdecSegment:
    """A line of cdec's input: a sentence, the path of its grammar, its number, and its reference, if any."""

    text: str
    grammar: Path
    id: str | None = None
    reference: str | None = None


def read_segments(path: PathLike) -> list[CdecSegment]:
    """Read lines `<seg grammar="grammars/0.gz" id="0"> la maison </seg> ||| the house`.

    The id and the reference with its bars may be missing. Grammars are searched beside the file, then in the working
    folder.
    """
    return [_segment(path, number, line) for number, line in enumerate(read_lines(path), 1)]


def _segment(path: PathLike, number: int, line: str) -> CdecSegment:
    match = _SEGMENT.fullmatch(line.strip())
    expected = '<seg grammar="FILE" id="NUMBER"> text </seg>'
    if match is None or _ATTRIBUTE.sub("", match[1]).strip():
        raise DataError(f"found {quote(line)}", path=path, line=number, expected=expected)
    attributes = {name: quoted or bare for name, quoted, bare in _ATTRIBUTE.findall(match[1])}
    if not attributes.get("grammar"):
        raise DataError("the segment names no grammar", path=path, line=number, expected=expected)
    return CdecSegment(
        " ".join(match[2].split()),
        _grammar_file(path, number, attributes["grammar"]),
        attributes.get("id"),
        None if match[3] is None else " ".join(match[3].split()),
    )


def _grammar_file(path: PathLike, number: int, stated: str) -> Path:
    for folder in (Path(path).parent, Path()):
        try:
            if (folder / stated).is_file():
                return folder / stated
        except (OSError, ValueError):  # an invalid file name
            break
    raise DataError(
        f"names the grammar {quote(stated)}, which does not exist", path=path, line=number, expected="a file"
    )


def read_segment_grammars(path: PathLike, *, runtime: Runtime = Runtime()) -> tuple[list[CdecSegment], PhrasePairs]:
    """Read input in which each sentence has a grammar, and merge the rules of all these grammars.

    A rule of several grammars is taken from the first. A sentence can therefore also use rules that were extracted for
    others, which is the price of one model for the whole text.
    """
    segments = read_segments(path)
    grammars: list[PhrasePairs] = []
    source_vocab, target_vocab = Vocab.of(), Vocab.of()
    for file in dict.fromkeys(segment.grammar for segment in segments):
        rules = read_cdec_grammar(file, source_vocab=source_vocab, target_vocab=target_vocab, runtime=runtime)
        source_vocab, target_vocab = rules.source_vocab, rules.target_vocab
        grammars.append(rules)
    if not grammars:
        raise DataError("has no segments", path=path, expected='lines <seg grammar="FILE"> text </seg>')
    return segments, union_of_rules(grammars)


def read_cdec_weights(path: PathLike) -> dict[str, float]:
    """Read weights of cdec, `NAME VALUE` per line; `#` begins a comment."""
    weights: dict[str, float] = {}
    for number, line in enumerate(read_lines(path), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            value = float(words[1]) if len(words) == 2 else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DataError(f"found {quote(line)}", path=path, line=number, expected="NAME and a finite number")
        if words[0] in weights:
            raise DataError(f"found {quote(words[0])} again", path=path, line=number, expected="each name once")
        weights[words[0]] = value
    return weights


def write_cdec_weights(path: PathLike, weights: dict[str, float]) -> None:
    """Write weights for cdec."""
    with open_output(path) as stream:
        stream.write("".join(f"{name} {value!r}\n" for name, value in weights.items()).encode())
