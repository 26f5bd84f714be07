"""Utilities: functions that score a hypothesis against a reference, a source, or both.

A metric of Dragoman, a neural metric, a Python function, or any object with `score(hypotheses, references, sources)`
serves as a utility. All of them are called in batches of strings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.errors import UsageError
from dragoman.core.options import Options, Registry, option, parse_options
from dragoman.metrics import METRICS
from dragoman.metrics.combined import parse_metric, read_sum
from dragoman.metrics.metric import Metric
from dragoman.metrics.precomputed import Precomputed
from dragoman.metrics.references import Tokenisation

Vector = NDArray[np.float64]


@runtime_checkable
class Utility(Protocol):
    """Anything that scores pairs of strings; higher is better."""

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> ArrayLike:
        """Return a number for each hypothesis, given its reference and its source.

        `sources` has an empty string for each hypothesis whose source is not known; `references` likewise where a
        utility is used without references (quality estimation).
        """


@runtime_checkable
class EmbeddingUtility(Utility, Protocol):
    """A utility that scores sentence embeddings, so that references can be averaged."""

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return a vector for each text."""

    def score_embedded(self, hypotheses: NDArray[Any], references: NDArray[Any], sources: NDArray[Any]) -> ArrayLike:
        """Return a number for each hypothesis, given the embeddings of all three."""


#: A function of hypotheses and references, or of hypotheses, references and sources.
UtilityFunction = Callable[..., ArrayLike]


@dataclass(frozen=True)
class NeuralUtility(Options, ABC):
    """A neural metric by name, loaded on first use from a folder, a file, or the user's cache of downloaded models."""

    name: ClassVar[str]
    #: The optional extra of the package that installs its library, and the name of that library.
    extra: ClassVar[str]
    library: ClassVar[str]

    model: str | None = option(None, "folder or file of the model, or the name of a downloaded one")
    batch_size: int = option(32, "pairs per call of the model", minimum=1)
    device: str = option("cpu", "device of PyTorch, such as cpu or cuda:0")
    precision: Literal["float32", "float16", "bfloat16"] = option("float32", "type of the model's numbers")

    @property
    def needs_reference(self) -> bool:
        """True if hypotheses are compared with references, False for quality estimation."""
        return True

    @property
    def needs_source(self) -> bool:
        """True if the source text is needed."""
        return False

    @abstractmethod
    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return a number for each hypothesis."""

    @abstractmethod
    def signature(self) -> str:
        """Return the settings that reproduce the scores."""

    def library_version(self) -> str:
        """Return the name and version of the installed library, for signatures."""
        try:
            return f"{self.library}-{metadata.version(self.library)}"
        except metadata.PackageNotFoundError:
            raise self.missing_library() from None

    def missing_library(self) -> UsageError:
        """Return the error for a library that is not installed."""
        return UsageError(f"{self.name} needs a library; install it with: pip install 'dragoman[{self.extra}]'")

    def required_model(self, example: str) -> str:
        """Return the model; refuse to go on without one, because nothing is downloaded unasked."""
        if self.model is None:
            raise UsageError(f"{self.name} needs a model: {self.name}:model=FOLDER, or the name of one, like {example}")
        return self.model


UTILITIES = Registry("utility", "dragoman.metrics.neural", NeuralUtility)


@dataclass(frozen=True)
class MetricUtility:
    """Sentence scores of a metric; those of error rates are negated."""

    metric: Metric

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return the sentence score of each pair."""
        scorer = self.metric.scorer([Corpus.from_lines(references)])
        found = scorer.sentence_scores(scorer.statistics(Corpus.from_lines(hypotheses)))
        return found if self.metric.higher_is_better else -found

    def signature(self) -> str:
        """Return the metric's signature."""
        return self.metric.signature()


@dataclass(frozen=True)
class FunctionUtility:
    """A Python function of hypotheses and references, and of sources if it takes three arguments."""

    function: UtilityFunction
    takes_sources: bool

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> ArrayLike:
        """Call the function."""
        given = (hypotheses, references, sources) if self.takes_sources else (hypotheses, references)
        return self.function(*map(list, given))


