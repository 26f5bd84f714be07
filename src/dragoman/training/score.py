"""Score phrase pairs: counts, smoothed translation probabilities, lexical weights and alignments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Bitext, Corpus, Links, aligned_rows, links_before
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.spill import spill_arrays
from dragoman.core.workspace import Workspace
from dragoman.model.counted_pairs import CountedPairs, InstanceGroups, NumberedSides
from dragoman.training.extract import PhraseInstances, Spans
from dragoman.training.lexical import LexicalTables, check_links, word_weights

Probabilities = tuple[NDArray[np.float64], NDArray[np.float64]]

#: Good-Turing discounts counts up to this one.
_HIGHEST_DISCOUNTED = 8
_LOWEST_DISCOUNT = 0.01


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of phrase pairs, their sources and targets, and of the distinct pairs of each source and target.

    `histogram` has the number of pairs that occurred 0, 1, 2, .. times, and `total` the number of pairs: of these or,
    if they are some of the pairs of a text, of all.
    """

    joint: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    distinct_source: NDArray[np.int64]
    distinct_target: NDArray[np.int64]
    histogram: NDArray[np.int64]
    total: int

    @classmethod
    def of(
        cls,
        source_ids: NDArray[np.int32],
        target_ids: NDArray[np.int32],
        joint: NDArray[np.int64],
        targets: Mapping[str, NDArray[np.int64]] | None = None,
        totals: NDArray[np.int64] | None = None,
    ) -> PairCounts:
        """Sum up the marginals of distinct pairs.

        If they are only some of the pairs of a text, `targets` are the `marginals` of target phrases in the whole text,
        and `totals` the sum of the `pair_totals` of its parts.
        """
        source = marginals(source_ids, joint)
        target = marginals(target_ids, joint) if targets is None else targets
        totals = pair_totals(joint) if totals is None else totals
        return cls(
            joint,
            source["total"][source_ids],
            target["total"][target_ids],
            source["distinct"][source_ids],
            target["distinct"][target_ids],
            totals[:-1],
            int(totals[-1]),
        )

    def __len__(self) -> int:
        return len(self.joint)


def marginals(ids: NDArray[np.int32], joint: NDArray[np.int64], size: int = 0) -> dict[str, NDArray[np.int64]]:
    """Count each phrase of one side: its occurrences (`total`) and the distinct pairs that have it (`distinct`)."""
    return {"total": np.bincount(ids, joint, size).astype(np.int64), "distinct": np.bincount(ids, minlength=size)}


