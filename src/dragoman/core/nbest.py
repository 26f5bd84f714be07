"""N-best lists: translations of many sentences with scores and features."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab, common_vocab
from dragoman.core.display import frame, html_table, pluralise
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged

T = TypeVar("T")
R = TypeVar("R", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Extras:
    """Contents of a file besides the n-best list itself, so that the same format can write it back.

    `style` describes the whole file; `hypotheses` and `sentences` have a row of bytes for each hypothesis or sentence.
    """

    format: str
    style: Mapping[str, int]
    hypotheses: Ragged[np.uint8] | None = None
    sentences: Ragged[np.uint8] | None = None


@dataclass(frozen=True, eq=False)
class NBest:
    """Lists of hypotheses, one after the other: sentence `i` has those from `sentences[i]` to `sentences[i + 1]`.

    Hypothesis `h` is the words `hypotheses[h]` of `vocab`, with score `scores[h]` (NaN if it has none) and row `h` of
    `features`. `segmentations[h]`, if known, is a matrix with a row for each phrase, in target order: source begin and
    end, target begin and end. `logprobs[h]`, if known, is the logarithm of its probability (NaN where it is not known).

    Sentences have the numbers or names `ids` (None: they count from 0), and may come with their source text and
    references. `rows[h]`, if known, is the position of hypothesis `h` in its file, by which files of numbers beside it
    are read.
    """

    vocab: Vocab
    sentences: NDArray[np.int64]
    hypotheses: Ragged[np.int32]
    scores: NDArray[np.float64]
    features: FeatureRows
    segmentations: Ragged[np.int32] | None = None
    logprobs: NDArray[np.float64] | None = None
    ids: tuple[int | str, ...] | None = None
    sources: tuple[str, ...] | None = None
    references: tuple[tuple[str, ...], ...] | None = None
    extras: Extras | None = None
    rows: NDArray[np.int64] | None = None

    @classmethod
    def of_texts(
        cls, texts: Sequence[str], scores: Sequence[float], sentences: NDArray[np.int64], vocab: Vocab | None = None
    ) -> NBest:
        """Build lists of tokenised texts with scores and without features; their words are added to `vocab`.

        >>> NBest.of_texts(["the house", "a house"], [-0.5, -1.0], np.array([0, 2]))
        NBest(1 sentence, 2 hypotheses, 0 features)
        """
        corpus = Corpus.from_lines(texts, vocab)
        numbers = np.array(scores, np.float64)
        return cls(corpus.vocab, sentences, corpus.sentences, numbers, FeatureRows.zeros(len(texts)))

    def __len__(self) -> int:
        return len(self.sentences) - 1

    @property
    def sentence_ids(self) -> tuple[int | str, ...]:
        """Number or name of each sentence."""
        return tuple(range(len(self))) if self.ids is None else self.ids

    def __repr__(self) -> str:
        return (
            f"NBest({pluralise(len(self), 'sentence')}, {pluralise(len(self.scores), 'hypothesis', 'hypotheses')},"
            f" {pluralise(len(self.features.names), 'feature')})"
        )

    def frame(self, *, features: bool = True) -> Any:
        """Return a pandas frame with a row per hypothesis: sentence, rank, text, score, and features by name."""
        sizes = np.diff(self.sentences)
        columns: dict[str, Any] = {
            "sentence": np.repeat(np.array(self.sentence_ids, object), sizes),
            "rank": np.arange(len(self.scores)) - np.repeat(self.sentences[:-1], sizes) + 1,
            "text": self.texts(),
            "score": self.scores,
        }
        if self.logprobs is not None:
            columns["logprob"] = self.logprobs
        return frame(columns | (self.features.columns() if features else {}))

    def _repr_html_(self) -> str:
        """Show the first hypotheses, for notebooks."""
        sizes = np.diff(self.sentences)
        sentences = np.repeat(np.array(self.sentence_ids, object), sizes)[:20].tolist()
        rows = [(sentence, self.line(h), float(self.scores[h])) for h, sentence in enumerate(sentences)]
        more = f" of {len(self.scores):,}" if len(self.scores) > len(rows) else ""
        return html_table(["sentence", "text", "score"], rows, f"{len(rows)}{more} hypotheses")

    def texts(self) -> builtins.list[str]:
        """Return all hypotheses as text."""
        return Corpus(self.vocab, self.hypotheses).lines()

    def list(self, i: int) -> NBest:
        """Return the list of one sentence as an n-best list; hypotheses are not copied."""
        at, rows = slice(i, i + 1), slice(*self.sentences[i : i + 2].tolist())
        extras = self.extras
        if extras is not None:
            of_rows = None if extras.hypotheses is None else extras.hypotheses.part(rows)
            of_sentence = None if extras.sentences is None else extras.sentences.part(at)
            extras = replace(extras, hypotheses=of_rows, sentences=of_sentence)
        return NBest(
            vocab=self.vocab,
            sentences=np.array([0, rows.stop - rows.start]),
            hypotheses=self.hypotheses.part(rows),
            scores=self.scores[rows],
            features=self.features.part(rows),
            segmentations=None if self.segmentations is None else self.segmentations.part(rows),
            logprobs=None if self.logprobs is None else self.logprobs[rows],
            ids=(i,) if self.ids is None else self.ids[at],
            sources=None if self.sources is None else self.sources[at],
            references=None if self.references is None else self.references[at],
            extras=extras,
            rows=None if self.rows is None else self.rows[rows],
        )

    def take(self, picked: NDArray[np.integer]) -> NBest:
        """Return the lists of the given sentences, in that order; they keep their numbers or names."""
        rows = Ragged(np.arange(len(self.hypotheses)), self.sentences).take(picked)
        names = self.sentence_ids
        chosen = picked.tolist()
        extras = self.extras
        if extras is not None and extras.sentences is not None:
            extras = replace(extras, sentences=extras.sentences.take(picked))
        return replace(
            replace(self, extras=extras)._take_hypotheses(rows.values),
            sentences=rows.offsets,
            ids=tuple(names[i] for i in chosen),
            sources=None if self.sources is None else tuple(self.sources[i] for i in chosen),
            references=None if self.references is None else tuple(self.references[i] for i in chosen),
        )

    def placed(self, places: NDArray[np.int64], ids: Sequence[int | str]) -> NBest:
        """Return the lists at `places` (an empty list for -1), with these ids."""
        extras = self.extras
        if extras is not None and extras.sentences is not None:
            empty = Ragged(np.empty(0, np.uint8), np.zeros(2, np.int64))
            extras = replace(extras, sentences=Ragged.concatenate([extras.sentences, empty]))
        with_an_empty_one = replace(
            self,
            sentences=np.append(self.sentences, self.sentences[-1]),
            ids=(*self.sentence_ids, ""),
            sources=None if self.sources is None else (*self.sources, ""),
            references=None if self.references is None else (*self.references, ()),
            extras=extras,
        )
        found = with_an_empty_one.take(np.where(places < 0, len(self), places))
        return replace(found, ids=tuple(ids))

    def place_of(self, h: int) -> str:
        """Describe a hypothesis for messages; it and its sentence are counted from 1."""
        i = int(np.searchsorted(self.sentences, h, side="right")) - 1
        return f"hypothesis {h - int(self.sentences[i]) + 1} of {self.called(i)}"

    def called(self, i: int) -> str:
        """Describe a sentence for messages: by its id, or by its position, counted from 1."""
        return f"sentence {i + 1}" if self.ids is None else f"the sentence with the id {self.ids[i]!r}"

    def line(self, h: int) -> str:
        """Return one hypothesis as text."""
        return self.vocab.text(self.hypotheses[h])

    def distinct(self, *, words_only: bool = False) -> NBest:
        """Remove duplicates: of hypotheses of a sentence with the same words and features, only the first is kept.

        A missing feature has the value 0. With `words_only`, features are not compared. Scores never are.
        """
        every = Ragged(np.arange(len(self.scores), dtype=np.int32), self.sentences)
        kept = self._first_of_equals(every, words_only=words_only)
        return self if len(kept.values) == len(every.values) else self.kept(kept.values)

    @classmethod
    def concatenate(cls, lists: Sequence[NBest]) -> NBest:
        """Concatenate lists, without ids, sources and references."""
        vocab, word_ids = common_vocab([part.vocab for part in lists])
        hypotheses = [
            part.hypotheses if part.vocab is vocab else Ragged(ids[part.hypotheses.values], part.hypotheses.offsets)
            for part, ids in zip(lists, word_ids, strict=True)
        ]
        shifts = np.cumsum([0, *(len(part.hypotheses) for part in lists)])
        ends = [part.sentences[1:] + shift for part, shift in zip(lists, shifts[:-1], strict=True)]
        logprobs = [part.logprobs for part in lists]
        return NBest(
            vocab=vocab,
            sentences=np.concatenate([np.zeros(1, np.int64), *ends]),
            hypotheses=Ragged.concatenate(hypotheses),
            scores=np.concatenate([part.scores for part in lists]),
            features=FeatureRows.concatenate([part.features for part in lists]),
            segmentations=_joined_rows([part.segmentations for part in lists]),
            logprobs=None
            if all(part is None for part in logprobs)
            else np.concatenate(
                [np.full(len(a.scores), np.nan) if b is None else b for a, b in zip(lists, logprobs, strict=True)]
            ),
            extras=_joined_extras([part.extras for part in lists]),
        )

    @classmethod
    def merge(cls, lists: Sequence[NBest]) -> NBest:
        """Merge lists of the same sentences, for example of several iterations.

        A sentence gets the hypotheses of all lists, in their order and without duplicates (see `distinct`); each keeps
        its first score. Sentences are matched by number or name; some may be missing from some lists. They are sorted
        by number or, if they have names, by first occurrence.
        """
        if not lists:
            raise UsageError("there are no n-best lists to merge")
        if len(lists) == 1:
            return lists[0].distinct()
        names = [part.sentence_ids for part in lists]
        ids = [*dict.fromkeys(name for part in names for name in part)]
        numbered = all(isinstance(name, int) for name in ids)
        if numbered:
            ids.sort(key=int)
        place = {name: i for i, name in enumerate(ids)}
        home = np.array([place[name] for part in names for name in part], np.int64)
        joined = NBest.concatenate(lists)
        sizes = np.diff(joined.sentences)
        order = np.argsort(np.repeat(home, sizes), kind="stable").astype(np.int32)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(home, sizes, len(ids)))]).astype(np.int64)
        kept = joined._first_of_equals(Ragged(order, bounds))
        together = joined._take_hypotheses(kept.values)
        extras = together.extras
        if extras is not None and extras.sentences is not None:
            extras = replace(extras, sentences=extras.sentences.take(np.unique(home, return_index=True)[1]))
        return replace(
            together,
            sentences=kept.offsets,
            ids=None if ids == [*range(len(ids))] else tuple(ids),
            sources=_known(ids, names, [part.sources for part in lists]),
            references=_known(ids, names, [part.references for part in lists]),
            extras=extras,
        )

    def kept(self, rows: NDArray[np.integer]) -> NBest:
        """Return only the given hypotheses, in ascending order; a sentence may be left with none."""
        return replace(self._take_hypotheses(rows), sentences=np.searchsorted(rows, self.sentences))

    def reordered(self, rows: NDArray[np.integer]) -> NBest:
        """Return the hypotheses in another order; the hypotheses of each sentence must stay together."""
        return self._take_hypotheses(rows)

    def _first_of_equals(self, groups: Ragged[np.int32], *, words_only: bool = False) -> Ragged[np.int32]:
        """Return groups of rows without those with the words and features of an earlier row of the group."""
        features = FeatureRows.zeros(len(self.scores)) if words_only else self.features.summed()
        rows = (groups.for_kernels(), self.hypotheses.for_kernels(), features.for_kernels())
        return Ragged(*kernels.distinct_hypotheses(*rows))

    def _take_hypotheses(self, rows: NDArray[np.integer]) -> NBest:
        """Return the given hypotheses, with the data of sentences unchanged."""
        extras = self.extras
        if extras is not None and extras.hypotheses is not None:
            extras = replace(extras, hypotheses=extras.hypotheses.take(rows))
        return replace(
            self,
            hypotheses=self.hypotheses.take(rows),
            scores=self.scores[rows],
            features=self.features.take(rows),
            segmentations=None if self.segmentations is None else self.segmentations.take(rows),
            logprobs=None if self.logprobs is None else self.logprobs[rows],
            extras=extras,
            rows=None if self.rows is None else self.rows[rows],
        )


def _joined_rows(parts: Sequence[Ragged[R] | None]) -> Ragged[R] | None:
    there = [part for part in parts if part is not None]
    return Ragged.concatenate(there) if len(there) == len(parts) else None


def _joined_extras(parts: Sequence[Extras | None]) -> Extras | None:
    there = [part for part in parts if part is not None and part.format == getattr(parts[0], "format", None)]
    if len(there) < len(parts):
        return None
    hypotheses = _joined_rows([part.hypotheses for part in there])
    return replace(there[0], hypotheses=hypotheses, sentences=_joined_rows([part.sentences for part in there]))


def _known(
    ids: Sequence[int | str], names: Sequence[Sequence[int | str]], parts: Sequence[Sequence[T] | None]
) -> tuple[T, ...] | None:
    """Return the value of each id in the first part that has it; None if an id has no value in any part."""
    known: dict[int | str, T] = {}
    for part_names, part in zip(names[::-1], parts[::-1], strict=True):
        known.update(zip(part_names, part or (), strict=part is not None))
    return tuple(known[name] for name in ids) if all(name in known for name in ids) else None