@dataclass(frozen=True)
class UtilitySum:
    """A weighted sum of utilities, such as `0.5*chrf+50*comet(model=FOLDER)`."""

    terms: tuple[tuple[float, Utility], ...]

    @property
    def needs_reference(self) -> bool:
        """True if a term compares with references."""
        return any(needs_reference(utility) for _, utility in self.terms)

    @property
    def needs_source(self) -> bool:
        """True if a term reads sources."""
        return any(needs_source(utility) for _, utility in self.terms)

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> Vector:
        """Return the weighted sum for each pair."""
        found = np.zeros(len(hypotheses))
        for weight, utility in self.terms:
            known = references if needs_reference(utility) else [""] * len(hypotheses)
            found += weight * np.asarray(utility.score(hypotheses, known, sources), np.float64)
        return found

    def signature(self) -> str:
        """Return the signatures of the terms."""
        return "".join(f"{weight:+g}*({utility_signature(utility)})" for weight, utility in self.terms)


def utility_of(given: str | Metric | Utility | UtilityFunction) -> Utility:
    """Return a utility: a metric or neural metric by name, with its options, an object with `score`, or a function.

    >>> utility_of("chrf").score(["the cat"], ["the cat"], [""]).tolist()
    [100.0]
    >>> utility_of(lambda hypotheses, references: [len(text) for text in hypotheses]).score(["ab"], [""], [""])
    [2]
    """
    if isinstance(given, str):
        if names_utility(given):
            name, _, options = given.strip().partition(":")
            return parse_options(UTILITIES.get(name.lower()), [part for part in options.split(",") if part])
        terms = neural_sum(given)
        if terms:
            return UtilitySum(tuple((weight, _of_term(name, options)) for weight, name, options in terms))
        given = known_metric(given)
    if isinstance(given, Metric):
        if isinstance(given, Precomputed):
            raise UsageError("precomputed scores belong to single hypotheses and cannot compare two strings")
        return MetricUtility(given)
    if isinstance(given, Utility):
        return given
    if callable(given):
        return FunctionUtility(given, _positional(given) >= 3)
    raise UsageError(f"found {type(given).__name__} as a utility; expected a name, a function, or an object with score")


def names_utility(text: str) -> bool:
    """Return whether a text names a neural metric.

    >>> names_utility("comet:model=FOLDER"), names_utility("bleu")
    (True, False)
    """
    name = text.strip().partition(":")[0].lower()
    return name in UTILITIES.names() and name not in METRICS.names()


def neural_sum(text: str) -> list[tuple[float, str, str]] | None:
    """Return the terms of a weighted sum with a neural metric in it; None for all other texts.

    >>> neural_sum("0.5*chrf+50*comet(model=FOLDER)")
    [(0.5, 'chrf', ''), (50.0, 'comet', 'model=FOLDER')]
    >>> neural_sum("0.5*chrf-ter") is None
    True
    """
    if not any(name in text.lower() for name in UTILITIES.names()) or names_utility(text):
        return None
    try:
        terms = read_sum(text)
    except UsageError:
        return None
    return terms if any(names_utility(name) for _, name, _ in terms) else None


def asks_models(text: str) -> bool:
    """Return whether a text names a neural metric, alone or in a weighted sum."""
    return names_utility(text) or neural_sum(text) is not None


def _of_term(name: str, options: str) -> Utility:
    utility = utility_of(f"{name}:{options}" if options else name)
    # A minus stands before an error rate in a sum, as in sums of metrics.
    if isinstance(utility, MetricUtility) and not utility.metric.higher_is_better:
        return UtilitySum(((-1.0, utility),))
    return utility


def known_metric(text: str, *, tokenise: Tokenisation | None = None) -> Metric:
    """Parse a metric; name the neural metrics too if there is none of that name."""
    try:
        return parse_metric(text, tokenise=tokenise)
    except UsageError as error:
        if "is called" not in str(error):
            raise
        raise UsageError(f"{error}; neural metrics are {', '.join(UTILITIES.names())}") from None


def utility_signature(utility: Utility) -> str | None:
    """Return the settings that identify a utility and its scores; None for functions and objects without any."""
    found = getattr(utility, "signature", None)
    return str(found()) if callable(found) else None


def needs_source(utility: Utility) -> bool:
    """Return whether the utility cannot do without source texts."""
    return bool(getattr(utility, "needs_source", False))


def needs_reference(utility: Utility) -> bool:
    """Return whether the utility compares with references."""
    return bool(getattr(utility, "needs_reference", True))


def _positional(function: Any) -> int:
    """Count the positional parameters of a function; 2 if that cannot be found out."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    required = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    return 3 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(required)
