"""Features of candidates that are computed: by functions and utilities, language models, and from their own length."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.decision.expected_utility import UtilityEstimation
from dragoman.decision.posterior import Posterior, number_strings
from dragoman.formats.arpa import read_arpa
from dragoman.metrics.pair_scores import PairScorer
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import Utility, needs_reference, needs_source, utility_of
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel

Column = NDArray[np.float64]

#: A feature of candidates: numbers, a utility (by name or an object), or a function of texts, or of texts and sources.
FeatureSource = ArrayLike | str | Utility | Callable[..., ArrayLike]


def lengths(nbest: NBest) -> Column:
    """Return the number of words of each hypothesis."""
    return nbest.hypotheses.lengths.astype(np.float64)


def language_model_scores(nbest: NBest, path: PathLike, *, runtime: Runtime = Runtime()) -> Column:
    """Return the logarithm (base 10) of each hypothesis' probability: a model's folder, or a file in ARPA format.

    A folder prepares text as its model does. Of several language models in it, the first counts.
    """
    texts = Corpus(nbest.vocab, nbest.hypotheses)
    if Path(path).is_dir():
        model = Model.load(Path(path))
        if not model.language_models:
            raise DataError("has no language model", path=path, expected="a model with one, or a file in ARPA format")
        lm = next(iter(model.language_models.values()))
        texts = Corpus.from_lines([*model.preparation().target(texts.lines())])
    else:
        lm = LanguageModel.from_ngrams(read_arpa(path, runtime=runtime))
    words = lm.sentences(texts)
    logprobs = lm.logprobs(words, runtime=runtime).astype(np.float64)
    # Each sentence has one number more than words, that of its end.
    return np.add.reduceat(logprobs, words.offsets[:-1] + np.arange(len(words))) if len(words) else np.empty(0)


def utility_scores(
    nbest: NBest, utility: str | Utility, *, cache: ScoreCache | None = None, runtime: Runtime = Runtime()
) -> Column:
    """Return the utility of each hypothesis: its agreement with all candidates of its sentence, or a quality estimate.

    A utility with references is averaged over the candidates as in minimum Bayes risk with equal weights; one without
    references is a quality estimate.
    """
    chosen = utility_of(utility)
    scorer = PairScorer(chosen, cache)
    if needs_reference(chosen):
        posterior = Posterior.of_nbest(nbest, weights_from="uniform")
        values = UtilityEstimation(scorer).expected(posterior, posterior, nbest.sources, runtime=runtime)
        return values[number_strings(nbest.sentences, nbest.hypotheses)]
    if needs_source(chosen) and nbest.sources is None:
        raise DataError("the utility needs source texts, and the lists have none", expected="lists with sources")
    return scorer.score(nbest.texts(), [""] * len(nbest.scores), _sources(nbest))


def feature_columns(
    nbest: NBest, features: Mapping[str, FeatureSource], *, in_file_order: bool, runtime: Runtime = Runtime()
) -> dict[str, Column]:
    """Return features by name; given numbers are in the order of the hypotheses, or of their file."""
    return {name: _column(nbest, source, name, in_file_order, runtime) for name, source in features.items()}


def of_file(nbest: NBest, values: Column) -> Column:
    """Reorder numbers from the order of hypotheses in their file to the order of the lists."""
    # `with_features` refuses a wrong number of them.
    return values if nbest.rows is None or len(values) != len(nbest.rows) else values[nbest.rows]


def _column(nbest: NBest, source: Any, name: str, in_file_order: bool, runtime: Runtime) -> Column:
    if isinstance(source, str | Utility):
        return utility_scores(nbest, source, runtime=runtime)
    if not callable(source):
        values = np.asarray(source, np.float64)
        return of_file(nbest, values) if in_file_order else values
    texts = nbest.texts()
    found = np.asarray(source(texts, _sources(nbest)) if _takes_sources(source) else source(texts), np.float64)
    if found.shape != (len(texts),):
        raise UsageError(f"'{name}' gave {found.size} numbers for {len(texts)} hypotheses; expected one for each")
    return found


def _sources(nbest: NBest) -> Sequence[str]:
    """Return the source of each hypothesis, empty where it is not known."""
    known = nbest.sources or ("",) * len(nbest)
    return np.repeat(np.array(known, object), np.diff(nbest.sentences)).tolist()


def _takes_sources(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters) > 1
