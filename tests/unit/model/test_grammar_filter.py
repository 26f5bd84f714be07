"""Models of rules cut down to a text."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model import grammar as module
from dragoman.model.edit import filter_to_text
from dragoman.search.translator import Translator
from oracles import chart_space, linked_rules, tiny_grammar


def encoded(model, lines):
    corpus = Corpus.from_lines(lines)
    values = corpus.vocab.map_to(model.source_vocab)[corpus.sentences.values]
    return Corpus(model.source_vocab, Ragged(values, corpus.sentences.offsets))


def rows(grammar):
    """Rules with all that is known of them."""
    return [
        (source, target, grammar.log_scores[row].round(5).tolist(), grammar.alignments[row].tolist())
        for row, (source, target) in enumerate(linked_rules.sides(grammar))
    ]


@pytest.mark.parametrize("seed", range(10))
def test_what_fits_on_the_text_is_kept_and_nothing_else(seed, monkeypatch):
    monkeypatch.setattr(module, "_SENTENCES", 2)
    rng = np.random.default_rng(seed)
    model = chart_space.random_model(rng, grammars=2, rules=40, span_limit=int(rng.integers(2, 6)), table_limit=0)
    model = linked_rules.with_random_links(model, rng)
    lines = [*(chart_space.random_sentence(rng, 4) for _ in range(2)), ""]
    small = filter_to_text(model, encoded(model, lines), runtime=Runtime(threads=2))
    fits = {
        (rule.grammar, rule.row)
        for line in lines
        for match in chart_space.matches(model, line)
        for rule in match.rules
        if rule.grammar >= 0
    }
    for g, (before, after) in enumerate(zip(model.grammars.values(), small.grammars.values(), strict=True)):
        assert rows(after) == [row for i, row in enumerate(rows(before)) if (g, i) in fits]
    assert sum(map(len, small.grammars.values())) < sum(map(len, model.grammars.values()))
    found = [[(t.text, round(t.score, 4)) for t in Translator.of(m).translate(lines)] for m in (model, small)]
    assert found[0] == found[1]


def test_a_text_that_fits_nowhere_leaves_a_model_that_copies_words():
    model = tiny_grammar.tiny_model()
    small = filter_to_text(model, encoded(model, ["new words"]))
    assert [len(grammar) for grammar in small.grammars.values()] == [0]
    assert small.kind == "chart"
    assert [t.text for t in Translator.of(small).translate(["new words", ""])] == ["new words", ""]
