"""Weights of linear interpolations of language models, by EM; `model/lm_mixture.py` makes the mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel
from dragoman.training.mix import Floats, fit_mixture_weights


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
