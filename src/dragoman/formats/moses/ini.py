"""Moses' configuration, `moses.ini`: the models, their files, and the weights.

There are two versions. Version 2 has `[feature]` lines such as `KENLM name=LM0 path=lm.arpa order=3` and `[weight]`
lines such as `LM0= 0.5`. Version 1 has a section for each kind of model and of weight; it is converted to
version 2 when it is read (see `ini_v1`). Version 2 is written.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.moses import ini_v1
from dragoman.formats.moses.ini_v1 import IniLine, Sections, number, whole_number, words

_PENALTIES = frozenset({"Distortion", "PhrasePenalty", "UnknownWordPenalty", "WordPenalty"})
_TABLES = frozenset(
    {"PhraseDictionaryBinary", "PhraseDictionaryCompact", "PhraseDictionaryMemory", "PhraseDictionaryOnDisk"}
)
_REORDERING = frozenset({"LexicalReordering"})
_LANGUAGE_MODELS = frozenset({"IRSTLM", "KENLM", "LazyKENLM", "SRILM"})
_KNOWN = _PENALTIES | _TABLES | _REORDERING | _LANGUAGE_MODELS

# Specific to models for the chart search: their sections, and the numbers of its algorithms.
_CHART_SECTIONS = frozenset({"max-chart-span", "non-terminals"})
_CHART_SEARCHES = frozenset({"3", "5"})

# Endings that may be added to the path of a line: compression, or the main file of a binary table.
_ENDINGS = ("", ".gz", ".bz2", ".xz", ".zst", ".binphr.idx", ".minphr", ".binlexr.idx", ".minlexr")


@dataclass(frozen=True)
class MosesFeature:
    """A feature function: its kind, its name among the weights, and its other arguments, unparsed.

    `file` is the file that the argument `path` names. A feature of unknown kind is kept unchanged.
    """

    kind: str
    name: str
    weights: tuple[float, ...] = ()
    arguments: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    line: int | None = field(default=None, compare=False)

    @property
    def is_known(self) -> bool:
        """True for a feature of ordinary phrase-based or hierarchical models."""
        return self.kind in _KNOWN

    @property
    def is_phrase_table(self) -> bool:
        """True for a phrase table or, in a hierarchical model, a rule table or glue grammar."""
        return self.kind in _TABLES

    @property
    def is_reordering(self) -> bool:
        """True for a lexicalised reordering table."""
        return self.kind in _REORDERING

    @property
    def is_language_model(self) -> bool:
        """True for an n-gram language model."""
        return self.kind in _LANGUAGE_MODELS


@dataclass(frozen=True)
class MosesIni:
    """A configuration: the features with their weights, and the unparsed lines of all other sections.

    >>> ini = MosesIni((MosesFeature("WordPenalty", "WordPenalty0", (-1.0,)),), {"distortion-limit": ("6",)})
    >>> ini.distortion_limit, ini.feature("WordPenalty0").weights
    (6, (-1.0,))
    """

    features: tuple[MosesFeature, ...]
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def feature(self, name: str) -> MosesFeature:
        """Return the feature with that name."""
        return next(feature for feature in self.features if feature.name == name)

    @property
    def distortion_limit(self) -> int | None:
        """Distortion limit, if the file has one; negative means no limit."""
        return self._integer("distortion-limit")

    @property
    def table_limit(self) -> int | None:
        """Number of translations per phrase, if the file has a section for it."""
        return self._integer("ttable-limit")

    @property
    def is_hierarchical(self) -> bool:
        """True for a model for Moses' chart search."""
        search = self.sections.get("search-algorithm", ("",))[0].strip()
        return search in _CHART_SEARCHES or not _CHART_SECTIONS.isdisjoint(self.sections)

    @property
    def span_limits(self) -> tuple[int, ...]:
        """Maximum span of the rules of each table, as far as the file has it."""
        return tuple(int(line) for line in self.sections.get("max-chart-span", ()))

    def _integer(self, section: str) -> int | None:
        values = self.sections.get(section, ())
        return int(values[0].split()[0]) if values else None


def read_moses_ini(path: PathLike, *, runtime: Runtime = Runtime()) -> MosesIni:
    """Read a `moses.ini` of either version; its files are searched beside it, then in the working folder.

    Comments are left out. Features of unknown kinds are kept, with a warning.
    """
    sections = _read_sections(path)
    for name in ("distortion-limit", "max-chart-span", "ttable-limit"):
        for line in sections.get(name, []):
            whole_number(path, line, line.text)
    if ini_v1.is_version_1(sections):
        sections = ini_v1.to_version_2(path, sections)
    weights = _read_weights(path, sections.pop("weight", []))
    features = [_read_feature(path, line) for line in _with_names(sections.pop("feature", []))]
    result: list[MosesFeature] = []
    for feature in features:
        if any(feature.name == other.name for other in result):
            raise DataError(f"found another feature {feature.name}", path=path, line=feature.line, expected="each once")
        weight_line, values = weights.pop(feature.name, (None, ()))
        _check_weights(path, feature, weight_line, len(values))
        if not values and feature.kind == "UnknownWordPenalty":
            values = (1.0,)  # the only weight that Moses does not require
        if not feature.is_known:
            runtime.warn(f"{path}:{feature.line}: the feature {feature.kind} is not known here; it is kept as it is")
        result.append(replace(feature, weights=values, file=_find(path, feature)))
    for name, (weight_line, _) in weights.items():
        raise DataError(
            f"found weights for {name}", path=path, line=weight_line, expected="weights of features in [feature]"
        )
    if not result:
        raise DataError("has no features", path=path, expected="a Moses configuration with [feature] or [ttable-file]")
    return MosesIni(tuple(result), {name: tuple(line.text for line in lines) for name, lines in sections.items()})


