"""Online MIRA on forests: decodes sentence by sentence and learns as it goes (Chiang, Marton & Resnik 2008)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.options import option
from dragoman.core.progress import ProgressCallback
from dragoman.core.runtime import Runtime
from dragoman.forest.hope import BEAM
from dragoman.text.words import words_of
from dragoman.tuning.methods.method import (
    Checkpoint,
    Learner,
    State,
    TrainingSet,
    diverged,
    saved_count,
    saved_names,
    saved_numbers,
)
from dragoman.tuning.methods.mira_smo import MAX_SWEEPS, TOLERANCE
from dragoman.tuning.optimise.online import ParallelLearners, StepAverages, even_queue, squares_within, units_of
from dragoman.tuning.problems.hope_fear import Hypotheses, HypothesisFinder, HypothesisSettings, oracle_lists
from dragoman.tuning.problems.problem import replace_weights

Vector = NDArray[np.float64]

#: Ratio of lengths to references, or to the source, beyond which learning has diverged.
TOO_LONG = 3.0

#: Number of parts of a pass; averages over consecutive parts are candidates for its weights.
PARTS = 8

#: The unit of log-probabilities in base 100.
LN_100 = float(np.log(100))

_PAPER: Mapping[str, Any] = {
    "workers": 20,
    "decay": 0.9,
    "cooling": 0.0,
    "gain_scale": 1.0,
    "units": "base-100",
    "average": "pass",
}


@dataclass(frozen=True)
class MiraOnline(Learner):
    """Online MIRA: D. Chiang, Y. Marton and P. Resnik, Online Large-Margin Training (EMNLP 2008), section 2.

    Decodes a sentence under the present weights and takes hypotheses from its forest: the best by the model (w·h), by
    hope ((1 - mu) B + mu w·h; the first is the oracle e*) and by fear (w·h - B), where B is the score within a
    pseudo-document O of what was translated lately, O ← decay · (O + c(ê)), times the source words of both. Then sets
    the weights to

        argmin over w' of |w' - w|² / 2 + C Σ_i max_j (B(e*_i) - B(e_ij) - w'·(h(e*_i) - h(e_ij)))     (equation 1)

    by sequential minimal optimisation of the dual (equations 2 to 5), and moves to the next sentence. A pass over the
    tuning set ends with a checkpoint, whose weights are an average over steps of that pass and over all workers.

    Several workers, each with its own weights and pseudo-document, take sentences from one queue, in an order that is
    drawn anew for each pass, in which sentences that are taken at the same time are about equally long. At its step t,
    a worker learns from its own hypotheses together with those that the others found at their step t - 1, as one batch;
    so the result depends on the seed and the number of workers, but not on the number of threads. Without `share` they
    learn independently, and only the averages combine them.

    That is the paper, and `preset=paper` sets its options: among them 20 workers, whatever the number of cores, and
    `units=base-100`, in which log-probabilities are measured in base 100 and counts as they are (section 5.1). Weights
    are reported and saved for natural logarithms, as all others are. By default six changes bring the weights closer to
    the optimum, around which the paper's steps move: features are measured in units that let all weights move
    (`units`), from the second pass on, by the deviations in the pass before; B counts less (`gain_scale`), so that hope
    and fear are nearer to what the model would choose; steps get smaller from pass to pass (`cooling`); the document is
    as large as a usual tuning set (`decay`), which makes lengths right; a pass ends with the average over the part of
    it that does best on all hypotheses of the pass (`average`); and two workers learn from fresher hypotheses than 20.

    The rows of table 2 of the paper are: preset=paper; and besides oracle=local,fear=0; oracle=local; fear=0;
    share=false.

    Cost: a pass takes twice the decoding of the tuning set with rules, and three times with phrases, whose search is
    faster, for any number of features. Forests are rescored for BLEU without a tokeniser; for other metrics, hope and
    fear are chosen from the `candidates` that are best by the model. Departures, also of the preset: the hypotheses
    that rescoring finds are ordered by their true B, with clipped counts; O begins with a perfect translation of four
    words, so that no precision is 0; hypotheses of a sentence are different strings; a node of a forest keeps `beam`
    strings, where the paper keeps the best of each set of alternatives; reference lengths are the metric's, by default
    the closest (the paper's is the shortest: `--metric bleu:reference_length=shortest`); what others found is one step
    old, where the paper takes what has arrived; and the paper says nothing about the order of sentences.
    """

    name: ClassVar[str] = "mira-online"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": _PAPER}

    preset: Literal["paper"] | None = option(
        None, "the settings of the paper in place of the defaults; other options override them"
    )
    C: float = option(0.01, "largest step that one sentence may cause; smaller is more cautious", minimum=0)
    passes: int = option(8, "passes over the tuning set", minimum=1)
    workers: int = option(
        2, "workers, each with its own weights, at most one per sentence; threads do not change results", minimum=1
    )
    share: bool = option(True, "workers also learn from the hypotheses of the others")
    best: int = option(10, "hypotheses that the model scores best", minimum=1)
    hope: int = option(10, "hypotheses that are best by hope; the first is the oracle", minimum=1)
    fear: int = option(10, "hypotheses that are best by fear; 0: no loss-augmented inference", minimum=0)
    oracle: Literal["hope", "local"] = option(
        "hope", "the first by hope, or (local updating) the one of the model's best with the best score, without hope"
    )
    mu: float = option(0.5, "weight of the model score in hope; the metric has the rest", minimum=0, maximum=1)
    gain_scale: float = option(0.2, "weight of the metric relative to the model score", minimum=0)
    decay: float = option(0.999, "factor by which the pseudo-document decays after each sentence", minimum=0, maximum=1)
    cooling: float = option(1.0, "in pass p, C is divided by 1 + cooling (p - 1)", minimum=0)
    units: Literal["deviation", "base-100", "plain"] = option(
        "deviation",
        "dense features in units of the root of their deviation; or log-probabilities in base 100; or all unscaled",
    )
    average: Literal["best", "pass"] = option(
        "best", "end a pass with the average over its best part, or over all of it"
    )
    beam: int = option(BEAM, "strings per node that the rescoring of forests keeps", minimum=1)
    candidates: int = option(200, "length of n-best lists, for metrics that cannot rescore forests", minimum=1)

    def checkpoints(
        self, training_set: TrainingSet, start: Weights, state: State | None, seed: int, runtime: Runtime
    ) -> Iterator[Checkpoint]:
        """Run the remaining passes."""
        training_set.translator.reweighted(start).refuse_global_features()
        wanted = HypothesisSettings(
            self.best, self.hope, self.fear, self.mu, self.oracle, self.candidates, self.beam, self.gain_scale
        )
        finder = training_set.finder(wanted)
        workers = min(self.workers, len(training_set))
        states = _WorkerStates.beginning(start, finder.first_document(), workers, len(training_set.names))
        if state is not None:
            states = _WorkerStates.restored(state, finder.first_document(), workers, len(training_set.names))
        reported, stop = start, None
        lengths = [len(words_of(line)) for line in training_set.lines]
        while stop is None:
            order = even_queue(lengths, workers, np.random.default_rng([seed, states.passes]))
            epoch = _Epoch(self, training_set, finder, states, runtime)
            try:
                with runtime.stage(f"pass {states.passes + 1}") as progress_callback:
                    states = epoch.run(order, progress_callback)
            except _DivergenceError as why:
                yield Checkpoint(reported, {}, stop=f"{why}; the weights before that are kept")
                return
            if epoch.unsolved:
                runtime.warn(
                    f"{epoch.unsolved:,} of MIRA's updates stopped before they were exact; a smaller C is easier"
                )
            stop = f"{states.passes} passes" if states.passes >= self.passes else None
            reported = epoch.average(start)
            yield Checkpoint(reported, states.arrays(), epoch.report(), stop)

    def final_report(self, training_set: TrainingSet, weights: Weights) -> dict[str, Any]:
        """Return the hope and fear hypotheses of a sentence of median length: figure 1 of the paper."""
        lengths = np.array([len(words_of(line)) for line in training_set.lines])
        sentence = int(np.argmin(np.abs(lengths - np.median(lengths))))
        wanted = HypothesisSettings(candidates=self.candidates, beam=max(BEAM, self.beam))
        lists = oracle_lists(training_set.finder(wanted), sentence, weights)
        return {"sentence": sentence + 1, "source": str(training_set.lines[sentence]), "oracles": lists}


class _DivergenceError(Exception):
    """The weights or the lengths of translations diverge."""


@dataclass(frozen=True, eq=False)
class _Shared:
    """Hypotheses that a worker shares: their learnt features, and B less the score of features with fixed weights."""

    worker: int
    sentence: int
    features: FeatureRows
    gains: Vector
    hypotheses: Hypotheses


@dataclass(frozen=True, eq=False)
class _WorkerStates:
    """The states of all workers after some passes: weights and pseudo-documents, and the units of features.

    The units are in the order of the names of the training set.
    """

    passes: int
    weights: Sequence[Weights]
    documents: Sequence[Vector]
    units: Vector

    @classmethod
    def beginning(cls, start: Weights, document: Vector, workers: int, names: int) -> _WorkerStates:
        return cls(0, [start] * workers, [document] * workers, np.ones(names))

    @classmethod
    def restored(cls, state: State, document: Vector, workers: int, learnt: int) -> _WorkerStates:
        names = saved_names(state)
        if len(state["weights"]) != workers:
            raise DataError(f"the saved state has {len(state['weights'])} workers", expected=f"{workers}")
        rows = saved_numbers(state, "weights", workers, len(names)).tolist()
        documents = saved_numbers(state, "documents", workers, len(document))
        return cls(
            saved_count(state, "pass"),
            [Weights(zip(names, row, strict=True)) for row in rows],
            [*documents],
            saved_numbers(state, "units", learnt),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        names = [*dict.fromkeys(name for weights in self.weights for name in weights)]
        return {
            "pass": np.array(self.passes),
            "names": np.array(names, np.str_),
            "weights": np.array([weights.vector(names) for weights in self.weights]),
            "documents": np.array(self.documents),
            "units": self.units,
        }


@dataclass(eq=False)
class _Worker:
    """A worker in a pass: its steps, its pseudo-document, and sums of what it has seen.

    These are statistics of `translations` and `oracles`, the `words` of translations and how many they should have, and
    how features differ within sentences (`squares`).
    """

    steps: StepAverages
    document: Vector
    translations: Vector = field(default_factory=lambda: np.zeros(1))
    oracles: Vector = field(default_factory=lambda: np.zeros(1))
    words: list[tuple[float, float]] = field(default_factory=list)
    squares: Vector = field(default_factory=lambda: np.zeros(1))


class _Epoch:
    """A pass over the tuning set, in which workers find hypotheses and learn from them."""

    def __init__(
        self,
        options: MiraOnline,
        training_set: TrainingSet,
        finder: HypothesisFinder,
        states: _WorkerStates,
        runtime: Runtime,
    ):
        self._options, self._training_set, self._finder, self._passes = options, training_set, finder, states.passes
        self._runtime = runtime
        turns = [len(range(worker, len(training_set), len(states.weights))) for worker in range(len(states.weights))]
        self._workers = [
            _Worker(StepAverages(weights, steps, PARTS), document)
            for weights, document, steps in zip(states.weights, states.documents, turns, strict=True)
        ]
        self._units: dict[str, float] = {}
        if options.units == "deviation":
            self._units |= zip(training_set.names, states.units.tolist(), strict=True)
        self._C = options.C / (1 + options.cooling * states.passes)
        self._seen: dict[int, Hypotheses] = {}
        self.unsolved = 0

    def run(self, queue: Sequence[int], progress_callback: ProgressCallback) -> _WorkerStates:
        """Run the pass; return the states of the workers after it."""
        learners = ParallelLearners(len(self._workers), self._find, self._learn, share=self._options.share)
        learners.run(queue, progress_callback=progress_callback, runtime=self._runtime)
        words = np.concatenate([worker.words[len(worker.words) // 2 :] for worker in self._workers]).sum(axis=0)
        if words[0] > TOO_LONG * max(words[1], 1):
            raise _DivergenceError(
                f"translations are {words[0] / max(words[1], 1):.1f} times as long as they should be"
            )
        workers = self._workers
        units = self._units_of(self._training_set.names)
        if self._options.units == "deviation":
            units = units_of(worker.squares for worker in workers)
        return _WorkerStates(
            self._passes + 1, [one.steps.weights for one in workers], [one.document for one in workers], units
        )

    def _find(self, worker: int, sentence: int) -> _Shared:
        weights = self._workers[worker].steps.weights
        # Each worker has its own thread here, and searches one sentence at a time.
        (found,) = self._runtime.with_threads(1).map(
            self._finder, [(sentence, weights, self._workers[worker].document)]
        )
        learnt = self._training_set.learnt(found.features.names)
        rows = found.features.restricted([name for name in found.features.names if name in learnt])
        fixed = found.features.dot(weights) - rows.dot(weights)
        return _Shared(worker, sentence, rows, found.gains - fixed, found)

    def _learn(self, worker: int, batch: Sequence[_Shared]) -> None:
        """Update a worker's weights by equations 1 to 7, with features in their units."""
        steps = self._workers[worker].steps
        rows = FeatureRows.concatenate([shared.features for shared in batch])
        units = self._units_of(rows.names)
        before = steps.weights.vector(rows.names) * units
        after, _, sweeps = kernels.mira_smo_update(
            kernels.Candidates(
                sentences=np.cumsum([0, *(len(shared.gains) for shared in batch)], dtype=np.int64),
                features=replace(rows, values=rows.values / units[rows.ids]).for_kernels(),
            ),
            gains=np.concatenate([shared.gains for shared in batch]),
            weights=before,
            C=self._C,
            tolerance=TOLERANCE,
            max_sweeps=MAX_SWEEPS,
        )
        self.unsolved += sweeps == MAX_SWEEPS
        change = {rows.names[i]: float(after[i] / units[i]) for i in np.flatnonzero(after != before).tolist()}
        if diverged(Weights(change)):
            raise _DivergenceError("the weights diverge")
        steps.step(change)
        if batch[0].worker == worker:
            self._remember(self._workers[worker], batch[0])

    def _units_of(self, names: Sequence[str]) -> Vector:
        """Return the unit of each feature; those of sparse features are not measured."""
        if self._options.units == "base-100":
            is_log = self._training_set.model.is_log_probability
            self._units |= {name: LN_100 if is_log(name) else 1.0 for name in names if name not in self._units}
        return np.array([self._units.get(name, 1.0) for name in names])

    def _remember(self, worker: _Worker, shared: _Shared) -> None:
        found = shared.hypotheses
        worker.document = self._options.decay * (worker.document + found.translation)
        worker.translations = worker.translations + found.translation
        worker.oracles = worker.oracles + found.oracle
        worker.squares = worker.squares + squares_within(found.features, self._training_set.names)
        columns = self._training_set.scorer.bleu_columns
        length = found.translation[-1 if columns is None else columns[-1]]
        worker.words.append((found.words, float(length)))
        if self._options.average == "best":
            self._seen[shared.sentence] = found

    def average(self, start: Weights) -> Weights:
        """Return the average over all workers and steps, or over the part of the pass that scores best."""
        sparse = self._training_set.sparse({name for worker in self._workers for name in worker.steps.weights})
        names = [*self._training_set.names, *sparse]
        stretches = [(0, PARTS)]
        if self._options.average == "best":
            pairs = [
                (begin, end)
                for begin, end in itertools.combinations(range(PARTS + 1), 2)
                if all(worker.steps.moves_within(begin, end) for worker in self._workers)
            ]
            # Of equally good ones the longest.
            stretches = sorted(pairs, key=lambda pair: pair[0] - pair[1]) or stretches
        means = [np.mean([worker.steps.mean(names, *part) for worker in self._workers], axis=0) for part in stretches]
        averages = [replace_weights(start, names, mean, sparse) for mean in means]
        return averages[0] if len(averages) == 1 else averages[self._best_of(averages)]

    def _best_of(self, candidates: Sequence[Weights]) -> int:
        """Return the index of the weights that choose best among all hypotheses of the pass."""
        seen = [self._seen[sentence] for sentence in sorted(self._seen)]
        sentences = np.cumsum([0, *map(len, seen)], dtype=np.int64)
        features = FeatureRows.concatenate([found.features for found in seen])
        statistics = np.concatenate([found.statistics[:, :-1] for found in seen])
        rows = kernels.Candidates(sentences=sentences, features=features.for_kernels())
        vectors = [weights.vector(features.names) for weights in candidates]
        threads = self._runtime.threads
        chosen = [kernels.best_rows(rows, weights=vector, threads=threads) for vector in vectors]
        scores = self._training_set.scorer.score(np.array([statistics[best].sum(axis=0) for best in chosen]))
        return int(np.argmax(self._training_set.sign * scores))

    def report(self) -> dict[str, float]:
        """Return the scores of the translations and the oracles of the pass, and the length ratio."""
        score = self._training_set.scorer.score
        words = np.concatenate([worker.words for worker in self._workers]).sum(axis=0)
        return {
            "translations": float(score(np.sum([worker.translations for worker in self._workers], axis=0)[:-1])),
            "oracles": float(score(np.sum([worker.oracles for worker in self._workers], axis=0)[:-1])),
            "length_ratio": float(words[0] / max(words[1], 1)),
        }
