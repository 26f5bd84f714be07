"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998; Heafield et al. 2013)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import BOS, EOS, UNK, Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import Options, option
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.spill import ArrayBuilder, spill_arrays
from dragoman.core.store import read_rows
from dragoman.core.workspace import Workspace
from dragoman.model.language_model import LanguageModel
from dragoman.model.linked_ngrams import LinkedNGrams, index_ngrams
from dragoman.training.lm.counts import NGramCounts, count_ngrams

_IMPOSSIBLE = -100.0

#: A text of this many words has n-grams that occur once, twice and three times, unless it repeats itself.
_MUCH_TEXT = 10_000

#: Memory for smoothing an n-gram, in bytes.
_NGRAM = 200

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def _numbers(flag: str, text: str) -> list[float]:
    try:
        return [float(number) for number in text.replace(",", " ").split() or [""]]
    except ValueError:
        raise UsageError(f"{flag} is '{text}'; expected numbers separated by commas") from None


@dataclass(frozen=True)
class KneserNey(Options):
    """Options of language model estimation.

    >>> KneserNey(order=4, prune="0,0,1").thresholds
    [0, 0, 1, 1]
    """

    order: int = option(3, "length of the longest n-grams", minimum=1, maximum=16)
    prune: str = option(
        "0",
        "drop n-grams with at most this count, one number per order as in 0,0,1; the last applies to higher orders",
    )
    vocabulary: Literal["open", "closed"] = option(
        "open", "open: <unk> gets the probability of a word with count 0; closed: none unless the text contains it"
    )
    word_list: Path | None = option(None, "file of the words to keep; every other word counts as <unk>")
    discount_fallback: str = option(
        "0.5,1,1.5",
        "discounts of counts 1, 2 and 3 or more for orders where they cannot be estimated: in too little text, or text"
        " with much repetition",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        thresholds = self.thresholds
        if thresholds[0] != 0 or (np.diff(thresholds) < 0).any():
            raise UsageError(f"prune is '{self.prune}'; expected 0 for words, then numbers that do not decrease")
        fallback = self.fallback_discounts
        if len(fallback) != 3 or not all(0 < d <= k for k, d in enumerate(fallback, 1)):
            raise UsageError(
                f"discount_fallback is '{self.discount_fallback}'; expected three numbers above 0, at most 1, 2 and 3"
            )

    @property
    def thresholds(self) -> list[int]:
        """The count up to which n-grams are dropped, for each order."""
        numbers = _numbers("prune", self.prune)
        if not all(number.is_integer() for number in numbers):
            raise UsageError(f"prune is '{self.prune}'; expected whole numbers")
        thresholds = [int(number) for number in numbers]
        if len(thresholds) > self.order:
            raise UsageError(
                f"prune is '{self.prune}', {len(thresholds)} numbers; expected at most {self.order}, the order"
            )
        return thresholds + thresholds[-1:] * (self.order - len(thresholds))

    @property
    def fallback_discounts(self) -> list[float]:
        """The discounts of counts 1, 2 and 3 or more if they cannot be estimated."""
        return _numbers("discount-fallback", self.discount_fallback)


_DEFAULTS = KneserNey()


def estimate(corpus: Corpus, options: KneserNey = _DEFAULTS, *, runtime: Runtime = Runtime()) -> NGrams:
    """Estimate a back-off language model from tokenised text.

    Every count c is lowered by a discount D(c) that depends on the order; the mass saved in a context goes to the next
    shorter one, and at the bottom evenly to all words, `</s>` and `<unk>`. Below the highest order, an n-gram counts
    once for each different word before it, unless it begins with `<s>`. The numbers are those of KenLM's lmplz.

    The vocabulary has the words that occur, in the order of the corpus' vocabulary. Unigrams are in that order, longer
    n-grams are sorted by their ids. An order without n-grams in the text is empty. N-grams are counted in the memory of
    the workspace, by all workers.
    """
    vocab, smoothed = _estimated(corpus, options, runtime)
    return NGrams(
        vocab,
        tuple(
            NGramTable(table.words[table.kept], table.logprobs[table.kept], table.backoffs[table.kept])
            for table in smoothed
        ),
    )


def estimate_model(corpus: Corpus, options: KneserNey = _DEFAULTS, *, runtime: Runtime = Runtime()) -> LanguageModel:
    """Estimate a language model as `estimate` does, and index it: all in the memory of the workspace.

    Arrays that are large for it are mapped from its folder.
    """
    vocab, smoothed = _estimated(corpus, options, runtime)
    with runtime.stage("indexing the language model") as progress_callback:
        return index_ngrams(vocab, smoothed, progress_callback=progress_callback, runtime=runtime)


def _estimated(corpus: Corpus, options: KneserNey, runtime: Runtime) -> tuple[Vocab, list[LinkedNGrams]]:
    if not corpus.words:
        raise DataError("the corpus has no words", expected="text to estimate a language model from")
    _refuse_markers(corpus)
    (vocab, sentences), workspace = _vocabulary(corpus, options), runtime.workspace
    with runtime.stage("counting n-grams") as progress_callback:
        counts = count_ngrams(
            sentences, len(vocab), options.order, progress_callback=progress_callback, runtime=runtime
        )
    with runtime.stage("estimating the language model") as progress_callback:
        adjusted = [_continuations(*pair, workspace) for pair in itertools.pairwise(counts)] + [counts[-1].occurrences]
        discounts = _discounts(adjusted, options, runtime)
        return vocab, _smooth(counts, adjusted, discounts, options, workspace, progress_callback)


def _refuse_markers(corpus: Corpus) -> None:
    words, offsets = corpus.sentences.values, corpus.sentences.offsets
    markers = np.flatnonzero((words == BOS) | (words == EOS))
    if len(markers):
        line = int(np.searchsorted(offsets, markers[0], side="right"))
        raise DataError(
            f"line {line} of the corpus contains the word {corpus.vocab[words[markers[0]]]}",
            expected="text without sentence markers",
        )


def _vocabulary(corpus: Corpus, options: KneserNey) -> tuple[Vocab, Ragged[np.int32]]:
    """Return the vocabulary of the model, and the sentences in its ids."""
    words, offsets = corpus.sentences.values, corpus.sentences.offsets
    wanted = np.bincount(words, minlength=len(corpus.vocab)) > 0
    if options.word_list is not None:
        wanted &= corpus.vocab.map_to(Corpus.read(options.word_list).vocab) != UNK
    wanted[[UNK, BOS, EOS]] = True
    if wanted.all():
        return corpus.vocab, corpus.sentences
    kept = np.flatnonzero(wanted).astype(np.int32)
    vocab, _, _ = Vocab.of().extend(corpus.vocab.decode(kept, np.array([0, len(kept)])))
    new_ids = np.where(wanted, np.cumsum(wanted) - 1, UNK).astype(np.int32)
    return vocab, Ragged(new_ids[words], offsets)


def _continuations(table: NGramCounts, longer: NGramCounts, workspace: Workspace) -> Counts:
    """Return the adjusted counts of an order below the highest."""
    adjusted = np.zeros(len(table), np.int64)
    for suffixes in _pieces(longer.suffixes, workspace):
        adjusted += np.bincount(suffixes, minlength=len(table))
    # N-grams are sorted: those that begin with `<s>` stand together.
    first, last = np.searchsorted(table.words[:, 0], np.array([BOS, BOS + 1], np.int32)).tolist()
    adjusted[first:last] = read_rows(table.occurrences, first, last)
    order = table.words.shape[1]
    return spill_arrays(workspace, f"adjusted-{order}", {"counts": adjusted})["counts"]


def _pieces(column: NDArray[Any], workspace: Workspace) -> Iterator[NDArray[Any]]:
    """Yield pieces of a column that fit into memory."""
    size = max(workspace.room() // _NGRAM, 1)
    return (read_rows(column, first, first + size) for first in range(0, len(column), size))


def _discounts(adjusted: Sequence[Counts], options: KneserNey, runtime: Runtime) -> list[Floats]:
    """Return D(c) of c = 0, 1, 2 and 3 or more for each order, from counts of counts.

    If these give no discount above 0, those of `discount_fallback` are used, with a warning that says why.
    """
    discounts, poor, repeating = [], [], []
    much = sum(int(piece.sum()) for piece in _pieces(adjusted[-1], runtime.workspace)) >= _MUCH_TEXT
    for order, counts in enumerate(adjusted, 1):
        pieces = (np.bincount(np.minimum(piece, 5), minlength=6) for piece in _pieces(counts, runtime.workspace))
        n1, n2, n3, n4 = sum(pieces, np.zeros(6, np.int64))[1:5].tolist()
        estimated = np.zeros(4)
        if n1 and n2 and n3:
            y = n1 / (n1 + 2 * n2)  # Chen and Goodman 1998, equations 26
            estimated[1:] = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
        if (estimated[1:] <= 0).any():
            estimated[1:] = options.fallback_discounts
            if len(counts) and much:
                repeating.append(f"of {len(counts):,} {order}-grams {n1:,} / {n2:,} / {n3:,} / {n4:,}")
            elif len(counts):
                poor.append(str(order))
        discounts.append(estimated)
    if poor:
        runtime.warn(
            f"too little text to estimate the discounts of order {', '.join(poor)}; "
            f"{options.discount_fallback} are used instead"
        )
    if repeating:
        runtime.warn(
            f"the text repeats itself: {'; '.join(repeating)} count once / twice / three / four times, from which no"
            f" discounts can be estimated; {options.discount_fallback} are used instead"
        )
    return discounts


def _smooth(
    counts: Sequence[NGramCounts],
    adjusted: Sequence[Counts],
    discounts: Sequence[Floats],
    options: KneserNey,
    workspace: Workspace,
    progress_callback: ProgressCallback,
) -> list[LinkedNGrams]:
    """Return p(w | h) = (c - D(c)) / total(h) + gamma(h) p(w | h'), with log gamma(h) as back-off weight, by order."""
    no_mass = [BOS] if options.vocabulary == "open" or adjusted[0][UNK] else [BOS, UNK]
    lower = np.array([1 / (len(counts[0]) - len(no_mass))])
    logprobs, kept, backoffs = list[NDArray[Any]](), list[NDArray[Any]](), list[NDArray[Any]]()
    for n, (table, c, discount, threshold) in enumerate(
        zip(counts, adjusted, discounts, options.thresholds, strict=True), 1
    ):
        made = (
            ArrayBuilder(workspace, f"logprobs-{n}", np.float32, len(table)),
            ArrayBuilder(workspace, f"kept-{n}", np.bool_, len(table)),
            ArrayBuilder(workspace, f"backoffs-{n - 1}", np.float32, len(lower)),
        )
        # The probabilities of the highest order are not needed again.
        probabilities, contexts = np.empty(len(table) if n < len(counts) else 0), 0
        for at in _blocks(table.contexts, workspace):
            block = _smooth_block(table, at, c, discount, threshold if n > 1 else -1, lower)
            if n < len(counts):
                probabilities[at] = block.probabilities
            block_logprobs = np.log10(block.probabilities)
            if n == 1:
                block_logprobs[no_mass] = _IMPOSSIBLE
                block_logprobs[BOS] = 0  # as lmplz writes it; it is never used
            made[0].write(block_logprobs)
            made[1].write(block.kept)
            # What is no context has back-off weight 1.
            made[2].write(np.zeros(block.first_context - contexts))
            made[2].write(np.log10(block.gamma))
            contexts = block.first_context + len(block.gamma)
            progress_callback((n - 1 + at.stop / len(table)) / len(counts))
        made[2].write(np.zeros(len(lower) - contexts))
        for finished, column in zip((logprobs, kept, backoffs), made, strict=True):
            finished.append(column.finish())
        lower = probabilities
    backoffs.append(np.zeros(len(counts[-1]), np.float32))  # takes no memory as long as nothing is written there
    return [
        LinkedNGrams(table.words, table.contexts, table.suffixes, *columns)
        for table, *columns in zip(counts, logprobs, backoffs[1:], kept, strict=True)
    ]


class _Block(NamedTuple):
    """Smoothed n-grams of some contexts, and the mass that each context leaves to the shorter one."""

    probabilities: Floats
    kept: NDArray[np.bool_]
    gamma: Floats
    first_context: int


def _smooth_block(
    table: NGramCounts, at: slice, adjusted: Counts, discount: Floats, threshold: int, lower: Floats
) -> _Block:
    """Smooth some n-grams of an order; `lower` has the probabilities of the order below."""
    first, last = at.start, at.stop
    contexts, c = read_rows(table.contexts, first, last), read_rows(adjusted, first, last)
    kept = read_rows(table.occurrences, first, last) > threshold
    first_context = int(contexts[0])
    contexts = contexts - first_context
    number = int(contexts[-1]) + 1
    discounted = discount[np.minimum(c, 3)]
    total = np.bincount(contexts, c, number)
    # An n-gram that is dropped leaves its whole count to the shorter context.
    saved = np.bincount(contexts, np.where(kept, discounted, c), number)
    gamma = np.divide(saved, total, out=np.ones(number), where=total > 0)
    seen = (c - discounted) / total[contexts]
    probabilities = seen + gamma[contexts] * lower[read_rows(table.suffixes, first, last)]
    return _Block(probabilities, kept, gamma, first_context)


def _blocks(contexts: NDArray[np.int32], workspace: Workspace) -> Iterator[slice]:
    """Yield ranges of n-grams that fit into memory; those of a context are in one, so that sums are always the same."""
    size, first = max(workspace.room() // _NGRAM, 1), 0
    while first < len(contexts):
        last = min(first + size, len(contexts))
        if last < len(contexts):
            begin, end = (int(np.searchsorted(contexts, contexts[last], side)) for side in ("left", "right"))
            last = begin if begin > first else end
        yield slice(first, last)
        first = last
