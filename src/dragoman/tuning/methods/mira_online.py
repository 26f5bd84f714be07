"""Online MIRA on forests: decodes sentence by sentence and learns as it goes (Chiang, Marton & Resnik 2008)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.options import option
from dragoman.core.progress import ShareDone
from dragoman.core.weights import Weights
from dragoman.forest.hope import BEAM
from dragoman.search.spread import Recipe
from dragoman.text.words import words_of
from dragoman.tuning.methods.learner import Checkpoint, Learner, Lesson, Seeded, State, diverged
from dragoman.tuning.methods.mira_smo import MAX_SWEEPS, TOLERANCE
from dragoman.tuning.optimise.online import Workers
from dragoman.tuning.problems.hope_fear import FindElsewhere, Hypotheses, HypothesisFinder, Wanted
from dragoman.tuning.problems.oracle_lists import oracle_lists
from dragoman.tuning.problems.ranges import changed

Vector = NDArray[np.float64]
#: Searches a sentence under some weights, within a pseudo-document.
Find = Callable[[int, Weights, Vector], Hypotheses]

#: Translations that are so many times as long as references, or as the source, are no translations any more.
TOO_LONG = 3.0


@dataclass(frozen=True)
class MiraOnline(Learner):
    """Online MIRA: D. Chiang, Y. Marton and P. Resnik, Online Large-Margin Training (EMNLP 2008), section 2.

    Decodes a sentence under the present weights and takes hypotheses from its forest: the best by the model (w·h), by
    hope ((1 - mu) B + mu w·h; the first is the oracle e*) and by fear (w·h - B), where B is the score within a
    pseudo-document O of what was translated lately, O ← decay · (O + c(ê)), times the source words of both. Then sets
    the weights to

        argmin over w' of |w' - w|² / 2 + C Σ_i max_j (B(e*_i) - B(e_ij) - w'·(h(e*_i) - h(e_ij)))     (equation 1)

    by sequential minimal optimisation of the dual (equations 2 to 5), and goes on to the next sentence. A pass over the
    tuning set ends with a checkpoint, whose weights are the average over all steps of that pass and all workers.

    Several workers, each with its own weights and pseudo-document, take sentences from one queue, in an order that is
    drawn anew for each pass. At its step t, a worker learns from its own hypotheses together with those that the others
    found at their step t - 1, as one batch; so the result depends on the seed and the number of workers, but not on the
    number of threads. Without `share` they learn by themselves, and only averages know of all.

    The rows of table 2 of the paper are: the defaults; oracle=local,fear=0; oracle=local; fear=0; share=false.

    Cost: a pass takes about one and a half times the decoding of the tuning set, for any number of features. Forests
    are rescored for BLEU of words as they are; for other metrics, hope and fear are chosen from the `candidates` that
    are best by the model. Departures: the hypotheses that rescoring finds are ordered by their true B, with clipped
    counts; O begins with a perfect translation of four words, so that no precision is 0; hypotheses of a sentence are
    different strings.
    """

    name: ClassVar[str] = "mira-online"

    C: float = option(0.01, "most that one sentence may move the weights; smaller is more cautious", minimum=0)
    passes: int = option(8, "passes over the tuning set", minimum=1)
    workers: int = option(
        2, "workers, each with its own weights; how many threads there are changes nothing", minimum=1
    )
    share: bool = option(True, "workers learn from what the others find, too")
    best: int = option(10, "hypotheses that the model scores best", minimum=1)
    hope: int = option(10, "hypotheses that are best by hope; the first is the oracle", minimum=1)
    fear: int = option(10, "hypotheses that are best by fear; 0: no loss-augmented inference", minimum=0)
    oracle: Literal["hope", "local"] = option(
        "hope", "the first by hope, or (local updating) the one of the model's best with the best score, without hope"
    )
    mu: float = option(0.5, "what the model counts in hope; the metric counts the rest", minimum=0, maximum=1)
    decay: float = option(0.9, "how much of the pseudo-document is left after another sentence", minimum=0, maximum=1)
    beam: int = option(BEAM, "strings of a node that the rescoring of forests remembers", minimum=1)
    candidates: int = option(200, "length of lists, for metrics that no forest can be rescored by", minimum=1)

    def checkpoints(self, lesson: Lesson, start: Weights, state: State | None, using: Seeded) -> Iterator[Checkpoint]:
        """Do the passes that are left."""
        lesson.translator.reweighted(start).refuse_global_features()
        wanted = Wanted(self.best, self.hope, self.fear, self.mu, self.oracle, self.candidates, self.beam)
        finder = HypothesisFinder(lesson.translator, lesson.lines, lesson.scorer, lesson.sign, wanted)
        find = _elsewhere(lesson, wanted) if lesson.workers.remote else finder.find
        number = 0 if state is None else int(state["pass"])
        team = [_Worker(start, finder.first_document())] * self.workers
        if state is not None:
            team = _restored(state, self.workers)
        reported, stop = start, None
        while stop is None:
            order = np.random.default_rng([using.seed, number]).permutation(len(lesson)).tolist()
            school = _School(self, lesson, find, team)
            try:
                with using.progress.stage(f"pass {number + 1}") as share_done:
                    team = school.run(order, using, share_done)
            except _DivergenceError as why:
                yield Checkpoint(reported, {}, stop=f"{why}; the weights before that are kept")
                return
            if school.unsolved:
                using.progress.warn(
                    f"{school.unsolved:,} of MIRA's updates stopped before they were exact; a smaller C is easier"
                )
            number += 1
            stop = f"{number} passes" if number >= self.passes else None
            reported = school.average(start)
            yield Checkpoint(reported, {"pass": np.array(number), **_arrays(team)}, school.report(), stop)

    def last_look(self, lesson: Lesson, weights: Weights) -> dict[str, Any]:
        """What is hoped for and feared in a sentence of middling length: figure 1 of the paper."""
        lengths = np.array([len(words_of(line)) for line in lesson.lines])
        sentence = int(np.argmin(np.abs(lengths - np.median(lengths))))
        wanted = Wanted(candidates=self.candidates, beam=max(BEAM, self.beam))
        finder = HypothesisFinder(lesson.translator, lesson.lines, lesson.scorer, lesson.sign, wanted)
        lists = oracle_lists(finder, sentence, weights)
        return {"sentence": sentence + 1, "source": str(lesson.lines[sentence]), "oracles": lists}


def _elsewhere(lesson: Lesson, wanted: Wanted) -> Find:
    """What finds hypotheses on a cluster."""
    assert lesson.folder is not None
    recipe = Recipe.of(lesson.translator, lesson.folder)
    remote = FindElsewhere(recipe, lesson.lines, lesson.scorer, lesson.sign, wanted)

    def find(sentence: int, weights: Weights, document: Vector) -> Hypotheses:
        (found,) = lesson.workers.map(remote, [(sentence, weights, document)])
        return found

    return find


class _DivergenceError(Exception):
    """Learning leads away from everything that makes sense."""


@dataclass(frozen=True, eq=False)
class _Shared:
    """What a worker tells the others: features that are learnt, and B, less what features of fixed weight score."""

    worker: int
    features: FeatureRows
    gains: Vector
    hypotheses: Hypotheses


@dataclass(eq=False)
class _Worker:
    """A worker's weights and pseudo-document.

    Of the present pass: the number of `updates`; `drift`, the sum of each one's change times the number of updates
    before it, from which the average follows; sums of statistics of `translations` and `oracles`; and the `words` of
    translations, and how many they should have.
    """

    weights: Weights
    document: Vector
    updates: int = 0
    drift: dict[str, float] = field(default_factory=dict)
    translations: Vector = field(default_factory=lambda: np.zeros(1))
    oracles: Vector = field(default_factory=lambda: np.zeros(1))
    words: list[tuple[float, float]] = field(default_factory=list)

    def average(self, names: Sequence[str]) -> Vector:
        drift = np.array([self.drift.get(name, 0.0) for name in names])
        return np.asarray(self.weights.vector(names) - drift / max(self.updates, 1))


class _School:
    """A pass over the tuning set: how workers find hypotheses, and learn from them."""

    def __init__(self, options: MiraOnline, lesson: Lesson, find: Find, team: Sequence[_Worker]):
        self._options, self._lesson, self._found = options, lesson, find
        self._team = [_Worker(worker.weights, worker.document) for worker in team]
        self.unsolved = 0

    def run(self, queue: Sequence[int], using: Seeded, progress: ShareDone) -> list[_Worker]:
        """Do the pass; returns the workers after it."""
        workers = Workers(self._options.workers, self._find, self._learn, share=self._options.share)
        # Those who only wait for a cluster are no burden.
        threads = self._options.workers if self._lesson.workers.remote else using.threads
        workers.run(queue, threads=threads, progress=progress)
        words = np.concatenate([worker.words[len(worker.words) // 2 :] for worker in self._team]).sum(axis=0)
        if words[0] > TOO_LONG * max(words[1], 1):
            raise _DivergenceError(
                f"translations are {words[0] / max(words[1], 1):.1f} times as long as they should be"
            )
        return self._team

    def _find(self, worker: int, sentence: int) -> _Shared:
        weights = self._team[worker].weights
        found = self._found(sentence, weights, self._team[worker].document)
        learnt = self._lesson.learnt(found.features.names)
        rows = found.features.restricted([name for name in found.features.names if name in learnt])
        fixed = found.features.dot(weights) - rows.dot(weights)
        return _Shared(worker, rows, found.gains - fixed, found)

    def _learn(self, worker: int, batch: Sequence[_Shared]) -> None:
        """Equations 1 to 7."""
        one = self._team[worker]
        rows = FeatureRows.concatenate([shared.features for shared in batch])
        before = one.weights.vector(rows.names)
        after, _, sweeps = kernels.mira_smo_update(
            np.cumsum([0, *(len(shared.gains) for shared in batch)], dtype=np.int64),
            rows.offsets,
            rows.ids,
            rows.values,
            gains=np.concatenate([shared.gains for shared in batch]),
            weights=before,
            C=self._options.C,
            tolerance=TOLERANCE,
            max_sweeps=MAX_SWEEPS,
        )
        self.unsolved += sweeps == MAX_SWEEPS
        moved = np.flatnonzero(after != before).tolist()
        change = {rows.names[i]: float(after[i]) for i in moved}
        if diverged(Weights(change)):
            raise _DivergenceError("the weights diverge")
        for i in moved:
            one.drift[rows.names[i]] = one.drift.get(rows.names[i], 0.0) + one.updates * float(after[i] - before[i])
        one.weights = one.weights.updated(change)
        one.updates += 1
        if batch[0].worker == worker:
            self._remember(one, batch[0].hypotheses)

    def _remember(self, worker: _Worker, found: Hypotheses) -> None:
        worker.document = self._options.decay * (worker.document + found.translation)
        worker.translations = worker.translations + found.translation
        worker.oracles = worker.oracles + found.oracle
        columns = self._lesson.scorer.bleu_columns
        length = found.translation[-1 if columns is None else columns[-1]]
        worker.words.append((found.words, float(length)))

    def average(self, start: Weights) -> Weights:
        """The average over all steps and workers."""
        sparse = self._lesson.sparse({name for worker in self._team for name in worker.weights})
        names = [*self._lesson.names, *sparse]
        return changed(start, names, np.mean([worker.average(names) for worker in self._team], axis=0), sparse)

    def report(self) -> dict[str, float]:
        """For whoever follows: scores of what was translated on the way and of oracles, and the ratio of lengths."""
        score = self._lesson.scorer.score
        words = np.concatenate([worker.words for worker in self._team]).sum(axis=0)
        return {
            "translations": float(score(np.sum([worker.translations for worker in self._team], axis=0)[:-1])),
            "oracles": float(score(np.sum([worker.oracles for worker in self._team], axis=0)[:-1])),
            "length_ratio": float(words[0] / max(words[1], 1)),
        }


def _arrays(team: Sequence[_Worker]) -> dict[str, NDArray[Any]]:
    names = [*dict.fromkeys(name for worker in team for name in worker.weights)]
    return {
        "names": np.array(names, np.str_),
        "weights": np.array([worker.weights.vector(names) for worker in team]),
        "documents": np.array([worker.document for worker in team]),
    }


def _restored(state: State, workers: int) -> list[_Worker]:
    names = [str(name) for name in state["names"]]
    if state["weights"].shape != (workers, len(names)) or len(state["documents"]) != workers:
        raise DataError(f"the saved state has {len(state['weights'])} workers", expected=f"{workers}")
    return [
        _Worker(Weights(zip(names, weights.tolist(), strict=True)), document)
        for weights, document in zip(state["weights"], state["documents"], strict=True)
    ]
