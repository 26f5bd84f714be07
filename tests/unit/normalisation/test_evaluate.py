import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.normalisation.evaluate import evaluate, mcnemar
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.lexicon import Memory

EXAMPLES = Examples.of([("vnd", "und"), ("vnd", "und"), ("jar", "jahr"), ("thal", "tal")])


def test_figures_of_known_predictions():
    found = evaluate(EXAMPLES, ["und", "und", "jar", "tat"], Memory.of(Examples.of([("vnd", "und"), ("jar", "jahr")])))
    assert (found.tokens, found.accuracy, found.seen_tokens) == (4, 50, 3)
    assert (found.seen, found.unseen) == (pytest.approx(200 / 3), 0)
    assert (found.cer, found.cer_of_wrong) == (pytest.approx(200 / 13), pytest.approx(200 / 7))


def test_stems_of_wrong_forms():
    found = evaluate(EXAMPLES, ["und", "unds", "jahre", "tat"], stem=lambda form: form.rstrip("es"))
    assert found.stems_of_wrong == pytest.approx(200 / 3)
    assert evaluate(EXAMPLES, ["und", "und", "jahr", "tal"], stem=str).stems_of_wrong is None
    assert evaluate(EXAMPLES, ["und", "und", "jahr", "tat"]).stems_of_wrong is None


def test_there_is_nothing_to_say_where_nothing_is():
    perfect = evaluate(EXAMPLES, ["und", "und", "jahr", "tal"])
    assert (perfect.accuracy, perfect.cer_of_wrong, perfect.seen) == (100, None, None)
    with pytest.raises(DataError, match="3 predictions for 4"):
        evaluate(EXAMPLES, ["und"] * 3)
    with pytest.raises(DataError, match="no tokens"):
        evaluate(Examples.of([]), [])


def test_mcnemar_looks_at_what_one_has_right_alone():
    one, other = np.array([1, 1, 1, 1, 0, 1, 0, 1], bool), np.array([1, 1, 0, 0, 0, 0, 1, 0], bool)
    assert mcnemar(one, other) == pytest.approx(12 / 32)  # 4 against 1: twice (5 + 1) / 2^5
    assert mcnemar(one, one) == 1
