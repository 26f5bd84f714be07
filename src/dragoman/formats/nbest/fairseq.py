"""Output of fairseq-generate and fairseq-interactive, with sentences in any order.

    S-7<TAB>la maison                      the source
    T-7<TAB>the house                      the reference
    H-7<TAB>-0.5<TAB>the hou@@ se          a hypothesis
    D-7<TAB>-0.5<TAB>the house             the same, detokenised
    P-7<TAB>-0.25 -0.75                    the scores of its positions

The score is a log-probability divided by the length (to the power of --lenpen). Like the scores of positions, it is to
base 2 in all recent versions. It is read unchanged; the log-probability is the sum over positions, as a natural
logarithm. Lines of other kinds (A-, C-, E-, I-, W-) and log messages are skipped, if they look like fairseq's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines
from dragoman.core.nbest import Extras, NBest
from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.formats.faults import quote
from dragoman.formats.nbest.format import NBestFormat, suggest_format
from dragoman.formats.nbest.lines import group_by_number, sentence_numbers, warn_of_empty_hypotheses
from dragoman.formats.nbest.numbers import parse_number

_LINE = re.compile(r"([STHDP])-([0-9]{1,18})\t(.*)", re.DOTALL)
_SKIPPED = re.compile(
    r"(?:[ACIW]-[0-9]+|E-[0-9]+_[0-9]+)\t.*"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:,]+ \| (?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \| [\w.]+ \| .*"
    r"|Generate \S+ with beam=[0-9]+: .*"
    r"|Namespace\(.*\)"
    r"|\| (?:loading model|\[|\S+ \S+ \S+ [0-9]+ examples|Translated [0-9]+ sentences|Generate \S+ with beam=).*",
    re.DOTALL,
)
_EXAMPLE = "'H-id<TAB>score<TAB>text', or another line of fairseq's"


@dataclass
class _Sentence:
    source: str | None = None
    reference: str | None = None
    hypotheses: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: {"H": [], "D": []})
    #: The scores of positions of each hypothesis, by its rank.
    positions: dict[int, str] = field(default_factory=dict)
    line: int = 0

    @property
    def size(self) -> int:
        return max(map(len, self.hypotheses.values()))


@dataclass(frozen=True)
class FairseqNBest(NBestFormat):
    """The output of fairseq-generate."""

    name = "fairseq"
    places = frozenset({"scores", "logprobs", "ids"})

    text: Literal["D", "H"] | None = option(
        None, "lines with the text: D (detokenised) or H (default: D, or H if there is no D)"
    )
    base: Literal["2", "e"] = option("2", "base of the logarithms: 2, or e before version 0.9")

    def read(
        self, path: PathLike, *, sentences: int | None = None, vocab: Vocab | None = None, runtime: Runtime = Runtime()
    ) -> NBest:
        """Read all hypotheses."""
        found: dict[int, _Sentence] = {}
        with runtime.stage(f"reading {path}"):
            for line, text in enumerate(read_lines(path), 1):
                match = _LINE.fullmatch(text)
                if match is not None:
                    self._take(match[1], found.setdefault(int(match[2]), _Sentence(line=line)), match[3], path, line)
                elif text.strip() and not _SKIPPED.fullmatch(text):
                    error = DataError(f"found {quote(text)}", path=path, line=line, expected=_EXAMPLE)
                    raise suggest_format(error, path, self.name)
            return self._lists(dict(sorted(found.items())), path, sentences, vocab or Vocab.of(), runtime)

    def _take(self, kind: str, sentence: _Sentence, text: str, path: PathLike, line: int) -> None:
        if kind in "HD":
            score, tab, words = text.partition("\t")
            if not tab or not score.strip():
                raise DataError(
                    f"found {quote(text)}", path=path, line=line, expected=f"'{kind}-id<TAB>score<TAB>text'"
                )
            sentence.hypotheses[kind].append((parse_number(score, path, line), words))
        elif kind == "P":
            place = sentence.size - 1
            if place < 0 or place in sentence.positions:
                raise DataError(
                    "found scores of positions that belong to no hypothesis before them",
                    path=path,
                    line=line,
                    expected="the lines of a hypothesis together, as fairseq prints them",
                )
            for number in text.split():
                parse_number(number, path, line, "score of a position")
            sentence.positions[place] = " ".join(text.split())
        elif (sentence.source if kind == "S" else sentence.reference) is not None:
            raise DataError(f"found a second {kind} line of one sentence", path=path, line=line, expected="one")
        elif kind == "S":
            sentence.source = text
        else:
            sentence.reference = text

    def _lists(
        self, found: dict[int, _Sentence], path: PathLike, sentences: int | None, vocab: Vocab, runtime: Runtime
    ) -> NBest:
        kind = self.text or ("D" if any(one.hypotheses["D"] for one in found.values()) else "H")
        for number, one in found.items():
            self._check(number, one, kind, path)
        self._check_all(found, path, sentences)
        _, numbers = group_by_number(np.array([*found], np.int64), path, sentences, runtime=runtime)
        rows = [(one, place) for one in found.values() for place in range(len(one.hypotheses[kind]))]
        scored = [one.hypotheses[kind][place] for one, place in rows]
        unit = math.log(2) if self.base == "2" else 1.0
        logprobs = [
            unit * sum(map(float, one.positions[place].split())) if one.positions else math.nan for one, place in rows
        ]
        both = kind == "D" and all(one.hypotheses["H"] or not one.size for one in found.values())
        extras = [
            f"{one.hypotheses['H'][i][1] if both else ''}\t{one.positions.get(i, '')}".encode() for one, i in rows
        ]
        sizes = [len(one.hypotheses[kind]) for one in found.values()]
        nbest = NBest.of_texts(
            [text for _, text in scored], [score for score, _ in scored], np.cumsum([0, *sizes], dtype=np.int64), vocab
        )
        warn_of_empty_hypotheses(nbest.hypotheses, path, runtime=runtime)
        if empty := sum(not one.size for one in found.values()):
            runtime.warn(f"{path}: {empty} sentences have no hypotheses")
        sources = [one.source for one in found.values() if one.source is not None]
        references = tuple(() if one.reference is None else (one.reference,) for one in found.values())
        return replace(
            nbest,
            logprobs=None if np.isnan(logprobs).all() else np.array(logprobs),
            ids=None if numbers == [*range(len(numbers))] else tuple(numbers),
            sources=tuple(sources) or None,
            references=references if any(references) else None,
            extras=Extras(
                self.name,
                {"both": int(both), "base e": int(self.base == "e")},
                Ragged(np.frombuffer(b"".join(extras), np.uint8), np.cumsum([0, *map(len, extras)], dtype=np.int64)),
            ),
        )

    def _check_all(self, found: dict[int, _Sentence], path: PathLike, sentences: int | None) -> None:
        late = next((n for n in found if sentences is not None and n >= sentences), None)
        if late is not None:
            expected = f"{sentences} sentences, with ids from 0"
            raise DataError(f"found the id {late}", path=path, line=found[late].line, expected=expected)
        if len({one.source is None for one in found.values()}) > 1:
            odd = next(one for one in found.values() if one.source is None)
            raise DataError("a sentence has no S line", path=path, line=odd.line, expected="one for all or none")

    def _check(self, number: int, one: _Sentence, kind: str, path: PathLike) -> None:
        ours, others = one.hypotheses[kind], one.hypotheses["H" if kind == "D" else "D"]
        counts = f"the id {number} has {len(one.hypotheses['H'])} H lines and {len(one.hypotheses['D'])} D lines"
        if len(ours) != one.size or (others and [score for score, _ in ours] != [score for score, _ in others]):
            raise DataError(
                counts if len(ours) != len(others) else f"the H and D lines of the id {number} have different scores",
                path=path,
                line=one.line,
                expected="an H and a D line for each hypothesis",
            )
        if one.positions and len(one.positions) != one.size:
            raise DataError(
                f"the id {number} has {len(one.positions)} P lines for {one.size} hypotheses",
                path=path,
                line=one.line,
                expected="one for each or none",
            )

    def format_blocks(
        self, nbest: NBest, path: PathLike, progress_callback: ProgressCallback | None = None, *, runtime: Runtime
    ) -> Iterator[bytes]:
        """Yield the lines of each sentence."""
        nbest = self.drop_unsupported(nbest, path, runtime=runtime)
        if not np.isfinite(nbest.scores).all():
            found = "a hypothesis to write has no score, or one that is not finite"
            raise DataError(found, path=path, expected="a finite number for each")
        numbers = sentence_numbers(nbest, path, runtime=runtime).tolist()
        extras = nbest.extras if nbest.extras and nbest.extras.format == self.name else Extras(self.name, {})
        both = bool(extras.style.get("both", False))
        same_base = extras.style.get("base e", 0) == (self.base == "e")
        kept = [row.tobytes().decode() for row in extras.hypotheses] if extras.hypotheses is not None else None
        if nbest.references is not None and any(len(references) > 1 for references in nbest.references):
            runtime.warn(
                f"{path}: all references but the first are left out, because {self.name} has a field for only one"
            )
        unit = math.log(2) if self.base == "2" else 1.0
        texts, scores = nbest.texts(), nbest.scores.tolist()
        for i, number in enumerate(numbers):
            lines = [] if nbest.sources is None else [f"S-{number}\t{_line(nbest.sources[i])}"]
            if nbest.references is not None and nbest.references[i]:
                lines.append(f"T-{number}\t{_line(nbest.references[i][0])}")
            for h in range(int(nbest.sentences[i]), int(nbest.sentences[i + 1])):
                tokens, _, positions = (kept[h] if kept is not None else "\t").rpartition("\t")
                positions = positions if same_base else ""
                if not positions and nbest.logprobs is not None and not np.isnan(nbest.logprobs[h]):
                    positions = repr(float(nbest.logprobs[h]) / unit)
                lines.append(f"H-{number}\t{scores[h]!r}\t{tokens if both else texts[h]}")
                lines += [f"D-{number}\t{scores[h]!r}\t{texts[h]}"] if both else []
                lines += [f"P-{number}\t{positions}"] if positions else []
            yield "".join(f"{line}\n" for line in lines).encode()

    @classmethod
    def looks_like(cls, lines: Sequence[str]) -> bool:
        """Return True if all lines look like fairseq's, and some are of sentences."""
        lines = [line.removesuffix("\r") for line in lines]
        return any(map(_LINE.fullmatch, lines)) and all(_LINE.fullmatch(x) or _SKIPPED.fullmatch(x) for x in lines)


def _line(text: str) -> str:
    return re.sub(r"[\r\n]", " ", text)
