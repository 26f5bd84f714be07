"""N-best lists on disk, as a run keeps them, and as the problem that an optimiser sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.files import output_folder
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.store import Arrays, load_arrays, save_arrays
from dragoman.core.vocab import Vocab
from dragoman.metrics.metric import Scorer
from dragoman.tuning.problem import Problem

_NAMES = "features.txt"


def save_nbest(folder: Path, nbest: NBest) -> None:
    """Write what tuning needs of n-best lists: words, scores and features; whole or not at all."""
    with output_folder(folder) as partial:
        arrays: Arrays = {
            "sentences": nbest.sentences,
            "words": nbest.hypotheses.values,
            "word_offsets": nbest.hypotheses.offsets,
            "scores": nbest.scores,
            "feature_offsets": nbest.features.offsets,
            "feature_ids": nbest.features.ids,
            "feature_values": nbest.features.values,
        }
        save_arrays(partial, arrays)
        save_arrays(partial / "vocab", nbest.vocab.arrays())
        text = "".join(f"{name}\n" for name in nbest.features.names)
        (partial / _NAMES).write_text(text, encoding="utf-8")


def load_nbest(folder: Path) -> NBest:
    """Read what `save_nbest` wrote."""
    arrays = load_arrays(folder)
    names = (folder / _NAMES).read_text(encoding="utf-8").split("\n")[:-1]
    return NBest(
        vocab=Vocab.from_arrays(load_arrays(folder / "vocab")),
        sentences=cast(NDArray[np.int64], arrays["sentences"]),
        hypotheses=Ragged(cast(NDArray[np.int32], arrays["words"]), cast(NDArray[np.int64], arrays["word_offsets"])),
        scores=cast(NDArray[np.float64], arrays["scores"]),
        features=FeatureRows(
            tuple(names),
            cast(NDArray[np.int64], arrays["feature_offsets"]),
            cast(NDArray[np.int32], arrays["feature_ids"]),
            cast(NDArray[np.float64], arrays["feature_values"]),
        ),
    )


def problem_of(
    nbest: NBest,
    names: Sequence[str],
    ranges: Mapping[str, tuple[float, float]],
    scorer: Scorer,
    *,
    sign: int = 1,
    threads: int = 1,
) -> Problem:
    """Set up the problem of choosing the weights `names`; features with other names keep out of it."""
    place = {name: i for i, name in enumerate(names)}
    column = np.array([place.get(name, -1) for name in nbest.features.names], np.int32)
    ids = column[nbest.features.ids] if len(column) else nbest.features.ids
    kept = ids >= 0
    counts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    features = FeatureRows(tuple(names), counts[nbest.features.offsets], ids[kept], nbest.features.values[kept])
    sentences = np.repeat(np.arange(len(nbest)), np.diff(nbest.sentences))
    statistics = scorer.statistics(Corpus(nbest.vocab, nbest.hypotheses), sentences, threads=threads)
    return Problem(
        sentences=nbest.sentences,
        features=features,
        statistics=statistics,
        scorer=scorer,
        ranges=np.array([ranges[name] for name in names], np.float64).reshape(-1, 2),
        sign=sign,
    )