def _read_sections(path: PathLike) -> Sections:
    sections: Sections = {}
    current: list[IniLine] | None = None
    for line_number, line in enumerate(read_lines(path), 1):
        text = line.split("#", 1)[0].strip(" \t\r\f\v")
        if text.startswith("["):
            name, bracket, rest = text[1:].partition("]")
            if not (bracket and name) or rest.strip():
                raise DataError(f"found {quote(text)}", path=path, line=line_number, expected="[section]")
            current = sections.setdefault(name, [])
        elif text and current is None:
            raise DataError(
                f"found {quote(text)} before any section", path=path, line=line_number, expected="[section]"
            )
        elif text and current is not None:
            current.append(IniLine(line_number, text))
    return sections


def _read_weights(path: PathLike, lines: Iterable[IniLine]) -> dict[str, tuple[int, tuple[float, ...]]]:
    weights: dict[str, tuple[int, tuple[float, ...]]] = {}
    for line in lines:
        name, equals, values = line.text.partition("=")
        name = name.strip()
        if not equals or not re.fullmatch(r"\S+", name):
            raise DataError(f"found {quote(line.text)}", path=path, line=line.number, expected="NAME= WEIGHT …")
        if name in weights:
            raise DataError(
                f"found weights for {name} again",
                path=path,
                line=line.number,
                expected=f"them on line {weights[name][0]} only",
            )
        weights[name] = (line.number, tuple(number(path, line, value) for value in words(values)))
    return weights


def _with_names(lines: Iterable[IniLine]) -> list[IniLine]:
    """Give features without a name Moses' default: the kind and a running number."""
    nameless: dict[str, int] = {}
    result = []
    for line in lines:
        kind, *arguments = words(line.text)
        if not any(argument.startswith("name=") for argument in arguments):
            count = nameless.get(kind, 0)
            nameless[kind] = count + 1
            arguments.append(f"name={kind}{count}")
        result.append(IniLine(line.number, " ".join([kind, *arguments])))
    return result


def _read_feature(path: PathLike, line: IniLine) -> MosesFeature:
    kind, *rest = words(line.text)
    arguments: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not (key and equals) or key in arguments:
            raise DataError(
                f"found {quote(word)} among the arguments of {kind}",
                path=path,
                line=line.number,
                expected="KEY=VALUE, each once",
            )
        arguments[key] = value
    name = arguments.pop("name")
    return MosesFeature(kind, name, arguments=arguments, line=line.number)


def _check_weights(path: PathLike, feature: MosesFeature, line: int | None, found: int) -> None:
    stated = feature.arguments.get("num-features")
    if stated is not None:
        assert feature.line is not None
        expected: int | None = whole_number(path, IniLine(feature.line, stated), stated)
    else:
        expected = 1 if feature.kind in _PENALTIES | _LANGUAGE_MODELS else None
    if not found:
        optional = not feature.is_known or feature.kind == "UnknownWordPenalty" or expected == 0
        if not optional:
            raise DataError(
                f"the feature {feature.name} has no weights", path=path, line=feature.line, expected="them in [weight]"
            )
    elif expected is not None and found != expected:
        raise DataError(
            f"found {found} weights for {feature.name}",
            path=path,
            line=line,
            expected=f"{expected}, for the feature on line {feature.line}",
        )


def _find(path: PathLike, feature: MosesFeature) -> Path | None:
    """Find the file of a model that we know."""
    if feature.kind not in _TABLES | _REORDERING | _LANGUAGE_MODELS:
        return None
    stated = feature.arguments.get("path")
    if not stated:
        raise DataError(f"the feature {feature.name} names no file", path=path, line=feature.line, expected="path=FILE")
    for folder in (Path(path).parent, Path()):
        found = _existing(folder, stated)
        if found:
            return found
    raise DataError(
        f"the feature {feature.name} names the file {stated}, which does not exist",
        path=path,
        line=feature.line,
        expected=f"a file, perhaps compressed, relative to {Path(path).parent} or to the working folder",
    )


def _existing(folder: Path, stated: str) -> Path | None:
    candidates = (folder / f"{stated}{ending}" for ending in _ENDINGS)
    try:
        return next((candidate for candidate in candidates if candidate.exists()), None)
    except (OSError, ValueError):  # an invalid file name
        return None


def write_moses_ini(path: PathLike, ini: MosesIni) -> None:
    """Write a configuration as version 2.

    Paths are unchanged if they lead to the same file from the new place, otherwise relative to it.
    """
    lines = ["# Moses configuration", ""]
    for name, values in ini.sections.items():
        lines += [f"[{name}]", *values, ""]
    lines += ["[feature]", *(_feature_line(path, feature) for feature in ini.features), ""]
    lines += ["[weight]"]
    lines += [
        f"{feature.name}= {' '.join(_weight(weight) for weight in feature.weights)}"
        for feature in ini.features
        if feature.weights
    ]
    with open_output(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _feature_line(path: PathLike, feature: MosesFeature) -> str:
    arguments = dict(feature.arguments)
    if feature.file is not None:
        folder = Path(path).parent
        there = _existing(folder, arguments["path"])
        if there is None or not there.samefile(feature.file):
            arguments["path"] = os.path.relpath(feature.file, folder)
    return " ".join([feature.kind, f"name={feature.name}", *(f"{key}={value}" for key, value in arguments.items())])


def _weight(value: float) -> str:
    assert math.isfinite(value)
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else repr(value)
