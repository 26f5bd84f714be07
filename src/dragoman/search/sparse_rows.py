"""Sparse features as a search uses them: what those of a model say of a batch, before it is searched."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.shown import shortened
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
                found = f"the tree of '{shortened(source.line(i))}' is over {tree.words} words"
                raise DataError(found, expected=f"{words}, as the sentence has")
    return [_checked(feature, feature(spans), len(spans.begin)) for feature in model.features_of(SpanFeature)]


def _checked(feature: SparseFeature, rows: FeatureRows, count: int) -> FeatureRows:
    """Refuse rows that a feature has no right to return: kernels trust it."""
    if len(rows) != count:
        found = f"the feature {feature.name} has {len(rows)} rows for {count} pairs, rules or spans"
        raise DataError(found, expected="one for each")
    return rows
