"""Version 1 of `moses.ini`, converted to version 2 in the same way as Moses does.

A model is a line of fields: `[ttable-file]` has type, input and output factors, number of scores, path;
`[lmodel-file]` type, factor, order, path; `[distortion-file]` factors, type, number of scores, path. Their weights are
on separate lines of `[weight-t]`, `[weight-l]` and `[weight-d]`; the first of the latter is the weight of the distance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike
from dragoman.formats.faults import quote

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_SPACE = re.compile(r"[ \t\r\f\v]+")
_WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)


class IniLine(NamedTuple):
    """A line without its comment, and its number in the file."""

    number: int
    text: str


#: The lines of each section, by its name, in the order of the file.
Sections = dict[str, list[IniLine]]


def words(text: str) -> list[str]:
    """Split a line at ASCII white space only."""
    return [word for word in _SPACE.split(text) if word]


def number(path: PathLike, line: IniLine, text: str) -> float:
    """Read a weight."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise DataError(f"found {quote(text)}", path=path, line=line.number, expected="a finite number")
    return value


def whole_number(path: PathLike, line: IniLine, text: str) -> int:
    """Read a count or a limit."""
    if not _WHOLE.fullmatch(text):
        raise DataError(f"found {quote(text)}", path=path, line=line.number, expected="a whole number")
    return int(text)


_FILES = ("ttable-file", "lmodel-file", "distortion-file")
_SINGLE_WEIGHTS = {"weight-w": "WordPenalty", "weight-u": "UnknownWordPenalty", "weight-p": "PhrasePenalty"}
_OURS = frozenset({*_FILES, *_SINGLE_WEIGHTS, "weight-t", "weight-l", "weight-d"})
_TABLE_TYPES = {
    "0": "PhraseDictionaryMemory",
    "1": "PhraseDictionaryBinary",
    "2": "PhraseDictionaryOnDisk",
    "6": "PhraseDictionaryMemory",  # of rules
    "12": "PhraseDictionaryCompact",
}
_MODEL_TYPES = {"0": "SRILM", "1": "IRSTLM", "8": "KENLM", "9": "KENLM"}


def is_version_1(sections: Sections) -> bool:
    """Return True if the sections are those of version 1."""
    return not _OURS.isdisjoint(sections)


def to_version_2(path: PathLike, sections: Sections) -> Sections:
    """Convert models and weights to the sections `feature` and `weight`; other sections are unchanged."""
    for name in ("feature", "weight"):
        if name in sections:
            old = next(section for section in sections if section in _OURS)
            raise DataError(
                f"has both [{old}] of version 1 and [{name}] of version 2",
                path=path,
                line=sections[name][0].number if sections[name] else None,
                expected="one version",
            )
    features: list[IniLine] = []
    weights: list[IniLine] = []

    def add(line: int, kind: str, name: str, arguments: str, values: Sequence[IniLine]) -> None:
        features.append(IniLine(line, f"{kind} name={name} {arguments}"))
        if values:
            weights.append(IniLine(values[0].number, f"{name}= {' '.join(value.text for value in values)}"))

    for section, kind in _SINGLE_WEIGHTS.items():
        values = _Weights(path, section, sections)
        if section in sections:
            add(values.first_line, kind, f"{kind}0", "", values.next(1))
        values.finish()

    values = _Weights(path, "weight-t", sections)
    for index, line in enumerate(sections.get("ttable-file", [])):
        kind_id, inputs, outputs, scores, file = _fields(path, line, "TYPE INPUT OUTPUT SCORES PATH")
        kind = _choose(path, line, _TABLE_TYPES, kind_id)
        arguments = f"num-features={scores} input-factor={inputs} output-factor={outputs} path={file}"
        add(line.number, kind, f"TranslationModel{index}", arguments, values.next(whole_number(path, line, scores)))
    values.finish()

    values = _Weights(path, "weight-d", sections)
    if "weight-d" in sections:
        add(values.first_line, "Distortion", "Distortion0", "", values.next(1))
    for index, line in enumerate(sections.get("distortion-file", [])):
        factors, kind_id, scores, file = _fields(path, line, "FACTORS TYPE SCORES PATH")
        inputs, _, outputs = factors.partition("-")
        arguments = f"num-features={scores} type={kind_id} input-factor={inputs} output-factor={outputs} path={file}"
        add(
            line.number,
            "LexicalReordering",
            f"LexicalReordering{index}",
            arguments,
            values.next(whole_number(path, line, scores)),
        )
    values.finish()

    values = _Weights(path, "weight-l", sections)
    for index, line in enumerate(sections.get("lmodel-file", [])):
        kind_id, factor, order, file = _fields(path, line, "TYPE FACTOR ORDER PATH")
        kind = _choose(path, line, _MODEL_TYPES, kind_id)
        add(line.number, kind, f"LM{index}", f"factor={factor} order={order} path={file}", values.next(1))
    values.finish()

    others = {name: lines for name, lines in sections.items() if name not in _OURS}
    return {**others, "feature": features, "weight": weights}


class _Weights:
    """The weights of one section, assigned to its models in order."""

    def __init__(self, path: PathLike, section: str, sections: Sections):
        self._path = path
        self._section = section
        self._lines = sections.get(section, [])
        self._used = 0
        for line in self._lines:
            number(path, line, line.text)

    @property
    def first_line(self) -> int:
        return self._lines[0].number if self._lines else 0

    def next(self, count: int) -> Sequence[IniLine]:
        given = self._lines[self._used : self._used + count]
        self._used += count
        if len(given) < count:
            raise DataError(
                f"[{self._section}] has {len(self._lines)} weights",
                path=self._path,
                line=self._lines[-1].number if self._lines else None,
                expected=f"at least {self._used}, for the scores of its models",
            )
        return given

    def finish(self) -> None:
        if self._used < len(self._lines):
            raise DataError(
                f"[{self._section}] has {len(self._lines)} weights",
                path=self._path,
                line=self._lines[self._used].number,
                expected=f"{self._used}, for the scores of its models",
            )


def _fields(path: PathLike, line: IniLine, names: str) -> list[str]:
    fields = words(line.text)
    if len(fields) != len(names.split()):
        raise DataError(f"found {quote(line.text)}", path=path, line=line.number, expected=names)
    return fields


def _choose(path: PathLike, line: IniLine, kinds: dict[str, str], kind_id: str) -> str:
    if kind_id not in kinds:
        known = ", ".join(f"{key} ({kind})" for key, kind in kinds.items())
        raise DataError(f"found the model type {quote(kind_id)}", path=path, line=line.number, expected=known)
    return kinds[kind_id]
