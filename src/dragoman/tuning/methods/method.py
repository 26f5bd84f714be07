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
from dragoman.core.options import Options
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.features import DocumentFeature
from dragoman.metrics.combined import CombinedScorer
from dragoman.metrics.metric import Scorer
from dragoman.metrics.precomputed import PrecomputedScorer
from dragoman.model.bundle import Model
from dragoman.search.shards import ShardedTranslator
from dragoman.search.translator import Translator
from dragoman.tuning.problems.evidence import Decoded
from dragoman.tuning.problems.hope_fear import HypothesisFinder, Wanted
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem
from dragoman.tuning.problems.problem import Evidence, Problem, checked_start
from dragoman.tuning.problems.ranges import Ranges, no_sparse
from dragoman.tuning.runs.trust_region import TrustRegion

#: All that a learner needs to go on, as arrays by name.
State = Mapping[str, NDArray[Any]]

#: What a method says of an iteration: numbers by name, or tables of them.
Report = Mapping[str, Union[float, "Report", None]]


@dataclass(frozen=True)
class TuningMethod(Options, ABC):
    """A method and its options. The same seed gives the same result, whatever the number of threads."""

    name: ClassVar[str]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a method has got to: weights worth judging, and all that it needs to go on from there.

    That is a learner's `state`, or the `evidence` that an optimiser has decoded. `report` has numbers for whoever
    follows it: a temperature, an objective, how many updates there were. `stop` says why this is the end, if it is.

    A method that measures the weights that it begins with gives their `score`, its `seconds` by part, and a `summary`
    for people; the others are judged on held-out text.
    """

    weights: Weights
    state: State | None = None
    report: Report = field(default_factory=dict)
    stop: str | None = None
    evidence: Decoded | None = None
    score: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    summary: str = ""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Weights and their value: the method's own objective (for MERT the metric, for PRO minus the loss)."""

    weights: NDArray[np.float64]
    objective: float
    #: What else is worth a place among a run's events.
    details: Mapping[str, int | float] = field(default_factory=dict)
    #: Other proposals, one row each: one that is not as good may be nearer, or lead on where nothing beats the start.
    others: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Tuner(TuningMethod):
    """A method that optimises decoded evidence, and its options.

    The annotation of the `problem` of `improve` says what evidence it takes: a `Problem` (lists of candidates; so by
    default), a `MixtureProblem` (such of mixed tables, whose shares are tuned as well), a `HypergraphProblem`, a
    `ReferenceProblem` (such with all derivations of the references), or any of several.
    """

    #: How a run moves towards what the method proposes; None where the size of weights matters, and it goes there.
    region: ClassVar[TrustRegion | None] = TrustRegion()

    @classmethod
    def evidence(cls) -> tuple[type[Evidence], ...]:
        """The types of problems that the method takes."""
        return _annotated_evidence(cls)

    @classmethod
    def takes(cls, kind: type[Evidence]) -> bool:
        """Whether the method takes problems of a kind."""
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
        """The problem as one of the types that the method takes: plain evidence is a special case of the others."""
        if isinstance(problem, self.evidence()):
            return problem
        wanted = next(kind for kind in self.evidence() if issubclass(kind, type(problem)))
        return wanted(**{each.name: getattr(problem, each.name) for each in fields(problem)})

    @abstractmethod
    def improve(self, problem: Any, start: NDArray[np.float64], rng: np.random.Generator, runtime: Runtime) -> Optimum:
        """Do what `optimise` promises: the problem is of a kind that it takes, and the start a copy that fits it."""


@cache
def _annotated_evidence(tuner: type[Tuner]) -> tuple[type[Evidence], ...]:
    annotated = get_type_hints(tuner.improve).get("problem", Problem)
    return get_args(annotated) or (annotated,)


