"""Linear mixtures of language models: as one back-off model, and the probabilities of words in each component.

As a back-off model (`interpolate`, the static interpolation of SRILM), a mixture gives an n-gram that some component
has exactly Σ λ p. What no component has is backed off in the mixture, not in the components, so that its probability
differs a little from Σ λ p; every context sums to one all the same. `component_probabilities` has no such difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.core.corpus import BOS, UNK, Vocab, common_vocab
from dragoman.core.errors import UsageError
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel

Floats = NDArray[np.float64]

_ROUNDING = 1e-6  # a smaller mass may be an error of adding up 32-bit logarithms
_NOTHING = -99.0  # the logarithm of zero in ARPA files


def remixed(model: LanguageModel, shares: Sequence[float]) -> LanguageModel:
    """Return a mixture with other interpolation weights; the last one that was made of it is not made again."""
    wanted, made = tuple(shares), model.remixed
    if wanted == model.shares:
        return model
    if wanted not in made:
        made.clear()
        mixed = LanguageModel.from_ngrams(interpolate([*model.components.values()], wanted))
        made[wanted] = replace(mixed, components=model.components, shares=wanted)
    return made[wanted]


def component_probabilities(
    models: Sequence[LanguageModel], vocab: Vocab, windows: NDArray[np.int32], *, runtime: Runtime = Runtime()
) -> Floats:
    """Return p(last word | the words before it) of each window in each model: a row for each window.

    Windows have words of `vocab`, BOS first at the beginning of a sentence and EOS last at its end, and -1 before a
    shorter history. A model gives a word that it does not know probability zero, if another model knows it.
    """
    every = common_words(models)
    ids = vocab.map_to(every)
    words = np.where(windows < 0, windows, ids[windows])
    lengths = np.count_nonzero(windows >= 0, axis=1)
    found = np.zeros((len(windows), len(models)))
    for t, model in enumerate(models):
        own_ids = every.map_to(model.vocab)
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            found[rows, t] = _conditional(model, own_ids, words[rows, words.shape[1] - length :], runtime)
    return found


def interpolate(models: Sequence[LanguageModel], weights: ArrayLike, *, runtime: Runtime = Runtime()) -> NGrams:
    """Return the linear mixture of the models as one back-off model.

    It has the n-grams of all models, each with the weighted sum of their probabilities, and back-off weights that make
    every context sum to one. Words that a model does not know have probability zero in it, as in
    `estimate_interpolation_weights` of `training/lm/interpolate.py`; `<unk>` stands for words that no model knows.
    """
    given = np.asarray(weights, np.float64)
    if given.shape != (len(models),) or not len(models):
        raise UsageError(f"there are {len(models)} language models and {given.size} weights; expected one for each")
    if not (given >= 0).all() or not given.sum() > 0:
        raise UsageError(f"the weights are {given.tolist()}; expected numbers of at least 0 that are not all 0")
    normalised = given / given.sum()
    order = max(model.order for model in models)
    vocab = common_words(models)
    ngrams = _union(models, vocab, order)
    own_ids = [vocab.map_to(model.vocab) for model in models]
    tables: list[NGramTable] = []
    keys: list[NDArray[np.int64]] = []
    with runtime.stage("interpolating language models") as done:
        for n, words in enumerate(ngrams, 1):
            probabilities = np.zeros(len(words))
            for model, ids, weight in zip(models, own_ids, normalised, strict=True):
                if weight > 0:
                    probabilities += weight * _conditional(model, ids, words, runtime)
            contexts = _context_rows(words, keys)
            keys.append(contexts << 32 | words[:, -1])
            if n == 1:
                probabilities[words[:, 0] == BOS] = 1  # as in estimation; it is never used
            else:
                tables[-1], probabilities = _make_room(vocab, tables, words, contexts, probabilities, runtime)
            tables.append(NGramTable(words, _log10(probabilities), np.zeros(len(words), np.float32)))
            done(n / order)
    return NGrams(vocab, tuple(tables))


def common_words(models: Sequence[LanguageModel]) -> Vocab:
    """Return the words of all models."""
    return common_vocab([model.vocab for model in models])[0]


def _union(models: Sequence[LanguageModel], vocab: Vocab, order: int) -> list[NDArray[np.int32]]:
    """Return the distinct n-grams of all models by order, in ids of `vocab`, sorted by these, with all prefixes."""
    found: list[list[NDArray[np.int32]]] = [[] for _ in range(order)]
    for model in models:
        new_ids = model.vocab.map_to(vocab)
        for n, table in enumerate(model.to_ngrams().orders):
            found[n].append(new_ids[table.words])
    ngrams: list[NDArray[np.int32]] = []
    for n in reversed(range(order)):
        if ngrams:
            found[n].append(ngrams[-1][:, :-1])
        words = np.concatenate(found[n])
        words = words[np.lexsort(words.T[::-1])]
        is_new = np.ones(len(words), bool)
        is_new[1:] = (words[1:] != words[:-1]).any(axis=1)
        ngrams.append(words[is_new])
    return ngrams[::-1]


def _context_rows(words: NDArray[np.int32], keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return for each n-gram the row of its context; `keys` hold context row and last word of the orders below."""
    rows = np.zeros(len(words), np.int64)
    for column, table in enumerate(keys):
        rows = np.searchsorted(table, rows << 32 | words[:, column])
    return rows


def _conditional(
    model: LanguageModel, own_ids: NDArray[np.int32], words: NDArray[np.int32], runtime: Runtime
) -> Floats:
    """Return p(last word | the words before it) of each row; zero where the model does not know the last word."""
    ids = own_ids[words]
    offsets = np.arange(len(ids) + 1) * ids.shape[1]
    logprobs = model.logprobs(Ragged(ids.ravel(), offsets), bos=False, eos=False, runtime=runtime.quiet())
    is_known = model.knows[ids[:, -1]] | (words[:, -1] == UNK)
    return np.where(is_known, 10.0 ** logprobs.reshape(ids.shape)[:, -1].astype(np.float64), 0.0)


def _make_room(
    vocab: Vocab,
    tables: Sequence[NGramTable],
    words: NDArray[np.int32],
    contexts: NDArray[np.int64],
    probabilities: Floats,
    runtime: Runtime,
) -> tuple[NGramTable, Floats]:
    """Return the highest table with the back-off weights that longer n-grams need, and the latter's probabilities.

    The weight of a context is the mass that its n-grams leave, over the mass that they leave in the shorter context
    (Katz 1987). If they leave nothing of the latter, because every word follows the context, or take more than all,
    because the models did not sum to one, their probabilities are scaled to sum to one.
    """
    table = tables[-1]
    own_ids = np.arange(len(vocab), dtype=np.int32)
    lower = _conditional(LanguageModel.from_ngrams(NGrams(vocab, tuple(tables))), own_ids, words[:, 1:], runtime)
    taken = np.bincount(contexts, probabilities, len(table))
    lower_left = 1 - np.bincount(contexts, lower, len(table))
    complete = lower_left < _ROUNDING
    scale = np.where((complete & (taken > 0)) | (taken > 1), 1 / np.maximum(taken, _ROUNDING), 1.0)
    weights = np.where(complete, 1.0, np.maximum(1 - taken * scale, 0) / np.where(complete, 1.0, lower_left))
    return NGramTable(table.words, table.logprobs, _log10(weights)), probabilities * scale[contexts]


def _log10(values: Floats) -> NDArray[np.float32]:
    return np.asarray(np.log10(np.maximum(values, 10.0**_NOTHING)), np.float32)
