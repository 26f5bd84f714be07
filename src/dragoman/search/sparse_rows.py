"""Features of a batch as sparse rows, and its target words as language models number them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.display import shorten
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.ragged import Ragged
from dragoman.core.vocab import Vocab
from dragoman.features import PairFeature, PairsInUse, SpanFeature, SpansInUse, SparseFeature
from dragoman.model.bundle import Model
from dragoman.model.source_trees import features_of_trees, no_trees
from dragoman.text.parsed import ParsedLine, SourceTree


def trees_of(model: Model, lines: Sequence[str]) -> list[SourceTree]:
    """Return the trees of lines, which must have some if the model has a feature that looks at them."""
    if not features_of_trees(model):
        return []
    trees = []
    for line in lines:
        if not isinstance(line, ParsedLine):
            raise no_trees(model)
        trees.append(line.tree)
    return trees


def pair_rows(model: Model, pairs: PairsInUse) -> list[FeatureRows]:
    """Return a row for each pair, of each feature of pairs."""
    return [_checked(feature, feature(pairs), len(pairs.words)) for feature in model.features_of(PairFeature)]


def span_rows(model: Model, source: Corpus, spans: SpansInUse) -> list[FeatureRows]:
    """Return a row for each span of some sentences, of each feature of spans."""
    if spans.trees:
        for i, (tree, words) in enumerate(zip(spans.trees, source.sentences.lengths.tolist(), strict=True)):
            if tree.words != words:
                found = f"the tree of '{shorten(source.line(i))}' is over {tree.words} words"
                raise DataError(found, expected=f"{words}, as the sentence has")
    return [_checked(feature, feature(spans), len(spans.begin)) for feature in model.features_of(SpanFeature)]


def _checked(feature: SparseFeature, rows: FeatureRows, count: int) -> FeatureRows:
    """Refuse rows that a feature has no right to return: kernels trust it."""
    if len(rows) != count:
        found = f"the feature {feature.name} has {len(rows)} rows for {count} pairs, rules or spans"
        raise DataError(found, expected="one for each")
    return rows


#: What an untranslated word costs in the feature `unknown_word`, as in Moses.
UNKNOWN_WORD = -100.0


def unknown_words(
    model: Model, source: Corpus, positions: NDArray[np.int64], *, drop: bool
) -> tuple[Vocab, Ragged[np.int32]]:
    """What running words of the source become that nothing translates: themselves, or nothing if they are to `drop`.

    Returns the model's target words and these, and a row of them for each position.
    """
    vocab = model.target_vocab
    if drop or not len(positions):
        return vocab, Ragged(np.empty(0, np.int32), np.zeros(len(positions) + 1, np.int64))
    ids = source.sentences.values[positions]
    vocab, words, lines = vocab.extend(source.vocab.decode(ids, np.arange(len(ids) + 1)))
    return vocab, Ragged(words, lines)


def lm_words(
    model: Model, vocab: Vocab, words: NDArray[np.int32], lm_ids: Sequence[NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Words of a batch as ids of each language model, one row a model; what is below 0 is no word and stays.

    `vocab` has the model's target words first; `lm_ids` are their ids in each language model.
    """
    known = len(model.target_vocab)
    rows = np.empty((len(lm_ids), len(words)), np.int32)
    for k, (ids, language_model) in enumerate(zip(lm_ids, model.language_models.values(), strict=True)):
        if len(vocab) > known:
            new = np.arange(known, len(vocab), dtype=np.int32)
            found = language_model.vocab.encode(vocab.decode(new, np.arange(len(new) + 1)))[0]
            ids = np.concatenate([ids, language_model.ids_of(language_model.vocab)[found]])
        rows[k] = np.where(words < 0, words, ids[words])
    return rows
