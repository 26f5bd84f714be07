"""Samples: the distinct derivations that a sampler visited, with the number of visits of each chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab, common_vocab
from dragoman.core.display import frame, html_table, pluralise
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged


@dataclass(frozen=True, eq=False)
class DocumentTrace:
    """Values of document features at each sample.

    Document `d` is sentences `bounds[d]` to `bounds[d + 1]`. At sample `i` of chain `c` all its sentences were in the
    derivations that their traces have at `i`, and `values[d, c, i]` are the features `names` of the document at that
    time; NaN after the time limit. Their mean over samples estimates the expectation of the features.
    """

    names: tuple[str, ...]
    bounds: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def concatenate(cls, parts: Sequence[DocumentTrace]) -> DocumentTrace:
        """Concatenate documents; all must have the same features."""
        shifts = np.cumsum([0, *(part.bounds[-1] for part in parts)])
        bounds = [part.bounds[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(parts[0].names, np.concatenate([[0], *bounds]), np.concatenate([part.values for part in parts]))


@dataclass(frozen=True, eq=False)
class Samples:
    """Distinct derivations of S sentences: those of sentence `s` are rows `sentences[s]` to `sentences[s + 1]`.

    Row `h` wrote the words `hypotheses[h]` of `vocab`, has the model score `scores[h]` (at temperature 1) and the
    features `features.row(h)`, covers the source as `segmentations[h]` says (rows of source begin and end, target begin
    and end, in target order), and chain `c` collected it `counts[h, c]` times. Rows of a sentence are in the order in
    which they were first collected, chain after chain. `trace`, if it was asked for, has for each sentence, chain and
    sample the derivation as a row counted from `sentences[s]`: the order in time, which diagnostics need.

    Features of whole documents depend on the derivations of other sentences, so that no row has a value; scores and
    features are without them. A trace goes with one of `documents`, if there are such features.
    """

    vocab: Vocab
    sentences: NDArray[np.int64]
    hypotheses: Ragged[np.int32]
    scores: NDArray[np.float64]
    features: FeatureRows
    segmentations: Ragged[np.int32]
    counts: NDArray[np.int64]
    trace: NDArray[np.int32] | None = None
    documents: DocumentTrace | None = None

    def __len__(self) -> int:
        return len(self.sentences) - 1

    @property
    def chains(self) -> int:
        """Number of chains per sentence."""
        return int(self.counts.shape[1])

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Return the relative frequency of each row among the samples of its sentence, over all chains."""
        together = self.counts.sum(axis=1).astype(np.float64)
        totals = np.add.reduceat(together, self.sentences[:-1]) if len(self) else together
        return np.asarray(together / np.repeat(totals, np.diff(self.sentences)))

    @property
    def entropies(self) -> NDArray[np.float64]:
        """Return the entropy of each sentence's relative frequencies, in nats: at most ln of its number of samples."""
        p = self.probabilities
        owners = np.repeat(np.arange(len(self)), np.diff(self.sentences))
        return np.bincount(owners, -p * np.log(p), minlength=len(self)).astype(np.float64, copy=False)

    def __repr__(self) -> str:
        return (
            f"Samples({pluralise(len(self), 'sentence')}, {pluralise(len(self.scores), 'derivation')},"
            f" {pluralise(int(self.counts.sum()), 'sample')})"
        )

    def frame(self, *, features: bool = False) -> Any:
        """Return a pandas frame with a row for each derivation: its sentence, text, count, probability and score."""
        columns: dict[str, Any] = {
            "sentence": np.repeat(np.arange(len(self)), np.diff(self.sentences)),
            "text": Corpus(self.vocab, self.hypotheses).lines(),
            "count": self.counts.sum(axis=1),
            "probability": self.probabilities,
            "score": self.scores,
        }
        return frame(columns | (self.features.columns() if features else {}))

    def _repr_html_(self) -> str:
        """Show the most frequent derivations of the first sentences, for notebooks."""
        sentence = np.repeat(np.arange(len(self)), np.diff(self.sentences))
        shown = np.lexsort((-self.probabilities, sentence))[:20].tolist()
        rows = [(int(sentence[h]), self.line(h), float(self.probabilities[h])) for h in shown]
        caption = f"{len(self.scores):,} distinct derivations in {int(self.counts.sum()):,} samples"
        return html_table(["sentence", "text", "share"], rows, caption)

    def count_translations(self) -> int:
        """Return how many different strings the sentences have together."""
        every = Ragged(np.arange(len(self.scores), dtype=np.int32), self.sentences).for_kernels()
        nothing = FeatureRows.zeros(len(self.scores)).for_kernels()
        return len(kernels.distinct_hypotheses(every, self.hypotheses.for_kernels(), nothing)[0])

    def line(self, h: int) -> str:
        """Return the words of one row as text."""
        return self.vocab.text(self.hypotheses[h])

    def sentence(self, i: int) -> Samples:
        """Return the samples of one sentence without copying; document features, which are of several, are left out."""
        rows = slice(*self.sentences[i : i + 2].tolist())
        return replace(
            self,
            sentences=np.array([0, rows.stop - rows.start]),
            hypotheses=self.hypotheses.part(rows),
            scores=self.scores[rows],
            features=self.features.part(rows),
            segmentations=self.segmentations.part(rows),
            counts=self.counts[rows],
            trace=None if self.trace is None else self.trace[i : i + 1],
            documents=None,
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Samples]) -> Samples:
        """Concatenate samples; all must have the same number of chains."""
        if len({part.chains for part in parts}) != 1:
            raise UsageError("samples can be put together if they have the same number of chains, and there are some")
        vocab, ids = common_vocab([part.vocab for part in parts])
        rows = np.cumsum([0, *(len(part.scores) for part in parts)])
        traces = [part.trace for part in parts if part.trace is not None]
        documents = [part.documents for part in parts if part.documents is not None]
        return cls(
            vocab=vocab,
            sentences=np.concatenate([[0], *(p.sentences[1:] + r for p, r in zip(parts, rows, strict=False))]),
            hypotheses=Ragged.concatenate(
                [
                    Ragged(number[part.hypotheses.values], part.hypotheses.offsets)
                    for part, number in zip(parts, ids, strict=True)
                ]
            ),
            scores=np.concatenate([part.scores for part in parts]),
            features=FeatureRows.concatenate([part.features for part in parts]),
            segmentations=Ragged.concatenate([part.segmentations for part in parts]),
            counts=np.concatenate([part.counts for part in parts]),
            trace=np.concatenate(traces) if len(traces) == len(parts) else None,
            documents=DocumentTrace.concatenate(documents) if len(documents) == len(parts) else None,
        )
