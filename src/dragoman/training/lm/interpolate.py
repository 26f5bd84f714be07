"""Linear interpolation of language models: weights by EM, and the mixture as a back-off model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.core.corpus import BOS, UNK, Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import NGrams, NGramTable
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel
from dragoman.training.mix import Floats, fit_mixture_weights

_ROUNDING = 1e-6  # a smaller mass may be an error of adding up 32-bit logarithms
_NOTHING = -99.0  # the logarithm of zero in ARPA files


def estimate_interpolation_weights(
    models: Sequence[LanguageModel],
    held_out: Corpus,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    runtime: Runtime = Runtime(),
) -> Floats:
    """Return the weights of the linear mixture of the models that gives held-out text the highest probability.

    Each model gives a word that it does not know probability zero, so that the mixture sums to one; words that no model
    knows are left out. Stops when an iteration raises the log-likelihood of a word by less than `tolerance`.
    """
    probabilities = _held_out_probabilities(models, held_out, runtime)
    if not probabilities.size:
        raise DataError("no word of the held-out text is known to any of the models")

    def note(iteration: int, loglikelihood: float, weights: Floats) -> None:
        shown = " ".join(f"{weight:.4f}" for weight in weights)
        runtime.note(f"iteration {iteration}: perplexity {np.exp(-loglikelihood):.3f} with weights {shown}")

    return fit_mixture_weights(probabilities, iterations=iterations, tolerance=tolerance, note=note)


def _held_out_probabilities(models: Sequence[LanguageModel], held_out: Corpus, runtime: Runtime) -> Floats:
    """Return a row for each model and a column for each word or sentence end that some model knows."""
    rows = []
    for model in models:
        sentences = model.sentences(held_out)
        rows.append(10.0 ** model.logprobs(sentences, runtime=runtime.quiet()))
        words = np.ones(rows[-1].shape, bool)
        words[sentences.offsets[1:] + np.arange(len(sentences))] = False
        rows[-1][np.flatnonzero(words)[~model.knows[sentences.values]]] = 0
    probabilities = np.array(rows, np.float64)
    return probabilities[:, probabilities.any(axis=0)]


def interpolate(models: Sequence[LanguageModel], weights: ArrayLike, *, runtime: Runtime = Runtime()) -> NGrams:
    """Return the linear mixture of the models as one back-off model.

    It has the n-grams of all models, each with the weighted sum of their probabilities, and back-off weights that make
    every context sum to one. Words that a model does not know have probability zero in it, as in
    `estimate_interpolation_weights`; `<unk>` stands for words that no model knows.
    """
    given = np.asarray(weights, np.float64)
    if given.shape != (len(models),) or not len(models):
        raise UsageError(f"there are {len(models)} language models and {given.size} weights; expected one for each")
    if not (given >= 0).all() or not given.sum() > 0:
        raise UsageError(f"the weights are {given.tolist()}; expected numbers of at least 0 that are not all 0")
    normalised = given / given.sum()
    order = max(model.order for model in models)
    vocab, ngrams = _union(models, order)
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


def _union(models: Sequence[LanguageModel], order: int) -> tuple[Vocab, list[NDArray[np.int32]]]:
    """Return the words of all models, and their distinct n-grams by order, sorted by ids, with all their prefixes."""
    vocab = models[0].vocab
    for model in models[1:]:
        ids = np.arange(len(model.vocab), dtype=np.int32)
        vocab, _, _ = vocab.extend(model.vocab.decode(ids, np.array([0, len(ids)])))
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
    return vocab, ngrams[::-1]


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
