"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998; Heafield et al. 2013)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.ngrams import NGrams, NGramTable
from dragoman.core.options import Options, option
from dragoman.core.progress import SILENT, Progress
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import BOS, EOS, UNK, Vocab
from dragoman.core.work.workers import Workers
from dragoman.core.workspace import Workspace
from dragoman.training.lm.counts import NGramCounts, count_ngrams

_IMPOSSIBLE = -100.0

#: In a text of so many words some n-grams occur once, some twice and some three times, unless it repeats itself.
_MUCH_TEXT = 10_000

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def _numbers(flag: str, text: str) -> list[float]:
    try:
        return [float(number) for number in text.replace(",", " ").split() or [""]]
    except ValueError:
        raise UsageError(f"{flag} is '{text}'; expected numbers separated by commas") from None


@dataclass(frozen=True)
class KneserNey(Options):
    """How to estimate a language model.

    >>> KneserNey(order=4, prune="0,0,1").thresholds
    [0, 0, 1, 1]
    """

    order: int = option(3, "length of the longest n-grams", minimum=1, maximum=16)
    prune: str = option(
        "0",
        "drop n-grams seen at most so often, a number for each order as in 0,0,1; the last holds for all higher ones",
    )
    vocabulary: Literal["open", "closed"] = option(
        "open", "open: <unk> gets what a word of count zero would get; closed: nothing, unless the text contains it"
    )
    word_list: Path | None = option(None, "file of the words to keep; every other word counts as <unk>")
    discount_fallback: str = option(
        "0.5,1,1.5",
        "discounts of counts 1, 2 and 3 or more for orders where they cannot be estimated: in too little text, or text"
        " that repeats itself",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        thresholds = self.thresholds
        if thresholds[0] != 0 or (np.diff(thresholds) < 0).any():
            raise UsageError(f"prune is '{self.prune}'; expected 0 for words, then numbers that do not fall")
        fallback = self.fallback_discounts
        if len(fallback) != 3 or not all(0 < d <= k for k, d in enumerate(fallback, 1)):
            raise UsageError(
                f"discount-fallback is '{self.discount_fallback}'; expected three numbers above 0, at most 1, 2 and 3"
            )

    @property
    def thresholds(self) -> list[int]:
        """For each order the number of occurrences up to which n-grams are dropped."""
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
        """The discounts of counts 1, 2 and 3 or more where they cannot be estimated."""
        return _numbers("discount-fallback", self.discount_fallback)


_DEFAULTS = KneserNey()


def estimate(
    corpus: Corpus,
    options: KneserNey = _DEFAULTS,
    *,
    workspace: Workspace | None = None,
    workers: Workers | None = None,
    threads: int = 1,
    progress: Progress = SILENT,
) -> NGrams:
    """Estimate a back-off language model from tokenised text.

    Every count c is lowered by a discount D(c) that depends on the order; what is saved in a context goes to the next
    shorter one, and at the bottom evenly to all words, `</s>` and `<unk>`. Below the highest order, an n-gram counts
    once for each different word before it, unless it begins with `<s>`. The numbers are those of KenLM's lmplz.

    The model's vocabulary holds the words that occur, in the order of the corpus' vocabulary. Unigrams stand in that
    order and longer n-grams sorted by their ids. An order of which the text has no n-grams is left empty. N-grams are
    counted in the memory of a `workspace`, by `workers` if they are elsewhere.
    """
    if not corpus.words:
        raise DataError("the corpus has no words", expected="text to estimate a language model from")
    _refuse_markers(corpus)
    vocab, sentences = _vocabulary(corpus, options)
    with progress.stage("counting n-grams") as share:
        counts = count_ngrams(
            sentences, len(vocab), options.order, workspace=workspace, workers=workers, threads=threads, share=share
        )
    with progress.stage("estimating the language model"):
        adjusted = [_continuations(*pair) for pair in itertools.pairwise(counts)] + [counts[-1].occurrences]
        return NGrams(vocab, _smooth(counts, adjusted, _discounts(adjusted, options, progress), options))


def _refuse_markers(corpus: Corpus) -> None:
    words, offsets = corpus.sentences.values, corpus.sentences.offsets
    markers = np.flatnonzero((words == BOS) | (words == EOS))
    if len(markers):
        line = int(np.searchsorted(offsets, markers[0], side="right"))
        raise DataError(
            f"line {line} of the corpus contains the word {corpus.vocab[words[markers[0]]]}",
            expected="text without marks of sentence ends",
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


def _continuations(table: NGramCounts, longer: NGramCounts) -> Counts:
    """Return the adjusted counts of an order below the highest."""
    preceding = np.bincount(longer.suffixes, minlength=len(table))
    return np.where(table.words[:, 0] == BOS, table.occurrences, preceding)


def _discounts(adjusted: Sequence[Counts], options: KneserNey, progress: Progress) -> list[Floats]:
    """Return for each order D(c) of c = 0, 1, 2 and 3 or more, from how many n-grams have which count.

    Where that gives none, or none above 0, they are those of `discount_fallback`, with a warning that says why.
    """
    discounts, poor, repeating = [], [], []
    much = adjusted[-1].sum() >= _MUCH_TEXT
    for order, counts in enumerate(adjusted, 1):
        n1, n2, n3, n4 = (int((counts == c).sum()) for c in (1, 2, 3, 4))
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
        progress.warn(
            f"too little text to estimate the discounts of order {', '.join(poor)}; "
            f"{options.discount_fallback} are used in their place"
        )
    if repeating:
        progress.warn(
            f"the text repeats itself: {'; '.join(repeating)} count once / twice / three / four times, from which no"
            f" discounts can be estimated; {options.discount_fallback} are used in their place"
        )
    return discounts


def _smooth(
    counts: Sequence[NGramCounts], adjusted: Sequence[Counts], discounts: Sequence[Floats], options: KneserNey
) -> tuple[NGramTable, ...]:
    """Return p(w | h) = (c - D(c)) / total(h) + gamma(h) p(w | h'), with log gamma(h) as back-off weight, by order."""
    kept = [table.occurrences > threshold for table, threshold in zip(counts, options.thresholds, strict=True)]
    kept[0][:] = True
    logprobs, gammas = [], []
    no_mass = [BOS] if options.vocabulary == "open" or adjusted[0][UNK] else [BOS, UNK]
    probabilities = np.array([1 / (len(counts[0]) - len(no_mass))])
    for table, c, discount, keep in zip(counts, adjusted, discounts, kept, strict=True):
        contexts = len(probabilities)
        discounted = discount[np.minimum(c, 3)]
        total = np.bincount(table.contexts, c, contexts)
        # An n-gram that is dropped leaves its whole count to the shorter context.
        saved = np.bincount(table.contexts, np.where(keep, discounted, c), contexts)
        gamma = np.divide(saved, total, out=np.ones(contexts), where=total > 0)
        seen = (c - discounted) / total[table.contexts]
        probabilities = seen + gamma[table.contexts] * probabilities[table.suffixes]
        logprobs.append(np.log10(probabilities))
        gammas.append(gamma)
    logprobs[0][no_mass] = _IMPOSSIBLE
    logprobs[0][BOS] = 0  # as lmplz writes it; nothing asks for it
    gammas.append(np.ones(len(probabilities)))
    return tuple(
        NGramTable(table.words[keep], p[keep].astype(np.float32), np.log10(gamma[keep]).astype(np.float32))
        for table, keep, p, gamma in zip(counts, kept, logprobs, gammas[1:], strict=True)
    )
