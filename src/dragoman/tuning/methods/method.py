"""Tuning methods: optimisers of decoded evidence (`Tuner`), online learners (`Learner`), and their checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, Union, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options
from dragoman.core.progress import ProgressCallback
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.features import DocumentFeature
from dragoman.metrics.combined import CombinedScorer
from dragoman.metrics.metric import Scorer
from dragoman.metrics.precomputed import PrecomputedScorer
from dragoman.model.bundle import Model
from dragoman.search.translator import ShardedTranslator, Translator
from dragoman.tuning.problems.evidence import DecodingResults
from dragoman.tuning.problems.hope_fear import HypothesisFinder, HypothesisSettings
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Evidence, Problem, Ranges, checked_start, no_sparse
from dragoman.tuning.runs.trust_region import TrustRegion

#: All that a learner needs to resume, as arrays by name.
State = Mapping[str, NDArray[Any]]

#: Report of an iteration: numbers by name, or tables of them.
Report = Mapping[str, Union[float, "Report", None]]


@dataclass(frozen=True)
class TuningMethod(Options, ABC):
    """A method and its options. The same seed gives the same result, whatever the number of threads."""

    name: ClassVar[str]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint of a method: weights to validate, and all that it needs to resume.

    That is a learner's `state`, or the `evidence` that an optimiser has decoded. `report` has numbers to follow, such
    as a temperature, an objective, or the number of updates. `stop` is the reason to stop here, if there is one.

    A method that scores the weights that it begins with gives their `score`, its `seconds` by part, and a `summary`
    to print; the others are validated on held-out text.
    """

    weights: Weights
    state: State | None = None
    report: Report = field(default_factory=dict)
    stop: str | None = None
    evidence: DecodingResults | None = None
    score: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Weights and their value: the method's own objective (for MERT the metric, for PRO minus the loss)."""

    weights: NDArray[np.float64]
    objective: float
    #: Further numbers for a run's events.
    details: Mapping[str, int | float] = field(default_factory=dict)
    #: Other proposals, one row each: a worse one may be nearer, or worth exploring where nothing beats the start.
    others: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Tuner(TuningMethod):
    """A method that optimises decoded evidence, and its options.

    The annotation of the `problem` of `improve` says what evidence it takes: a `Problem` (lists of candidates; the
    default), a `MixtureProblem` (lists of mixed tables, whose interpolation weights are tuned as well), a
    `HypergraphProblem`, a `ReferenceProblem` (hypergraphs with all derivations of the references), or a union.
    """

    #: The trust region of steps towards a proposal; None for methods whose weights are taken as they are.
    region: ClassVar[TrustRegion | None] = TrustRegion()
    #: The most features that it can tune; with more of them, a run leaves the weights of sparse ones as they are.
    most_features: ClassVar[int | None] = None

    @classmethod
    def evidence(cls) -> tuple[type[Evidence], ...]:
        """Return the types of problems that the method takes."""
        return _annotated_evidence(cls)

    @classmethod
    def takes(cls, kind: type[Evidence]) -> bool:
        """Return whether the method takes problems of a kind."""
        return any(issubclass(one, kind) for one in cls.evidence())

    def optimise(
        self, problem: Any, start: NDArray[np.float64], *, rng: np.random.Generator, runtime: Runtime = Runtime()
    ) -> Optimum:
        """Return better weights, from `start`; neither argument is changed."""
        if isinstance(problem, Problem) and not self.takes(Problem):
            raise UsageError(f"{self.name} works on hypergraphs only, and these are lists of candidates")
        if isinstance(problem, HypergraphProblem) and not self.takes(HypergraphProblem):
            raise UsageError(f"{self.name} works on lists of candidates only, and these are hypergraphs")
        return self.improve(self._fitted(problem), checked_start(problem, start), rng, runtime)

    def _fitted(self, problem: Any) -> Any:
        """Return the problem as a type that the method takes: plain evidence is a special case of the others."""
        if isinstance(problem, self.evidence()):
            return problem
        wanted = next(kind for kind in self.evidence() if issubclass(kind, type(problem)))
        return wanted(**{each.name: getattr(problem, each.name) for each in fields(problem)})

    @abstractmethod
    def improve(self, problem: Any, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime) -> Optimum:
        """Implement `optimise`: the problem has a type that the method takes, and the start is a copy that fits it."""


@cache
def _annotated_evidence(tuner: type[Tuner]) -> tuple[type[Evidence], ...]:
    annotated = get_type_hints(tuner.improve).get("problem", Problem)
    return get_args(annotated) or (annotated,)


