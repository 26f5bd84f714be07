"""A phrase table at run time: exact look-up of source phrases, targets and log scores as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError
from dragoman.core.phrases import REORDERING_SCORES, Components, PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays, blocks, check_numbers, check_offsets, check_range, ragged_array, typed_array

#: The logarithm that stands for probability 0, as in Moses.
LOG_ZERO = -100.0


def log_scores(probabilities: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Natural logarithms, `LOG_ZERO` at least; in single precision, whatever the probabilities are in."""
    with np.errstate(divide="ignore"):
        logs: NDArray[np.float32] = np.maximum(np.log(probabilities), LOG_ZERO).astype(np.float32, copy=False)
    return logs


def probabilities(logs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Undo `log_scores`, in single precision; infinite beyond its range."""
    with np.errstate(over="ignore"):
        return np.where(logs <= LOG_ZERO, np.float32(0), np.exp(logs.astype(np.float64)).astype(np.float32))


def names_in(about: Mapping[str, Any], heading: str) -> tuple[str, ...]:
    """Return names that a description in `model.toml` lists; refuse anything else."""
    names = about[heading]
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"model.toml calls its {heading} {names!r}", expected="a list of names")
    return tuple(names)


def check_components(components: Components | None, name: str = "components") -> None:
    """Refuse components that are no probabilities; `name` is that of their array."""
    if components is not None:
        check_numbers(name, components.probabilities)
        if components.probabilities.min(initial=0) < 0:
            raise DataError(f"the array '{name}' has a negative number", expected="probabilities")


#: The first letters of the name of a score that counts the pairs which only a later table has (see `mixture.py`).
PROVENANCE = "from_"


def probability_names(score_names: Sequence[str], logs: NDArray[np.float32]) -> tuple[str, ...]:
    """Return the names of the scores that are probabilities: none above 1, nor those that say where a pair is from.

    Tables of other systems may have counts and penalties as powers of e.

    >>> probability_names(["fwd", "penalty", "from_out"], np.array([[-0.5, 1.0, -1.0]], np.float32))
    ('fwd',)
    """
    highest = logs.max(axis=0, initial=LOG_ZERO) if len(logs) else np.zeros(len(score_names))
    return tuple(
        name
        for name, most in zip(score_names, highest.tolist(), strict=True)
        if most <= 0 and not name.startswith(PROVENANCE)
    )


#: The words of a phrase: word links count them in a byte.
LONGEST_PHRASE = 255

_REORDERING, _MIXED, _PART = "reordering.", "reordering_components.", "a phrase table"


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """Phrase pairs grouped by source: those of source phrase `s` are rows `first_pair[s]` to `first_pair[s + 1]`.

    Within a group pairs are sorted by p(e|f), best first, so that a table limit is a prefix. Scores are natural
    logarithms. `index` is the hash index over `sources`. With `components` the table is a mixture that weights decide
    upon, see `mixture.py`; `log_scores` and the order of its pairs are those of the mixture that it was made as.
    """

    score_names: tuple[str, ...]
    sources: Ragged[np.int32]
    index: NDArray[np.int32]
    first_pair: NDArray[np.int64]
    targets: Ragged[np.int32]
    target_ids: NDArray[np.int32]
    log_scores: NDArray[np.float32]
    alignments: Ragged[np.uint16] | None
    counts: NDArray[np.float32] | None
    log_reordering: Mapping[str, NDArray[np.float32]]
    components: Components | None = None
    reordering_components: Mapping[str, Components] = field(default_factory=dict)

    @classmethod
    def from_pairs(cls, pairs: PhrasePairs) -> PhraseTable:
        """Index a table of phrase pairs; phrases that no pair uses are left out."""
        pairs = _grouped(pairs)
        used_sources, source_ids = np.unique(pairs.source_ids, return_inverse=True)
        used_targets, target_ids = np.unique(pairs.target_ids, return_inverse=True)
        sources = pairs.sources.take(used_sources)
        first_pair = np.zeros(len(sources) + 1, np.int64)
        np.cumsum(np.bincount(source_ids, minlength=len(sources)), out=first_pair[1:])
        return cls(
            score_names=pairs.score_names,
            sources=sources,
            index=kernels.sequence_index(sources.values, sources.offsets),
            first_pair=first_pair,
            targets=pairs.targets.take(used_targets),
            target_ids=target_ids.astype(np.int32),
            log_scores=log_scores(pairs.scores),
            alignments=pairs.alignments,
            counts=pairs.counts,
            log_reordering={name: log_scores(scores) for name, scores in pairs.reordering.items()},
            components=pairs.components,
            reordering_components=pairs.reordering_components,
        )

    def to_pairs(self, source_vocab: Vocab, target_vocab: Vocab) -> PhrasePairs:
        """Return the table as columns, with probabilities, for writing or changing."""
        return PhrasePairs(
            source_vocab=source_vocab,
            target_vocab=target_vocab,
            sources=self.sources,
            targets=self.targets,
            source_ids=np.repeat(np.arange(len(self.sources), dtype=np.int32), np.diff(self.first_pair)),
            target_ids=self.target_ids,
            scores=probabilities(self.log_scores),
            score_names=self.score_names,
            alignments=self.alignments,
            counts=self.counts,
            reordering={name: probabilities(scores) for name, scores in self.log_reordering.items()},
            components=self.components,
            reordering_components=dict(self.reordering_components),
        )

    def __len__(self) -> int:
        return len(self.target_ids)

    @cached_property
    def probability_names(self) -> tuple[str, ...]:
        """The names of the scores that are probabilities; others are counts."""
        return probability_names(self.score_names, self.log_scores)

    @property
    def max_source_length(self) -> int:
        """The length of the longest source phrase."""
        return int(self.sources.lengths.max(initial=0))

    def lookup(self, phrase: Sequence[int] | NDArray[np.int32]) -> range:
        """Return the rows of the pairs of a source phrase, given as word ids."""
        tokens = np.array(phrase, np.int32)
        lines = np.array([0, len(tokens)], np.int64)
        if not len(tokens):
            return range(0)
        sources = self.sources
        found = kernels.match_spans(tokens, lines, len(tokens), sources.values, sources.offsets, self.index)
        source = int(found[0, -1])
        return range(int(self.first_pair[source]), int(self.first_pair[source + 1])) if source >= 0 else range(0)

    def rows_for(self, corpus: Corpus, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Return the rows of all pairs whose source phrase occurs in a text encoded with the model's vocabulary."""
        wanted = np.zeros(len(self.sources), bool)
        sources, sentences = self.sources, corpus.sentences
        with runtime.stage("finding phrases") as progress_callback:
            found = kernels.match_spans(
                sentences.values,
                sentences.offsets,
                max(1, self.max_source_length),
                sources.values,
                sources.offsets,
                self.index,
                runtime.threads,
                progress_callback,
            )
        wanted[found[found >= 0]] = True
        return np.flatnonzero(np.repeat(wanted, np.diff(self.first_pair)))

    def arrays(self) -> Arrays:
        """Return the arrays that make up the table, by name, for storing."""
        arrays: Arrays = {
            "sources": self.sources.values,
            "source_offsets": self.sources.offsets,
            "index": self.index,
            "first_pair": self.first_pair,
            "targets": self.targets.values,
            "target_offsets": self.targets.offsets,
            "target_ids": self.target_ids,
            "log_scores": self.log_scores,
        }
        if self.alignments is not None:
            arrays |= {"alignments": self.alignments.values, "alignment_offsets": self.alignments.offsets}
        if self.counts is not None:
            arrays["counts"] = self.counts
        if self.components is not None:
            arrays["components"] = self.components.probabilities
        arrays |= {f"{_MIXED}{name}": parts.probabilities for name, parts in self.reordering_components.items()}
        return arrays | {f"{_REORDERING}{name}": scores for name, scores in self.log_reordering.items()}

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Refuse arrays in which a look-up could leave them or never end: they are read once from end to end."""
        for name, phrases, vocab in (("source", self.sources, source_vocab), ("target", self.targets, target_vocab)):
            check_offsets(f"{name}_offsets", phrases.offsets, len(phrases.values), longest=LONGEST_PHRASE)
            check_range(f"{name}s", phrases.values, 0, len(vocab))
        check_range("index", self.index, -1, len(self.sources))
        if self.index.min() >= 0:
            raise DataError("the array 'index' has no free slot", expected="at least one")
        check_offsets("first_pair", self.first_pair, len(self))
        check_range("target_ids", self.target_ids, 0, len(self.targets))
        check_numbers("log_scores", self.log_scores)
        for name, scores in self.log_reordering.items():
            check_numbers(f"{_REORDERING}{name}", scores)
        if self.alignments is not None:
            self._check_links(self.alignments)
        check_components(self.components)
        for name, parts in self.reordering_components.items():
            check_components(parts, f"{_MIXED}{name}")

    def _check_links(self, links: Ragged[np.uint16]) -> None:
        check_offsets("alignment_offsets", links.offsets, len(links.values))
        for rows in blocks(len(self)):
            source = np.searchsorted(self.first_pair, np.arange(rows.start, rows.stop), side="right") - 1
            target, ends = self.target_ids[rows], links.offsets[rows.start : rows.stop + 1]
            values = links.values[ends[0] : ends[-1]]
            for phrases, phrase, position in (
                (self.sources, source, values >> 8),
                (self.targets, target, values & 255),
            ):
                lengths = phrases.offsets[phrase + 1] - phrases.offsets[phrase]
                if np.any(position >= np.repeat(lengths, np.diff(ends))):
                    raise DataError("the array 'alignments' links words that do not exist", expected=_PART)

    def about(self) -> dict[str, Any]:
        """Return its description in `model.toml`."""
        about = {"scores": list(self.score_names), "pairs": len(self), "sources": len(self.sources)}
        return about if self.components is None else about | {"components": list(self.components.names)}

    @classmethod
    def rebuild(cls, about: Mapping[str, Any], arrays: Arrays) -> PhraseTable:
        """Rebuild a table from its description and arrays."""
        components = names_in(about, "components") if "components" in about else ()
        return cls.from_arrays(names_in(about, "scores"), arrays, components=components)

    @classmethod
    def from_arrays(cls, score_names: Sequence[str], arrays: Arrays, *, components: Sequence[str] = ()) -> PhraseTable:
        """Rebuild a table from its `arrays`; refuse arrays that do not fit together. Little of them is read."""
        sources = ragged_array(arrays, "sources", "source_offsets", np.int32, _PART)
        targets = ragged_array(arrays, "targets", "target_offsets", np.int32, _PART)
        target_ids = typed_array(arrays, "target_ids", np.int32, (None,), _PART)
        pairs, scores = len(target_ids), len(score_names)
        first_pair = typed_array(arrays, "first_pair", np.int64, (len(sources.offsets),), _PART)
        index = typed_array(arrays, "index", np.int32, (None,), _PART)
        alignments = parts = None
        if "alignments" in arrays or "alignment_offsets" in arrays:
            alignments = ragged_array(arrays, "alignments", "alignment_offsets", np.uint16, _PART)
        fits = [
            (first_pair[0] == 0 and first_pair[-1] == pairs, "first_pair"),
            (len(index).bit_count() == 1 and len(index) >= len(sources.offsets), "index"),
            (alignments is None or len(alignments.offsets) == pairs + 1, "alignment_offsets"),
        ]
        for holds, name in fits:
            if not holds:
                raise DataError(f"the array '{name}' does not fit the others", expected=_PART)
        if components:
            cube = (pairs, len(components), scores)
            parts = Components(tuple(components), typed_array(arrays, "components", np.float32, cube, _PART))
        reordering, mixed, orientations = {}, {}, len(REORDERING_SCORES)
        for name in arrays:
            if name.startswith(_REORDERING):
                shape = (pairs, orientations)
                reordering[name.removeprefix(_REORDERING)] = typed_array(arrays, name, np.float32, shape, _PART)
            elif name.startswith(_MIXED):
                cube = (pairs, len(components), orientations)
                mixed[name.removeprefix(_MIXED)] = Components(
                    tuple(components), typed_array(arrays, name, np.float32, cube, _PART)
                )
        if not mixed.keys() <= reordering.keys():
            raise DataError(f"orientations of {', '.join(mixed)} have components only", expected=_PART)
        return cls(
            score_names=tuple(score_names),
            sources=sources,
            index=index,
            first_pair=first_pair,
            targets=targets,
            target_ids=target_ids,
            log_scores=typed_array(arrays, "log_scores", np.float32, (pairs, scores), _PART),
            alignments=alignments,
            counts=typed_array(arrays, "counts", np.float32, (pairs, 3), _PART) if "counts" in arrays else None,
            log_reordering=reordering,
            components=parts,
            reordering_components=mixed,
        )


def _grouped(pairs: PhrasePairs) -> PhrasePairs:
    if "fwd" in pairs.score_names:
        order = np.lexsort((-pairs.scores[:, pairs.score_names.index("fwd")], pairs.source_ids))
    else:
        order = np.argsort(pairs.source_ids, kind="stable")
    already = bool((order == np.arange(len(order))).all())
    return pairs if already else pairs.take(order)
