"""A model whose mixtures are fixed, for what knows nothing of mixtures: files of other toolkits, and people."""

from __future__ import annotations

from dataclasses import replace

from dragoman.core.weights import Weights
from dragoman.model.bundle import Model
from dragoman.model.mixture import baked
from dragoman.model.phrase_table import PhraseTable


def bake(model: Model, weights: Weights | None = None) -> Model:
    """Return a model under weights, its own by default, with tables that are mixed as these say, once and for all."""
    weights = model.weights if weights is None else weights
    tables = dict(model.tables)
    for name, shares in model.shares(weights).items():
        pairs = tables[name].to_pairs(model.source_vocab, model.target_vocab)
        tables[name] = PhraseTable.from_pairs(baked(pairs, shares))
    names = set(model.share_names)
    return replace(
        model, tables=tables, weights=Weights({name: value for name, value in weights.items() if name not in names})
    )
