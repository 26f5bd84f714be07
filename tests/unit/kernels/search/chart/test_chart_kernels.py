"""Matches and searches on random grammars, limits and weights of any size: right or refused, never a crash.

The values of derivations are compared with enumeration in tests/unit/search; here the kernels run under the
sanitizers, too.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dragoman import kernels
from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PhrasePairs
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.grammar import Grammar
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits, SpaceLimits
from oracles import chart_space

_UNKNOWN, _GIVEN = -1, -2  # in place of a grammar


def random_given(rng, words):
    """Spans that do not overlap, some of them longer than any rule."""
    cuts = sorted(rng.choice(words + 1, min(words + 1, int(rng.integers(2, 5))), replace=False).tolist())
    return [(begin, end) for begin, end in pairwise(cuts) if rng.random() < 0.4]


def find_matches(model, lines, given, limit, threads):
    """What the kernel finds, as the enumeration has it: span, holes, and where the rules are from."""
    corpus = Corpus.from_lines(lines)
    tokens = corpus.vocab.map_to(model.source_vocab)[corpus.sentences.values]
    fixed = np.zeros(len(tokens), np.uint8)
    rows = [(sentence, begin, end) for sentence, spans in enumerate(given) for begin, end in spans]
    for sentence, begin, end in rows:
        first = int(corpus.sentences.offsets[sentence])
        fixed[first + begin : first + end] = 1
    grammars = [*model.grammars.values()]
    found, offsets = kernels.chart_matches(
        [grammar.trie for grammar in grammars],
        kernels.Rows(values=tokens, offsets=corpus.sentences.offsets),
        fixed,
        np.array(rows, np.int32).reshape(-1, 3),
        limit,
        threads,
    )
    shown = []
    for sentence in range(len(lines)):
        part = []
        for kind, node, begin, end, *holes in found[offsets[sentence] : offsets[sentence + 1]].tolist():
            spans = tuple((a, b) for a, b in zip(holes[::2], holes[1::2], strict=True) if a >= 0)
            if kind == _GIVEN:
                assert rows[node] == (sentence, begin, end)
            bounds = grammars[kind].first_rule[node : node + 2].tolist() if kind >= 0 else (-1, 0)
            part.append(((begin, end), spans, kind, tuple(range(*bounds))))
        order = [(span[1], -span[0]) for span, *_ in part]
        assert order == sorted(order)
        shown.append(part)
    return shown


@pytest.mark.parametrize("seed", range(60))
def test_matches_are_all_that_there_are(seed):
    rng = np.random.default_rng(seed)
    limit = int(rng.integers(1, 8))
    model = chart_space.random_model(
        rng, grammars=int(rng.integers(1, 4)), language_models=0, span_limit=limit, table_limit=0
    )
    lines = ["", *(chart_space.random_sentence(rng, 7) for _ in range(4)), ""]
    given = [random_given(rng, len(line.split())) if seed % 2 and line else [] for line in lines]
    found = find_matches(model, lines, given, limit, 1)
    assert found == find_matches(model, lines, given, limit, 2)
    for line, spans, part in zip(lines, given, found, strict=True):
        expected = [
            (match.span, match.holes, match.rules[0].grammar, tuple(int(rule.row) for rule in match.rules))
            for match in chart_space.matches(model, line, given={span: [("e0", -1)] for span in spans})
        ]
        assert sorted(part) == sorted(expected)


def test_long_rules_and_spans_without_limit():
    words = [f"w{i}" for i in range(300)]
    vocab, ids = Vocab.of(words), np.arange(2, dtype=np.int32)
    sides = Ragged.of([[vocab.id(word) for word in words[:255]], [vocab.id("w0"), -1, vocab.id("w299")]], np.int32)
    targets, scores = Ragged.of([[3], [3, -1]], np.int32), np.ones((2, 1), np.float32)
    pairs = PhrasePairs(vocab, Vocab.of(["e"]), sides, targets, ids, ids, scores, ("fwd",))
    grammar = Grammar.from_pairs(pairs)
    corpus = Corpus.from_lines([" ".join(words)])
    tokens = corpus.vocab.map_to(vocab)[corpus.sentences.values]
    rows = kernels.Rows(values=tokens, offsets=corpus.sentences.offsets)
    for limit, expected in ((254, []), (255, [(0, 255)]), (2**31 - 1, [(0, 255)])):
        found, _ = kernels.chart_matches(
            [grammar.trie], rows, np.zeros(300, np.uint8), np.empty((0, 3), np.int32), limit
        )
        assert [tuple(row[2:4]) for row in found.tolist() if row[0] == 0] == expected
        assert np.count_nonzero(found[:, 0] == _UNKNOWN) == 300


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("size", [1.0, 1e12, 1e300])
def test_searches_are_safe_whatever_the_weights(seed, size):
    rng = np.random.default_rng(seed)
    model = chart_space.random_model(
        rng,
        grammars=int(rng.integers(1, 3)),
        language_models=int(rng.integers(0, 3)),
        span_limit=int(rng.integers(1, 6)),
        glue=bool(rng.random() < 0.8),
    )
    weights = Weights({name: value * size for name, value in model.weights.items()})
    space = SpaceLimits(unknown_words="drop" if seed % 2 else "copy")
    lines = ["", *(chart_space.random_sentence(rng, 6) for _ in range(5))]
    batch = ChartTranslator(model, weights, space=space).batch(lines)
    targets = [" ".join(rng.choice([*chart_space.TARGET, "other"], rng.integers(0, 4))) for _ in lines]
    encoded = batch.rules.vocab.encode("".join(f"{target}\n" for target in targets).encode())
    wanted = Ragged(*encoded)
    for limits in (
        SearchLimits(pop_limit=int(rng.integers(1, 40))),
        SearchLimits(pop_limit=5, beam_threshold=float(rng.random())),
        SearchLimits(algorithm="incremental", pop_limit=int(rng.integers(1, 40))),
        SearchLimits(algorithm="exhaustive", max_size=int(rng.integers(1, 3000))),
    ):
        for forced in (None, wanted):
            found = batch.search(limits, targets=forced, forests=True, runtime=Runtime(threads=2))
            again = batch.search(limits, targets=forced, forests=True, runtime=Runtime(threads=1))
            check_found(batch, found, again, forced)


def check_found(batch, found, again, forced):
    """Graphs are sound, and the same whatever the threads."""
    assert found.outcomes.tolist() == again.outcomes.tolist()
    for graphs, others in ((found.best, again.best), (found.every, again.every)):
        for name, array in vars(graphs).items():
            assert array.tobytes() == getattr(others, name).tobytes(), name
        nodes, edges, bounds = 0, 0, 0
        for sentence, outcome in enumerate(found.outcomes.tolist()):
            last_node, last_edge = int(graphs.node_offsets[sentence + 1]), int(graphs.edge_offsets[sentence + 1])
            assert (last_node > nodes) == (outcome == 0)
            count = last_node - nodes
            if count:
                first_edges = graphs.first_edges[bounds : bounds + count + 1]
                bounds += count + 1
                assert first_edges[0] == 0
                assert first_edges[-1] == last_edge - edges
                assert (np.diff(first_edges) > 0).all()
                heads = np.repeat(np.arange(count), np.diff(first_edges))
                tails = graphs.tails[edges:last_edge]
                assert (tails < heads[:, None]).all()
                assert (tails >= -1).all()
                check_rules(batch, graphs.rules[edges:last_edge], graphs.matches[edges:last_edge], tails, sentence)
            nodes, edges = last_node, last_edge
        assert bounds == len(graphs.first_edges)
    if forced is None:
        assert 0 in found.outcomes


def check_rules(batch, rules, matches, tails, sentence):
    """Every rule is used where its side matches, with as many tails as it has holes."""
    first, last = batch.rules.match_offsets[sentence : sentence + 2].tolist()
    for rule, match, row in zip(rules.tolist(), matches.tolist(), tails.tolist(), strict=True):
        assert -4 <= rule < len(batch.rules)
        if rule >= 0:
            assert 0 <= match < last - first
            side, _, _, *holes = batch.rules.matches[first + match].tolist()
            assert side == batch.rules.side[rule]
            assert [tail >= 0 for tail in row] == [holes[0] >= 0, holes[2] >= 0]
        else:
            assert match == -1
