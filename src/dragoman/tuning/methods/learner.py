"""What a learner is: a method that decodes or samples for itself and changes the weights as it goes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.core.weights import Weights
from dragoman.metrics.combined import CombinedScorer
from dragoman.metrics.metric import Scorer
from dragoman.metrics.precomputed import PrecomputedScorer
from dragoman.model.bundle import Model
from dragoman.sampling.global_features import features_of
from dragoman.search.spread import Spread
from dragoman.search.translator import Translator
from dragoman.tuning.methods.method import TuningMethod
from dragoman.tuning.problems.hope_fear import HypothesisFinder, Wanted
from dragoman.tuning.problems.ranges import Ranges, no_sparse

#: What a learner must know to go on, as arrays by name.
State = Mapping[str, NDArray[Any]]

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

    def spread(self, weights: Weights, *, runtime: Runtime = Runtime()) -> Spread:
        """The translator under some weights, and what it runs on; it has no stages of its own."""
        within = runtime.quiet()
        return Spread(self.translator.reweighted(weights, runtime=within), self.folder, runtime=within)

    def finder(self, wanted: Wanted) -> HypothesisFinder:
        """What finds hypotheses of the sentences."""
        return HypothesisFinder(self.translator, self.lines, self.scorer, self.sign, wanted, folder=self.folder)

    def learnt(self, names: Sequence[str]) -> set[str]:
        """Of names that occur those whose weights are learnt."""
        return Learnt(self.names, self.sparse)(names)

    @cached_property
    def sees_documents(self) -> bool:
        """Whether a feature of the model is of documents."""
        return any(feature.level == "document" for feature in features_of(self.model.global_features))

    @property
    def units(self) -> NDArray[np.int64]:
        """The bounds of what must stay together: documents if a feature of the model looks at them, else sentences."""
        if self.documents is None or not self.sees_documents:
            return np.arange(len(self) + 1)
        return self.documents


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a learner has got to: weights worth judging, and all that it needs to go on from there.

    `report` are numbers for whoever follows it: a temperature, an objective, how many updates there were. `stop` says
    why this is the end, if it is.
    """

    weights: Weights
    state: State
    report: Mapping[str, float] = field(default_factory=dict)
    stop: str | None = None


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

    def last_look(self, lesson: Lesson, weights: Weights) -> dict[str, Any]:
        """What a report shows of the weights that a run ended with, as values that JSON has; by default nothing."""
        return {}

    @abstractmethod
    def checkpoints(
        self, lesson: Lesson, start: Weights, state: State | None, seed: int, runtime: Runtime
    ) -> Iterator[Checkpoint]:
        """Do what `learn` promises; the lesson is checked, and all random numbers depend on the seed."""
