import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.normalisation.evaluate import evaluate
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.lexicon import Lexicon
from dragoman.normalisation.training import Learning, NormaliserRecipe, train_normaliser
from oracles.spelling import pairs

TEST = Examples.of(pairs(60, seed=9))


def test_parts_of_the_examples_stand_in_for_a_development_set():
    found = train_normaliser(Examples.of(pairs(60)), recipe=NormaliserRecipe(learning=Learning(folds=3)))
    assert evaluate(TEST, found.modern_forms(TEST)).accuracy > 95


def test_the_same_seed_gives_the_same_normaliser(normaliser):
    again = train_normaliser(
        Examples.of(pairs(80)),
        Examples.of(pairs(50, seed=2)),
        Lexicon.of(normaliser.lexicon.words),
        runtime=Runtime(threads=2),
    )
    assert dict(again.choice.weights) == dict(normaliser.choice.weights)
    assert dict(again.model.weights) == dict(normaliser.model.weights)


def test_contradictions_go_by_their_counts():
    examples = Examples.of([*pairs(40), *[("den", "denn")] * 2, *[("den", "den")] * 6])
    found = train_normaliser(examples, Examples.of([*pairs(30, seed=3), ("den", "den")]))
    assert found.normalise(["den"]) == ["den"]
    assert "denn" in dict(found.explain(["den"])[0].alternatives)


def test_context_is_learnt_on_request():
    rows = [("sah", "sah"), ("den", "den"), ("man", "mann"), ("den", "denn"), ("er", "er")] * 8
    examples = Examples(Examples.of(rows).tokens, tuple(sorted({*range(0, 41, 5), *range(3, 41, 5)})))
    found = train_normaliser(examples, examples, recipe=NormaliserRecipe(learning=Learning(context=True)))
    assert found.context is not None
    assert found.context.weight > 0
    assert found.normalise(["sah", "den", "man"]) == ["sah", "den", "mann"]
    assert found.normalise(["den", "er"]) == ["denn", "er"]


def test_too_little_is_refused():
    few = Examples.of(pairs(5))
    with pytest.raises(DataError, match="5 examples; expected at least 20, or a development set"):
        train_normaliser(few)
    with pytest.raises(DataError, match="there are no examples"):
        train_normaliser(Examples.of([]), few)
    with pytest.raises(DataError, match="development set is empty"):
        train_normaliser(few, Examples.of([]))
    with pytest.raises(UsageError, match="expected a method that takes n-best lists"):
        Learning(choice="likelihood")