def pair_totals(joint: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many pairs occurred c times, for the counts c that smoothing needs, and the number of all pairs."""
    few = joint[joint <= _HIGHEST_DISCOUNTED + 1]
    return np.append(np.bincount(few, minlength=_HIGHEST_DISCOUNTED + 2), len(joint))


def relative_frequency(counts: PairCounts, *, runtime: Runtime = Runtime()) -> Probabilities:
    """Return p(f|e) and p(e|f) without smoothing."""
    return counts.joint / counts.target, counts.joint / counts.source


def good_turing(counts: PairCounts, *, runtime: Runtime = Runtime()) -> Probabilities:
    """Discount low counts c to (c + 1) n(c + 1) / n(c), as Moses does (Foster, Kuhn & Johnson 2006, section 3.1).

    0.1 is added to each n; the ratio to c is kept between 0.01 and 1 and does not fall as c grows.
    """
    n = counts.histogram.astype(np.float64)
    if n[1] == 0 or n[2] == 0:
        runtime.warn("Good-Turing smoothing needs phrase pairs that occur once and twice; probabilities are unsmoothed")
        return relative_frequency(counts)
    c = np.arange(1, _HIGHEST_DISCOUNTED + 1)
    ratio = (c + 1) / c * (n[c + 1] + 0.1) / (n[c] + 0.1)
    discount = np.maximum.accumulate(np.concatenate([[_LOWEST_DISCOUNT], np.minimum(ratio, 1), [1]]))
    adjusted = counts.joint * discount[np.minimum(counts.joint, _HIGHEST_DISCOUNTED + 1)]
    return adjusted / counts.target, adjusted / counts.source


def kneser_ney(counts: PairCounts, *, runtime: Runtime = Runtime()) -> Probabilities:
    """Subtract D1, D2 or D3 from counts of one, two and more, and give the mass to the lower-order distribution.

    Modified Kneser-Ney (Foster, Kuhn & Johnson 2006, section 3.2) as Moses has it: what is given back is computed
    with the discount of the pair itself, so that the probabilities of a phrase need not sum to exactly one.
    """
    n = counts.histogram.astype(np.float64)
    if np.any(n[1:4] == 0):
        runtime.warn(
            "Kneser-Ney smoothing needs phrase pairs that occur once, twice and three times; "
            "probabilities are unsmoothed"
        )
        return relative_frequency(counts)
    y = n[1] / (n[1] + 2 * n[2])
    c = np.arange(1, 4)
    discounts = np.minimum(c - (c + 1) * y * n[c + 1] / n[c], c - 0.1)
    if np.any(discounts <= 0):
        runtime.warn("Kneser-Ney smoothing needs decreasing counts of counts; probabilities are unsmoothed")
        return relative_frequency(counts)
    d = discounts[np.minimum(counts.joint, 3) - 1]
    given_back = d * counts.distinct_source * counts.distinct_target / counts.total
    adjusted = counts.joint - d + given_back
    return adjusted / counts.target, adjusted / counts.source


SMOOTHINGS: dict[str, Callable[..., Probabilities]] = {
    "none": relative_frequency,
    "good-turing": good_turing,
    "kneser-ney": kneser_ney,
}


PhraseSmoothing = Literal["none", "good-turing", "kneser-ney"]


@dataclass(frozen=True, eq=False)
class ScoredPhrases:
    """A phrase table, and the pair of each instance."""

    pairs: PhrasePairs
    pair_of_instance: NDArray[np.int32]


class WeightedText(NamedTuple):
    """An aligned text with the number of links before each source word, and the lexical weights of its words."""

    bitext: Bitext
    links: Links
    first_link: NDArray[np.int64]
    source_weights: NDArray[np.float64]
    target_weights: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        bitext: Bitext,
        links: Links,
        lexical: LexicalTables,
        workspace: Workspace | None = None,
        progress_callback: ProgressCallback = lambda done: None,
    ) -> WeightedText:
        """Combine a bitext with its word alignment, after a check that they fit."""
        links = check_links(bitext, links)
        source, target = word_weights(bitext, links, lexical, progress_callback)
        arrays: dict[str, Any] = {
            "first": links_before(bitext.source.sentences.offsets, links),
            "source": source,
            "target": target,
        }
        arrays = spill_arrays(workspace or Workspace(), "weights", arrays)
        return cls(bitext, links, arrays["first"], arrays["source"], arrays["target"])

    def for_kernels(self) -> kernels.AlignedText:
        """Return text and word alignment as kernels take them."""
        sides = self.bitext.source.sentences, self.bitext.target.sentences
        return aligned_rows(*sides, self.links, self.first_link)


class ChosenLinks(NamedTuple):
    """The instance whose word alignment each pair has, as columns."""

    sentence: NDArray[np.int32]
    source_begin: NDArray[np.uint16]
    source_length: NDArray[np.uint8]
    target_begin: NDArray[np.uint16]

    def for_kernels(self) -> kernels.PhrasePlaces:
        """Return the columns as kernels take them."""
        return kernels.PhrasePlaces(**self._asdict())


CountedPhrases = CountedPairs[ChosenLinks]


def score_phrases(
    instances: PhraseInstances,
    bitext: Bitext,
    links: Links,
    lexical: LexicalTables,
    *,
    smoothing: PhraseSmoothing = "none",
    runtime: Runtime = Runtime(),
) -> ScoredPhrases:
    """Count phrase pairs and score them with p(f|e), lexical(f|e), p(e|f), lexical(e|f).

    `instances` must come from the same bitext and links. The alignment of a pair is its most frequent one; ties are
    broken as Moses does, for the two lexical weights separately, and `alignments` has the one used for lexical(e|f).
    Source phrases come in the order of their first occurrence; pairs of one source phrase by falling p(e|f), then
    falling p(f|e), then the word ids of the target.
    """
    if len(instances) >= 1 << 31:
        raise DataError(
            f"{len(instances)} phrase instances", expected="fewer than 2**31: use shorter phrases or less text"
        )
    check_smoothing(smoothing)
    with runtime.stage("checking phrases"):
        text = WeightedText.of(bitext, links, lexical)
        _check_instances(instances, bitext)
    counted = count_pairs(instances, text, runtime=runtime)
    counts = PairCounts.of(counted.source_ids, counted.target_ids, counted.joint)
    pairs, rows = score_pairs(counted, counts, text, smoothing=smoothing, runtime=runtime)
    new_row = np.empty(len(rows), np.int32)
    new_row[rows] = np.arange(len(rows), dtype=np.int32)
    return ScoredPhrases(pairs, new_row[counted.pair_of_instance])


def check_smoothing(smoothing: str) -> None:
    """Refuse an unknown smoothing."""
    if smoothing not in SMOOTHINGS:
        raise UsageError(f"no smoothing is called '{smoothing}'; there are {', '.join(SMOOTHINGS)}")


def count_pairs(instances: PhraseInstances, text: WeightedText, *, runtime: Runtime = Runtime()) -> CountedPhrases:
    """Count the instances of each pair, and choose its word alignment."""
    source, target = text.bitext.source, text.bitext.target
    with runtime.stage("numbering source phrases") as progress_callback:
        sources = _number(source, instances.source_spans, progress_callback, runtime)
    with runtime.stage("numbering target phrases") as progress_callback:
        targets = _number(target, instances.target_spans, progress_callback, runtime)
    with runtime.stage("collecting phrase pairs") as progress_callback:
        groups = InstanceGroups.of(sources, targets, progress_callback, runtime)
        phrases = sources[1], targets[1]
        del sources, targets
        pair_of_instance = groups.pair_of_instance()
    place = ChosenLinks(*instances.source_spans, instances.target_begin)
    with runtime.stage("choosing alignments") as progress_callback:
        forward, backward = kernels.choose_alignments(
            groups.order, groups.offsets, place.for_kernels(), text.for_kernels(), runtime.threads, progress_callback
        )
        source_side = text.source_weights, source.sentences.offsets, *instances.source_spans
        target_side = text.target_weights, target.sentences.offsets, *instances.target_spans
        return CountedPhrases(
            *phrases,
            groups.source_ids,
            groups.target_ids,
            np.diff(groups.offsets),
            kernels.span_products(*source_side, backward),
            kernels.span_products(*target_side, forward),
            ChosenLinks(*(column[forward] for column in place)),  # type: ignore[arg-type]
            pair_of_instance,
        )


def score_pairs(
    counted: CountedPhrases,
    counts: PairCounts,
    text: WeightedText,
    *,
    smoothing: PhraseSmoothing = "none",
    runtime: Runtime = Runtime(),
) -> tuple[PhrasePairs, NDArray[np.int64]]:
    """Score counted pairs and sort them; return also the rows of `counted` that they come from."""
    with runtime.stage("scoring phrase pairs"):
        bwd, fwd = SMOOTHINGS[smoothing](counts, runtime=runtime)
        columns = [bwd, counted.backward_weights, fwd, counted.forward_weights]
        scores = np.stack(columns, axis=1, dtype=np.float32, casting="same_kind")
        del columns, bwd, fwd
    with runtime.stage("sorting phrase pairs") as progress_callback:
        rows = counted.best_first(scores, progress_callback, runtime)
        links = kernels.inner_links(rows.astype(np.uint32), counted.chosen.for_kernels(), text.for_kernels())
        occurrences = np.stack([counts.target, counts.source, counts.joint], axis=1).astype(np.float32)
        vocabs = text.bitext.source.vocab, text.bitext.target.vocab
        return counted.table(vocabs, rows, scores, occurrences, Ragged(*links)), rows


def _number(corpus: Corpus, spans: Spans, progress_callback: ProgressCallback, runtime: Runtime) -> NumberedSides:
    """Number the distinct phrases of one side; return the id of each instance, and the phrases."""
    text = corpus.sentences
    ids, words, offsets = kernels.number_spans(text.values, text.offsets, *spans, runtime.threads, progress_callback)
    return ids, Ragged(words, offsets)


def _check_instances(instances: PhraseInstances, bitext: Bitext) -> None:
    """Refuse instances that reach outside their sentences: they are of another bitext."""
    rows = instances.sentence
    inside = len(rows) == 0 or 0 <= rows.min() <= rows.max() < len(bitext)
    for corpus, (_, begin, length) in (
        (bitext.source, instances.source_spans),
        (bitext.target, instances.target_spans),
    ):
        inside = inside and bool(np.all(begin.astype(np.int64) + length <= corpus.sentences.lengths[rows]))
    if not inside:
        raise DataError("phrase instances reach outside their sentences", expected="instances of the same bitext")
