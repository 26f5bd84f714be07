"""Grammars in as much memory as there is: the same bytes, whatever it is."""

import numpy as np
import pytest

from dragoman.core.corpus import links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.model.grammar import Grammar
from dragoman.training.merge import grammar_index
from dragoman.training.phrase_model import PhraseModel, phrase_pairs, phrase_parts
from dragoman.training.rules.extract import aligned_text, extract_rules
from dragoman.training.rules.model import RuleModel, corpus_grammar, rule_parts, rules
from oracles.elsewhere import Elsewhere
from oracles.phrase_table import random_bitext

pytestmark = pytest.mark.slow

OPTIONS = [
    RuleModel(max_span=5),
    RuleModel(max_span=4, min_hole_source=1, adjacent_nonterminals=True, prune_limit=2),
    RuleModel(max_span=4, min_hole_source=1, prune_significance="2.5", prune_score=0.02),
    RuleModel(max_span=4, min_hole_source=1, min_count=0.2, fractional_counts=False, tight=True),
]


def everything(grammar) -> dict[str, tuple[object, bytes]]:
    return {name: ((array.dtype, array.shape), array.tobytes()) for name, array in grammar.arrays().items()}


def made(text, options, memory, tmp_path, threads=1):
    """How many parts there are, and the grammar."""
    with Workspace(memory, tmp_path) as workspace:
        found = rule_parts(*text, options, runtime=Runtime(threads, workspace=workspace))
        grammar = grammar_index().build(found, workspace)
        grammar.check(text[0].source.vocab, text[0].target.vocab)
        return len(found.parts), everything(grammar)


@pytest.fixture(params=range(len(OPTIONS)))
def case(request):
    rng = np.random.default_rng(request.param)
    return random_bitext(rng, 60, words=8, longest=6, links=0.9)[:2], OPTIONS[request.param]


def test_the_same_bytes_whatever_the_memory(case, tmp_path):
    text, options = case
    expected = everything(Grammar.from_pairs(rules(*text, options)))
    instances, parts = len(extract_rules(aligned_text(*text), options)), []
    for memory, threads in ((10_000, 1), (900, 1), (250, 2)):
        number, found = made(text, options, memory * instances, tmp_path, threads)
        parts.append(number)
        assert found == expected
    assert parts[0] == 0 < parts[1] < parts[2]
    for memory in (None, 250 * instances):
        with Workspace(memory, tmp_path) as workspace:
            spread = rule_parts(*text, options, runtime=Runtime(workspace=workspace, workers=Elsewhere(2)))
            assert len(spread.parts) > 4
            assert everything(grammar_index().build(spread, workspace)) == expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", [80_000, 200_000])
def test_phrases_as_a_grammar(tmp_path, memory):
    text = random_bitext(np.random.default_rng(7), 60, words=9, longest=6, links=0.9)[:2]
    options = PhraseModel(max_phrase_length=3, smoothing="good-turing", prune_limit=3)
    expected = everything(Grammar.from_pairs(phrase_pairs(*text, options)))
    with Workspace(memory, tmp_path) as workspace:
        found = phrase_parts(*text, options, as_grammars=True, runtime=Runtime(workspace=workspace))
        assert len(found.parts) > 1
        assert everything(grammar_index().build(found, workspace)) == expected


def test_target_sides_are_counted_for_rules_on_demand_whatever_the_memory(tmp_path):
    text = random_bitext(np.random.default_rng(8), 60, words=9, longest=6, links=0.9)[:2]
    options = RuleModel(max_span=4, min_hole_source=1)
    expected = everything(corpus_grammar(*text, options))
    for memory in (100_000, 300_000):
        with Workspace(memory, tmp_path) as workspace:
            found = corpus_grammar(*text, options, runtime=Runtime(2, workspace=workspace))
            assert workspace.folder.joinpath("targets").is_dir()
            assert everything(found) == expected
    for memory in (None, 300_000):
        with Workspace(memory, tmp_path) as workspace:
            runtime = Runtime(workspace=workspace, workers=Elsewhere(2))
            assert everything(corpus_grammar(*text, options, runtime=runtime)) == expected


def test_what_leaves_nothing_says_so_in_parts_too(tmp_path):
    bitext, links, _ = random_bitext(np.random.default_rng(5), 3, words=3, longest=3, links=0.9)
    with pytest.raises(UsageError, match="pruning left no rule"):
        made((bitext, links), RuleModel(prune_significance="1e9"), 1, tmp_path)
    nothing = bitext, links_of([[]] * len(bitext))
    with pytest.raises(DataError, match="no rule could be extracted"):
        made(nothing, RuleModel(), 1, tmp_path)
    with (
        pytest.raises(DataError, match="no rule could be extracted"),
        Workspace(1, tmp_path) as workspace,
    ):
        corpus_grammar(*nothing, RuleModel(), runtime=Runtime(workspace=workspace))
    assert list(tmp_path.iterdir()) == []