def random_starts(
    problem: Evidence, start: NDArray[np.float64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The given start and `count` random ones, each weight uniform in its range: one row each."""
    low, high = problem.ranges[:, 0], problem.ranges[:, 1]
    return np.concatenate([start[None], rng.uniform(low, high, (count, len(low)))])


def best_of(optima: Iterable[Optimum], count: int, progress_callback: ProgressCallback) -> Optimum:
    """The best of `count` optima, the first of equally good ones, with all others; says of each that it is found."""
    found: list[Optimum] = []
    for optimum in optima:
        found.append(optimum)
        progress_callback(len(found) / count)
    best = max(found, key=lambda optimum: optimum.objective)
    return replace(best, others=np.array([optimum.weights for optimum in found if optimum is not best]))


#: A weight beyond this is on its way to infinity: features are logarithms of probabilities and counts.
LARGEST_WEIGHT = 1e4


def saved_numbers(state: State, name: str, *shape: int) -> NDArray[Any]:
    """Return an array of finite numbers of a saved state, if it has the shape that fits what goes on."""
    found = state[name]
    if found.dtype.kind not in "fi" or found.shape != shape or not np.isfinite(found).all():
        raise DataError(
            f"the saved state has {name} of shape {found.shape}, or no finite numbers", expected=f"numbers of {shape}"
        )
    return found


def saved_count(state: State, name: str) -> int:
    """Return a number of a saved state that counts something."""
    found = int(saved_numbers(state, name))
    if found < 0:
        raise DataError(f"the saved state has a {name} of {found}", expected="0 or more")
    return found


def saved_names(state: State, name: str = "names") -> list[str]:
    """Return an array of names of a saved state."""
    found = state[name]
    names = [str(one) for one in found.tolist()] if found.dtype.kind == "U" and found.ndim == 1 else [""]
    if not all(names) or len(set(names)) < len(names):
        raise DataError(f"the saved state has {name} that are none", expected="names of features, each once")
    return names


def diverged(weights: Weights) -> bool:
    """Whether weights are no numbers any more, or so large that they soon will be none."""
    values = np.array(list(weights.values()))
    return not (np.isfinite(values).all() and (np.abs(values) <= LARGEST_WEIGHT).all())


@dataclass(frozen=True)
class Learnt:
    """Says of names that occur which have weights that are learnt: `names`, and those that `sparse` finds."""

    names: Sequence[str]
    sparse: Callable[[Iterable[str]], Ranges]

    def __call__(self, names: Sequence[str]) -> set[str]:
        """The names that are."""
        return {*self.names, *self.sparse(names)}


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is learnt from: tokenised sentences, what translates them, and a metric with their references.

    The weights of the features `names` are learnt, and of others that occur those that `sparse` finds among them. Gains
    are `sign` times the metric. Lines d[i] to d[i + 1] of `documents` d are a document; by default each line is one.
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
        """The translator under some weights, and what it runs on; it has no stages of its own."""
        within = runtime.quiet()
        return ShardedTranslator(self.translator.reweighted(weights, runtime=within), self.folder, runtime=within)

    def finder(self, wanted: Wanted) -> HypothesisFinder:
        """What finds hypotheses of the sentences."""
        return HypothesisFinder(self.translator, self.lines, self.scorer, self.sign, wanted, folder=self.folder)

    def learnt(self, names: Sequence[str]) -> set[str]:
        """Of names that occur those whose weights are learnt."""
        return Learnt(self.names, self.sparse)(names)

    @cached_property
    def sees_documents(self) -> bool:
        """Whether a feature of the model is of documents."""
        return bool(self.model.features_of(DocumentFeature))

    @property
    def units(self) -> NDArray[np.int64]:
        """The bounds of what must stay together: documents if a feature of the model looks at them, else sentences."""
        if self.documents is None or not self.sees_documents:
            return np.arange(len(self) + 1)
        return self.documents


@dataclass(frozen=True)
class Learner(TuningMethod):
    """A method that learns online, and its options.

    What it does from a checkpoint on depends on the lesson, the seed, and that checkpoint's weights and state only.
    """

    def check(self, lesson: Lesson) -> None:
        """Refuse what cannot be learnt from, before anything is begun; methods that have more to refuse add to it."""
        if not len(lesson):
            raise UsageError("there are no sentences to learn from")
        scorer = lesson.scorer
        parts = [one for _, one in scorer.terms] if isinstance(scorer, CombinedScorer) else [scorer]
        if any(isinstance(part, PrecomputedScorer) for part in parts):
            raise UsageError(
                f"{self.name} needs a metric that can score new translations; precomputed knows those in its file only"
            )

    def learn(
        self,
        lesson: Lesson,
        start: Weights,
        state: State | None = None,
        *,
        seed: int = 1,
        runtime: Runtime = Runtime(),
    ) -> Iterator[Checkpoint]:
        """Learn from `start`, or go on from a checkpoint with those weights and that state; yield checkpoints."""
        self.check(lesson)
        return self.checkpoints(lesson, start, state, seed, runtime)

    def final_report(self, lesson: Lesson, weights: Weights) -> dict[str, Any]:
        """What a report shows of the weights that a run ended with, as values that JSON has; by default nothing."""
        return {}

    @abstractmethod
    def checkpoints(
        self, lesson: Lesson, start: Weights, state: State | None, seed: int, runtime: Runtime
    ) -> Iterator[Checkpoint]:
        """Do what `learn` promises; the lesson is checked, and all random numbers depend on the seed."""
