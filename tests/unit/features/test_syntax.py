"""Soft syntactic constraints against their definition."""

from collections import Counter

import numpy as np
import pytest

from dragoman.core.errors import UsageError
from dragoman.features import FEATURES, SpanFeature, SpansInUse
from dragoman.search.translator import Translator
from oracles import phrase_space, tiny_grammar, trees

Syntax = FEATURES.get("syntax")


def feature_of(**options):
    model = phrase_space.random_model(np.random.default_rng(1)).with_features([Syntax(**options)])
    (feature,) = model.features_of(SpanFeature)
    return feature


@pytest.mark.parametrize("seed", range(60))
def test_features_of_spans_are_what_the_definition_says(seed):
    rng = np.random.default_rng(seed)
    fine = bool(rng.integers(2))
    labels = None if rng.random() < 0.3 else "+".join(rng.choice(trees.LABELS, rng.integers(1, 4), replace=False))
    options = Syntax(grain="fine" if fine else "coarse", labels=labels)
    lines = [trees.parsed(rng, " ".join("w" * int(n))) for n in rng.integers(0, 12, rng.integers(1, 6))]
    longest = int(rng.integers(1, 14))
    spans = [
        (i, begin, end)
        for i, line in enumerate(lines)
        for begin in range(line.tree.words)
        for end in range(begin + 1, line.tree.words + 1)
        if end - begin <= longest and rng.random() < 0.8
        for _ in range(rng.integers(1, 3))
    ]
    rng.shuffle(spans)
    sentence, begin, end = np.array(spans, np.int64).reshape(-1, 3).T
    feature = feature_of(grain=options.grain, labels=labels)
    found = feature(SpansInUse(sentence, begin.astype(np.int32), end.astype(np.int32), [line.tree for line in lines]))
    assert len(found) == len(spans)
    for row, (i, first, last) in enumerate(spans):
        expected = trees.span_features(lines[i].tree, first, last, options.chosen, fine=fine)
        assert found.row(row) == expected


def test_the_papers_features():
    fine, coarse = feature_of(grain="fine"), feature_of(grain="coarse")
    assert (len(fine.names), coarse.names) == (22, ("syntax.equal", "syntax.cross"))
    assert len(Syntax(grain="coarse").chosen) == 8
    assert fine.has("WHNP.cross")
    assert not any((fine.has("FRAG.cross"), fine.has("equal"), coarse.has("NP.equal")))
    assert feature_of(labels="X1 + Y").names == (
        "syntax.X1.equal",
        "syntax.X1.cross",
        "syntax.Y.equal",
        "syntax.Y.cross",
    )


def test_options_that_make_no_sense():
    with pytest.raises(UsageError, match="labels is empty; expected some labels"):
        Syntax(labels=" +")
    with pytest.raises(UsageError, match="grain is 'medium'; expected one of coarse, fine"):
        Syntax(grain="medium")


def test_spans_of_glue_count_if_asked():
    rng = np.random.default_rng(7)
    lines = [trees.parsed(rng, line) for line in [*tiny_grammar.SOURCE, ""]]
    without, joined = (
        [*Translator.of(tiny_grammar.tiny_model().with_features([feature])).translate(lines, features=True)]
        for feature in (Syntax(), Syntax(glue=True))
    )
    assert any(len(one.phrases) > 1 for one in joined)
    for line, one, other in zip(lines, without, joined, strict=True):
        expected = Counter({name: value for name, value in one.features.items() if name.startswith("syntax.")})
        for phrase in one.phrases:
            expected.update(trees.span_features(line.tree, 0, phrase.source[1], Syntax().chosen, fine=True))
        assert {name: value for name, value in other.features.items() if name.startswith("syntax.")} == expected
