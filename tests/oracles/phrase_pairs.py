"""Phrase pairs from plain tuples, for tests of what is done with them."""

import numpy as np

from dragoman.core.corpus import Vocab
from dragoman.core.phrases import PHRASE_SCORES, PhrasePairs
from dragoman.core.ragged import Ragged


def phrase_pairs(rows, *, score_names=PHRASE_SCORES, links=True, counts=True, reordering=("lr",)):
    """Build from `(source, target, scores)`; counts, links and orientations are made up from the row's number."""
    sources = list(dict.fromkeys(source for source, _, _ in rows))
    targets = list(dict.fromkeys(target for _, target, _ in rows))
    vocabs = [
        Vocab.of(dict.fromkeys(word for phrase in side for word in phrase.split())) for side in (sources, targets)
    ]
    phrases = [
        Ragged.of([[vocab.id(word) for word in phrase.split()] for phrase in side], np.int32)
        for vocab, side in zip(vocabs, (sources, targets), strict=True)
    ]
    numbers = np.arange(1, len(rows) + 1, dtype=np.float32)
    return PhrasePairs(
        *vocabs,
        *phrases,
        np.array([sources.index(source) for source, _, _ in rows], np.int32),
        np.array([targets.index(target) for _, target, _ in rows], np.int32),
        np.array([scores for _, _, scores in rows], np.float32).reshape(len(rows), len(score_names)),
        tuple(score_names),
        alignments=Ragged.of([[i % len(t.split())] for i, (_, t, _) in enumerate(rows)], np.uint16) if links else None,
        counts=np.stack([numbers + 2, numbers + 1, numbers], axis=1) if counts else None,
        reordering={name: np.tile(numbers[:, None] / 100, (1, 6)) for name in reordering},
    )


def as_dict(pairs):
    """Pairs by their words: scores, links, counts, orientations."""
    found = {}
    for row in range(len(pairs)):
        key = (
            pairs.source_vocab.text(pairs.sources[int(pairs.source_ids[row])]),
            pairs.target_vocab.text(pairs.targets[int(pairs.target_ids[row])]),
        )
        assert key not in found
        found[key] = (
            pairs.scores[row].tolist(),
            None if pairs.alignments is None else pairs.alignments[row].tolist(),
            None if pairs.counts is None else pairs.counts[row].tolist(),
            {name: scores[row].tolist() for name, scores in pairs.reordering.items()},
        )
    return found
