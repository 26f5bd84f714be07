"""Tuning on lists by means of sentence scores: of functions, neural metrics, and from files."""

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import DataError
from dragoman.core.progress import ProgressRecorder
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem

METHODS = [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner) and TUNERS.get(name).takes(Problem)]
SENTENCES, SIZE = 25, 8


class Lists:
    """Random lists whose feature `good` tells much of the quality, `noise` nothing."""

    def __init__(self, seed=1, offset=0.8, scale=0.02):
        rng = np.random.default_rng(seed)
        self.texts = [[f"s{s} c{c}" for c in range(SIZE)] for s in range(SENTENCES)]
        hidden = rng.normal(size=SENTENCES * SIZE)
        self.scores = offset + scale * hidden
        self.score_of = dict(zip((text for some in self.texts for text in some), self.scores.tolist(), strict=True))
        self.features = {"good": hidden + rng.normal(size=len(hidden)) / 2, "noise": rng.normal(size=len(hidden))}
        self.references = ["-"] * SENTENCES
        self.calls = 0

    def quality(self, hypotheses, references):
        """The goal, in a scale of its own as neural metrics have it."""
        self.calls += len(hypotheses)
        return [self.score_of[text] for text in hypotheses]

    def tune(self, metric=None, **settings):
        return dm.tune_reranker(
            self.texts,
            self.references,
            metric=metric or self.quality,
            features=self.features,
            progress=False,
            **settings,
        )

    def mean(self, weights):
        chosen = dm.rerank(self.texts, weights, features=self.features)
        return float(np.mean([self.score_of[text] for text in chosen]))

    def best_mean(self):
        """The highest mean of all weights; choices change only at directions where two candidates are equal."""
        features = np.stack([self.features["good"], self.features["noise"]], axis=1).reshape(SENTENCES, SIZE, 2)
        difference = (features[:, :, None] - features[:, None]).reshape(-1, 2)
        difference = difference[np.abs(difference).sum(axis=1) > 0]
        angles = np.arctan2(difference[:, 0], -difference[:, 1]) % np.pi
        angles = np.sort(np.concatenate([angles, angles + np.pi]))
        middles = np.append((angles[:-1] + angles[1:]) / 2, angles[0] - 1e-6)
        directions = np.stack([np.cos(middles), np.sin(middles)])
        chosen = (features @ directions).argmax(axis=1)
        scores = self.scores.reshape(SENTENCES, SIZE)
        return float(np.take_along_axis(scores, chosen, axis=1).mean(axis=0).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("offset", "scale"), [(0.8, 0.02), (-9.0, 3.0)])
def test_every_method_on_lists_finds_the_good_feature(method, offset, scale):
    lists = Lists(offset=offset, scale=scale)
    weights = lists.tune(method=method)
    assert lists.calls == SENTENCES * SIZE
    assert weights["good"] > 2 * abs(weights["noise"])
    first, oracle = lists.scores[::SIZE].mean(), lists.scores.reshape(SENTENCES, SIZE).max(axis=1).mean()
    assert lists.mean(weights) > first + 0.7 * (oracle - first)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mert_reaches_the_best_mean_of_all_weights(seed):
    lists = Lists(seed)
    assert lists.mean(lists.tune(method="mert")) == pytest.approx(lists.best_mean(), abs=1e-12)


@pytest.mark.parametrize("method", ["mert", "pro", "mira"])
def test_scores_in_a_file_are_the_same_goal(tmp_path, method):
    lists = Lists()
    path = tmp_path / "scores"
    path.write_text("".join(f"{score!r}\n" for score in lists.scores.tolist()))
    assert lists.tune(f"precomputed:path={path}", method=method) == lists.tune(method=method)
    path.write_text("0.5\n")
    with pytest.raises(DataError, match="has 1 lines"):
        lists.tune(f"precomputed:path={path}")


def test_the_scale_of_the_goal_does_not_matter():
    one, other = Lists(), Lists(offset=80.0, scale=2.0)
    for method in METHODS:
        assert one.tune(method=method) == pytest.approx(other.tune(method=method), rel=1e-5)


def test_numbers_of_a_file_follow_hypotheses_that_are_reordered_or_dropped(tmp_path):
    """A table whose sentences are mixed, with a hypothesis that lacks a number."""
    rows = ["id\ttext\tf", "1\tbad one\t0", "0\tgood zero\t2", "0\tnone\t", "1\tgood one\t1", "0\tbad zero\t0.5"]
    path, scores = tmp_path / "lists.tsv", tmp_path / "scores"
    path.write_text("".join(f"{row}\n" for row in rows))
    for numbers, sign in (("0.1 0.9 9.9 0.8 0.2", 1), ("0.9 0.1 9.9 0.2 0.8", -1)):
        scores.write_text(numbers.replace(" ", "\n") + "\n")
        goal = f"precomputed:path={scores}"
        weights = dm.tune_reranker(path, ["zero", "one"], metric=goal, missing="drop", progress=ProgressRecorder())
        assert weights["f"] * sign > 0
    scores.write_text("1\n2\n3\n")
    with pytest.raises(DataError, match="has 3 lines, but there is a hypothesis 5"):
        dm.tune_reranker(
            path, ["zero", "one"], metric=f"precomputed:path={scores}", missing="drop", progress=ProgressRecorder()
        )


def test_sources_and_cache_reach_the_goal(tmp_path):
    lists = Lists()

    class Goal:
        needs_source, needs_reference, asked = True, False, 0

        def score(self, hypotheses, references, sources):
            assert all(text.split()[0] == source for text, source in zip(hypotheses, sources, strict=True))
            Goal.asked += len(hypotheses)
            return lists.quality(hypotheses, references)

        def signature(self):
            return "goal"

    settings = {"sources": [f"s{s}" for s in range(SENTENCES)], "cache": tmp_path / "cache"}
    first = lists.tune(Goal(), **settings)
    assert lists.tune(Goal(), **settings) == first
    assert Goal.asked == SENTENCES * SIZE
    with pytest.raises(DataError, match="there are 1 sources for 25 lists"):
        lists.tune(Goal(), sources=["s0"])