def random_starts(
    problem: Evidence, start: NDArray[np.float64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the given start and `count` random ones, each weight uniform in its range: one row each."""
    low, high = problem.ranges[:, 0], problem.ranges[:, 1]
    return np.concatenate([start[None], rng.uniform(low, high, (count, len(low)))])


def best_of(optima: Iterable[Optimum], count: int, progress_callback: ProgressCallback) -> Optimum:
    """Return the best of `count` optima, the first of equals, with all others; report progress after each."""
    found: list[Optimum] = []
    for optimum in optima:
        found.append(optimum)
        progress_callback(len(found) / count)
    best = max(found, key=lambda optimum: optimum.objective)
    return replace(best, others=np.array([optimum.weights for optimum in found if optimum is not best]))


#: Larger weights mean divergence: features are logarithms of probabilities and counts.
LARGEST_WEIGHT = 1e4


def saved_numbers(state: State, name: str, *shape: int) -> NDArray[Any]:
    """Return an array of finite numbers of a saved state, if it has the expected shape."""
    found = state[name]
    if found.dtype.kind not in "fi" or found.shape != shape or not np.isfinite(found).all():
        raise DataError(
            f"the saved state has {name} of shape {found.shape}, or no finite numbers", expected=f"numbers of {shape}"
        )
    return found


def saved_count(state: State, name: str) -> int:
    """Return a count of a saved state."""
    found = int(saved_numbers(state, name))
    if found < 0:
        raise DataError(f"the saved state has a {name} of {found}", expected="0 or more")
    return found


def saved_names(state: State, name: str = "names") -> list[str]:
    """Return an array of names of a saved state."""
    found = state[name]
    names = [str(one) for one in found.tolist()] if found.dtype.kind == "U" and found.ndim == 1 else [""]
    if not all(names) or len(set(names)) < len(names):
        raise DataError(f"the saved state has bad {name}", expected="names of features, each once")
    return names


def diverged(weights: Weights) -> bool:
    """Return whether weights are not finite, or larger than `LARGEST_WEIGHT`."""
    values = np.array(list(weights.values()))
    return not (np.isfinite(values).all() and (np.abs(values) <= LARGEST_WEIGHT).all())


@dataclass(frozen=True)
class FeatureSelector:
    """Selects the features whose weights are learnt: `names`, and those that `sparse` selects."""

    names: Sequence[str]
    sparse: Callable[[Iterable[str]], Ranges]

    def __call__(self, names: Sequence[str]) -> set[str]:
        """Return the names of learnt weights."""
        return {*self.names, *self.sparse(names)}


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Tokenised sentences to learn from, their translator, and a metric with their references.

    The weights of the features `names` are learnt, and of other features those that `sparse` selects. Gains are `sign`
    times the metric. Lines d[i] to d[i + 1] of `documents` d are a document; by default each line is one.
    Workers of a cluster load the model from its `folder`.
    """

    translator: Translator
    lines: Sequence[str]
    scorer: Scorer
    names: Sequence[str]
    sparse: Callable[[Iterable[str]], Ranges] = no_sparse
    sign: int = 1
    documents: NDArray[np.int64] | None = None
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def model(self) -> Model:
        """The model that translates."""
        return self.translator.model

    def spread(self, weights: Weights, *, runtime: Runtime = Runtime()) -> ShardedTranslator:
        """Return the translator under some weights on a runtime; it reports no stages."""
        within = runtime.quiet()
        return ShardedTranslator(self.translator.reweighted(weights, runtime=within), self.folder, runtime=within)

    def finder(self, wanted: HypothesisSettings) -> HypothesisFinder:
        """Return a finder of hypotheses of the sentences."""
        return HypothesisFinder(self.translator, self.lines, self.scorer, self.sign, wanted, folder=self.folder)

    def learnt(self, names: Sequence[str]) -> set[str]:
        """Return those of some names whose weights are learnt."""
        return FeatureSelector(self.names, self.sparse)(names)

    @cached_property
    def sees_documents(self) -> bool:
        """True if the model has a document feature."""
        return bool(self.model.features_of(DocumentFeature))

    @property
    def units(self) -> NDArray[np.int64]:
        """The bounds of units that stay together: documents if the model has document features, else sentences."""
        if self.documents is None or not self.sees_documents:
            return np.arange(len(self) + 1)
        return self.documents

    def sentences_of(self, units: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the sentences of some units."""
        return Ragged(np.arange(len(self)), self.units).take(units).values


@dataclass(frozen=True)
class Learner(TuningMethod):
    """A method that learns online, and its options.

    After a checkpoint it depends only on the training set, the seed, and the weights and state of that checkpoint.
    """

    def check(self, training_set: TrainingSet) -> None:
        """Refuse unsuitable training sets before anything is begun; methods may extend this."""
        if not len(training_set):
            raise UsageError("there are no sentences to learn from")
        scorer = training_set.scorer
        parts = [one for _, one in scorer.terms] if isinstance(scorer, CombinedScorer) else [scorer]
        if any(isinstance(part, PrecomputedScorer) for part in parts):
            raise UsageError(
                f"{self.name} needs a metric that can score new translations; precomputed has only those of its file"
            )

    def learn(
        self,
        training_set: TrainingSet,
        start: Weights,
        state: State | None = None,
        *,
        seed: int = 1,
        runtime: Runtime = Runtime(),
    ) -> Iterator[Checkpoint]:
        """Learn from `start`, or resume from a checkpoint with these weights and this state; yield checkpoints."""
        self.check(training_set)
        return self.checkpoints(training_set, start, state, seed, runtime)

    def final_report(self, training_set: TrainingSet, weights: Weights) -> dict[str, Any]:
        """Return what a report shows of the final weights, as values for JSON; by default nothing."""
        return {}

    @abstractmethod
    def checkpoints(
        self, training_set: TrainingSet, start: Weights, state: State | None, seed: int, runtime: Runtime
    ) -> Iterator[Checkpoint]:
        """Implement `learn`: the training set is checked, and all random numbers depend on the seed."""
