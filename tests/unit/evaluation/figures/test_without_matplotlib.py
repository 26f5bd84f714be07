import sys

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.evaluation.figures.derivations import draw_alignment, draw_derivation
from dragoman.evaluation.figures.runs import draw_systems, rank_chart
from dragoman.evaluation.figures.svg import panel_grid


@pytest.mark.parametrize(
    "draw",
    [
        lambda: panel_grid(1, columns=1, size=(2, 2)),
        lambda: draw_alignment(["a"], ["b"], [(0, 0)]),
        lambda: draw_derivation(["a"], ["b"], []),
        lambda: draw_systems("bleu", {"a": (1.0, 0.1)}),
        lambda: rank_chart(np.ones((2, 2), np.int64), np.ones(2)),
    ],
)
def test_one_sentence_says_what_to_install(monkeypatch, draw):
    for name in [*sys.modules, "matplotlib"]:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"drawing needs matplotlib; install it with: pip install 'dragoman\[plots\]'"):
        draw()
