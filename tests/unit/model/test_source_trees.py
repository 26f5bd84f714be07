"""Who needs trees, and what is said to those who give none or too many."""

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning
from dragoman.features import FEATURES
from oracles import phrase_space


def test_trees_are_opened_where_a_feature_looks_at_them(tmp_path):
    plain = phrase_space.random_model(np.random.default_rng(1))
    model = plain.with_features([FEATURES.get("syntax")(), FEATURES.get("phrase-length")()])
    file = tmp_path / "trees"
    file.write_text("(NP (NN f0))\n", encoding="utf-8")
    for given in (file, str(file), ["(NP (NN f0))"]):
        assert model.open_trees(given).attach("f0").tree.labels == ("NP",)
    with pytest.raises(
        UsageError, match=r"the feature syntax, which looks at trees .*: give them with `held_out_trees=`"
    ):
        model.open_trees(None, name="held_out_trees")
    assert plain.open_trees(None) is None
    with pytest.warns(DragomanWarning, match="trees are not used: the model has no feature that looks at them"):
        assert plain.open_trees(file) is None
