"""What phrases and rules have in common where they are made in partitions; their bytes are tested with each of them."""

import contextlib

import numpy as np
import pytest

from dragoman.core.corpus import links_of
from dragoman.core.errors import DataError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime, ThreadWorkers
from dragoman.core.workspace import Workspace
from dragoman.training.phrase_model import PhraseModel, phrase_parts
from dragoman.training.rules.model import RuleModel, rule_parts
from oracles.elsewhere import Elsewhere
from oracles.phrase_table import random_bitext

pytestmark = pytest.mark.slow

KINDS = [
    (phrase_parts, PhraseModel(), ("phrases", "phrase pairs", "target phrases")),
    (rule_parts, RuleModel(max_span=4), ("rules", "rules", "target sides")),
]


class Stages(Progress):
    def __init__(self):
        self.shares = {}

    @contextlib.contextmanager
    def stage(self, name):
        assert name not in self.shares
        yield self.shares.setdefault(name, []).append


@pytest.mark.parametrize("workers", [ThreadWorkers(), Elsewhere(2)])
@pytest.mark.parametrize(("parts_of", "options", "names"), KINDS)
def test_shares_rise_to_the_end_of_each_stage(parts_of, options, names, workers, tmp_path):
    bitext, links, _ = random_bitext(np.random.default_rng(1), 60, words=9, longest=6, links=0.9)
    stages, (instances, pairs, targets) = Stages(), names
    with Workspace(100_000, tmp_path) as workspace:
        runtime = Runtime(progress=stages, workspace=workspace, workers=workers)
        assert len(parts_of(bitext, links, options, runtime=runtime).parts) > 1
    assert list(stages.shares) == [
        "counting aligned words",
        f"extracting {instances}",
        f"counting {pairs}",
        f"counting {targets}",
        f"scoring {pairs}",
    ]
    for shares in stages.shares.values():
        assert shares == sorted(shares)
        assert shares[-1] == 1


@pytest.mark.parametrize("workers", [ThreadWorkers(), Elsewhere(2)])
@pytest.mark.parametrize(("parts_of", "options", "names"), KINDS)
def test_nothing_to_extract_says_so_whoever_works(parts_of, options, names, workers):
    bitext, _, _ = random_bitext(np.random.default_rng(5), 3, words=3, longest=3, links=0.9)
    with pytest.raises(DataError, match="could be extracted"):
        parts_of(bitext, links_of([[]] * len(bitext)), options, runtime=Runtime(workers=workers))
