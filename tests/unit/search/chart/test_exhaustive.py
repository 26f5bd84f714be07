"""Charts against enumeration: on random tiny models all that a search says must hold of all derivations, listed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.features import HoleFeature, HoleRows, PairFeature, SpanFeature
from dragoman.forest.derivation import translation_log_probability
from dragoman.forest.inside_outside import expected_features, log_partition
from dragoman.forest.kbest import kbest
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.chart.translator import ChartTranslator
from dragoman.search.limits import SearchLimits, SpaceLimits
from oracles import chart_space, forest
from oracles.chart_holes import (
    HOLE_NAMES,
    PART_NAMES,
    JoinedParts,
    OpenedHoles,
    Spanned,
    WideHoles,
    values_of_holes,
    values_of_part,
    values_of_span,
)

pytestmark = pytest.mark.slow

EVERYTHING = SearchLimits(algorithm="exhaustive")


def random_spaces(first, number, **settings):
    """Spaces of sentences that have derivations."""
    for seed in range(first, first + number):
        space = chart_space.random_space(np.random.default_rng(seed), **settings)
        if space.derivations:
            yield space


def listed(graph, names=None):
    """All derivations of a hypergraph by text, spans and target sides of rules: scores with rows of features."""
    found = {}
    names = names or graph.features.names
    for derivation in forest.derivations(graph):
        steps = []
        for edge in derivation.edges:
            if graph.features.row(edge).get("rule_penalty"):
                symbols = graph.templates[int(graph.template_ids[edge])].tolist()
                side = tuple(graph.vocab[symbol] if symbol >= 0 else symbol for symbol in symbols)
                steps.append((tuple(graph.spans[edge].tolist()), side))
        rows = [graph.features.row(edge) for edge in derivation.edges]
        sums = [sum(row.get(name, 0.0) for row in rows) for name in names]
        found.setdefault((graph.vocab.text(derivation.words), by_span(steps)), []).append((derivation.score, *sums))
    return {key: sorted(rows, key=rounded) for key, rows in found.items()}


def enumerated(space):
    """The same of what was enumerated."""
    found = {}
    for derivation, row, score in zip(space.derivations, space.rows.tolist(), space.scores.tolist(), strict=True):
        steps = [(span, rule.target) for span, rule in derivation.steps]
        found.setdefault((" ".join(derivation.words), by_span(steps)), []).append((score, *row))
    return {key: sorted(rows, key=rounded) for key, rows in found.items()}


def by_span(steps):
    return tuple(sorted(steps, key=lambda step: (step[0], [str(symbol) for symbol in step[1]])))


def rounded(row):
    return [round(value, 7) for value in row]


def assert_same(graph, space, names=None):
    found, expected = listed(graph, names), enumerated(space)
    assert found.keys() == expected.keys()
    for key, rows in expected.items():
        np.testing.assert_allclose(np.array(found[key]), np.array(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_the_exhaustive_chart_has_every_derivation_with_its_features(first):
    for space in random_spaces(first, 20, most=100):
        graph = ChartTranslator(space.model, limits=EVERYTHING).search(space.sentence)
        graph.check()
        assert list(graph.features.names) == space.model.feature_names
        assert_same(graph, space)


@pytest.mark.parametrize("first", range(1000, 1160, 20))
def test_sums_and_lists_are_those_of_enumeration(first):
    for space in random_spaces(first, 20):
        translator = ChartTranslator(space.model, limits=EVERYTHING)
        graph = translator.search(space.sentence)
        log_z = np.logaddexp.reduce(space.scores)
        assert log_partition(graph) == pytest.approx(log_z, abs=1e-9)
        shares = np.exp(space.scores - log_z)
        np.testing.assert_allclose(expected_features(graph), shares @ space.rows, rtol=0, atol=1e-9)
        best = kbest(graph, len(space.scores) + 1)
        np.testing.assert_allclose(best.scores, np.sort(space.scores)[::-1], rtol=0, atol=1e-9)
        for text, numbers in space.texts.items():
            words = graph.vocab.encode(f"{text}\n".encode())[0]
            share = np.logaddexp.reduce(space.scores[numbers]) - log_z
            assert translation_log_probability(graph, words) == pytest.approx(share, abs=1e-9)
        (found,) = translator.translate([space.sentence], features=True)
        assert found.score == pytest.approx(space.scores.max(), abs=1e-9)
        weighted = sum(space.model.weights[name] * value for name, value in found.features.items())
        assert weighted == pytest.approx(found.score, abs=1e-9)
        (lists,) = translator.nbest([space.sentence], 10)
        np.testing.assert_allclose(lists.features.dot(space.model.weights), lists.scores, rtol=0, atol=1e-9)
        scores = dict(zip(range(len(space.scores)), space.scores, strict=True))
        for h, score in enumerate(lists.scores.tolist()):
            text = lists.line(h)
            assert min(abs(scores[i] - score) for i in space.texts[text]) < 1e-9


@pytest.mark.parametrize("first", range(2000, 2080, 20))
def test_forced_targets_keep_all_their_derivations_and_no_other(first):
    for space in random_spaces(first, 20, most=100):
        rng = np.random.default_rng(first)
        translator = ChartTranslator(space.model, limits=EVERYTHING)
        texts = space.texts
        for text in rng.permutation(sorted(texts))[:6].tolist():
            graph = translator.force(space.sentence, text)
            graph.check()
            picked = texts[text]
            few = chart_space.Space(
                space.model,
                space.sentence,
                [space.derivations[i] for i in picked],
                space.rows[picked],
                space.scores[picked],
            )
            assert_same(graph, few)
        for text in ("", "e0", "e1 e1", "e0 e1 e2", "no such words", " ".join(next(iter(texts)).split()[:-1])):
            reached = translator.force(space.sentence, text) is not None
            assert reached == (text in texts)


@pytest.mark.parametrize("algorithm", ["cube", "incremental"])
@pytest.mark.parametrize("first", range(3000, 3120, 20))
def test_searches_that_never_prune_find_everything_and_others_nothing_better(first, algorithm):
    for space in random_spaces(first, 20):
        limits = SearchLimits(algorithm=algorithm, pop_limit=1_000_000)
        huge = ChartTranslator(space.model, limits=limits).search(space.sentence)
        np.testing.assert_allclose(
            kbest(huge, len(space.scores) + 1).scores, np.sort(space.scores)[::-1], rtol=0, atol=1e-9
        )
        for harsh in ({"pop_limit": 1}, {"pop_limit": 3}, {"beam_threshold": 0.5}):
            limits = SearchLimits(algorithm=algorithm, **harsh)
            (found,) = ChartTranslator(space.model, limits=limits).translate([space.sentence], features=True)
            assert found.score <= space.scores.max() + 1e-9
            row = np.array([found.features.get(name, 0.0) for name in space.model.feature_names])
            same = np.abs(space.rows - row).max(axis=1) < 1e-9
            assert np.abs(space.scores[same] - found.score).min() < 1e-9
            assert any(" ".join(space.derivations[i].words) == found.text for i in np.flatnonzero(same))


def test_what_has_no_derivation_is_refused():
    refused = 0
    for seed in range(60):
        space = chart_space.random_space(np.random.default_rng(seed), glue=False)
        if not space.derivations:
            refused += 1
            for limits in (EVERYTHING, SearchLimits()):
                with pytest.raises(DataError, match=rf"no derivation of '{space.sentence}'.*glue = true in its"):
                    list(ChartTranslator(space.model, limits=limits).translate([space.sentence]))
            assert ChartTranslator(space.model).force(space.sentence, "e0") is None
    assert refused > 5


@pytest.mark.parametrize("first", range(4000, 4060, 20))
def test_limits_of_a_translator_replace_those_of_the_model(first):
    for space in random_spaces(first, 20, table_limit=2):
        for limit in (0, 1):
            words = space.sentence.split()
            while (
                chart_space.number(chart_space.matches(space.model, " ".join(words), table_limit=limit), len(words))
                > 300
            ):
                words.pop()
            other = chart_space.Space.of(space.model, " ".join(words), table_limit=limit)
            if other.derivations:
                limits = SpaceLimits(table_limit=limit)
                graph = ChartTranslator(space.model, limits=EVERYTHING, space=limits).search(other.sentence)
                np.testing.assert_allclose(kbest(graph, 1000).scores, np.sort(other.scores)[::-1], rtol=0, atol=1e-9)
        dropped = chart_space.Space.of(space.model, space.sentence, drop_unknown=True)
        translator = ChartTranslator(space.model, limits=EVERYTHING, space=SpaceLimits(unknown_words="drop"))
        graph = translator.search(space.sentence)
        np.testing.assert_allclose(kbest(graph, 1000).scores, np.sort(dropped.scores)[::-1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_given_translations_are_the_only_ones_of_their_words(seed):
    rng = np.random.default_rng(5000 + seed)
    model = chart_space.random_model(rng, grammars=2, span_limit=int(rng.integers(1, 5)), glue=True, rules=10)
    words = [*chart_space.random_sentence(rng, 4).split(), "f0"]
    begin = int(rng.integers(len(words)))
    end = int(rng.integers(begin + 1, len(words) + 1))
    given = {(begin, end): [("e1 new", np.log(0.25)), ("e3", np.log(0.75))]}
    tag = f'<x translation="e1 new||e3" prob="0.25||0.75">{" ".join(words[begin:end])}</x>'
    line = " ".join([*words[:begin], tag, *words[end:]])
    space = chart_space.Space.of(model, " ".join(words), given=given)
    translator = ChartTranslator(model, limits=EVERYTHING, markup=True)
    assert_same(translator.search(line), space)
    (found,) = translator.translate([line])
    assert found.source == " ".join(words)
    assert found.score == pytest.approx(space.scores.max(), abs=1e-9)


class Squares(PairFeature):
    """A feature of rules."""

    name = prefix = "square"

    def __call__(self, pairs):
        return FeatureRows.from_dense(["square"], pairs.words.lengths.astype(np.float64)[:, None] ** 2)


class Widths(HoleFeature):
    """A feature of holes: how wide the first is, in a match that has two."""

    name = prefix = "width"

    def __call__(self, rules):
        values = np.where(rules.hole_sizes[:, 1] > 0, rules.hole_sizes[:, 0], 0)
        rows = FeatureRows.from_dense(["width"], values[:, None].astype(np.float64))
        return HoleRows(np.zeros(len(rules), np.int64), 1, np.arange(len(values)), rows)


class Spans(SpanFeature):
    """A feature of spans: how wide they are."""

    name = prefix = "span"
    needs_trees = False

    def __call__(self, spans):
        return FeatureRows.from_dense(["span"], (spans.end - spans.begin).astype(np.float64)[:, None])


@pytest.mark.parametrize("seed", range(30))
def test_features_of_rules_and_spans_take_part(seed):
    rng = np.random.default_rng(6000 + seed)
    space = chart_space.random_space(rng, glue=True)
    weights = space.model.weights.updated({"square": 0.7, "width": -1.1, "span": 0.3})
    settings = {"features": [Squares(), Widths(), Spans()]}
    graph = ChartTranslator(space.model, weights, limits=EVERYTHING, **settings).search(space.sentence)
    by_square = {}
    for derivation in forest.derivations(graph):
        rows = [graph.features.row(edge) for edge in derivation.edges]
        sums = {name: sum(row.get(name, 0.0) for row in rows) for name in graph.features.names}
        assert derivation.score == pytest.approx(sum(weights[n] * v for n, v in sums.items()), abs=1e-9)
        by_square.setdefault(graph.vocab.text(derivation.words), []).append(sums["square"])
    for text, numbers in space.texts.items():
        squares = [
            sum(sum(isinstance(symbol, str) for symbol in rule.target) ** 2 for _, rule in space.derivations[i].steps)
            for i in numbers
        ]
        assert sorted(squares) == sorted(by_square[text])
    for edge in range(graph.edges):
        row = graph.features.row(edge)
        if "span" in row:
            assert row["span"] == graph.spans[edge, 1] - graph.spans[edge, 0]
        if row.get("width"):
            first, second = (graph.spans[graph.first_edge[tail]].tolist() for tail in graph.tails[edge].tolist())
            assert row["width"] == first[1] - first[0]
            assert second[0] >= first[1]
    cube = ChartTranslator(space.model, weights, limits=SearchLimits(pop_limit=100_000), **settings)
    assert next(cube.translate([space.sentence])).score == pytest.approx(kbest(graph, 1).scores[0], abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_features_of_holes_take_part(seed):
    rng = np.random.default_rng(6100 + seed)
    plain = chart_space.random_space(rng, glue=True, language_models=1)
    added = dict(zip(HOLE_NAMES, rng.normal(0, 1, len(HOLE_NAMES)).tolist(), strict=True))
    weights, names = plain.model.weights.updated(added), [*plain.model.feature_names, *added]
    space = plain.with_features(added, values_of_holes)
    settings = {"features": [OpenedHoles(), WideHoles(), Spans()]}
    graph = ChartTranslator(space.model, weights, limits=EVERYTHING, **settings).search(space.sentence)
    assert_same(graph, space, names)
    log_z = np.logaddexp.reduce(space.scores)
    assert log_partition(graph) == pytest.approx(log_z, abs=1e-9)
    text, numbers = max(space.texts.items(), key=lambda item: len(item[1]))
    forced = ChartTranslator(space.model, weights, limits=EVERYTHING, **settings).force(space.sentence, text)
    assert log_partition(forced) == pytest.approx(np.logaddexp.reduce(space.scores[numbers]), abs=1e-9)
    for algorithm in ("cube", "incremental"):
        limits = SearchLimits(algorithm=algorithm, pop_limit=100_000)
        translator = ChartTranslator(space.model, weights, limits=limits, **settings)
        huge = translator.search(space.sentence)
        np.testing.assert_allclose(
            kbest(huge, len(space.scores) + 1).scores, np.sort(space.scores)[::-1], rtol=0, atol=1e-9
        )
        (found,) = translator.translate([space.sentence], features=True)
        assert sum(weights.get(n, 0.0) * v for n, v in found.features.items()) == pytest.approx(found.score, abs=1e-9)
        (lists,) = translator.nbest([space.sentence], 10)
        np.testing.assert_allclose(lists.features.dot(weights), lists.scores, rtol=0, atol=1e-9)


def parts_of(derivation):
    """The spans that glue joins: those that no other rule covers."""
    spans = [span for span, _ in derivation.steps]
    return [one for one in spans if not any(two != one and two[0] <= one[0] and one[1] <= two[1] for two in spans)]


@pytest.mark.parametrize("seed", range(40))
def test_features_of_glue_take_part(seed):
    rng = np.random.default_rng(6200 + seed)
    plain = chart_space.random_space(rng, glue=True, language_models=1)
    added = dict(zip(PART_NAMES, rng.normal(0, 1, len(PART_NAMES)).tolist(), strict=True))
    weights, names = plain.model.weights.updated(added), [*plain.model.feature_names, *added]
    columns = np.zeros((len(plain.derivations), len(added)))
    for row, derivation in zip(columns, plain.derivations, strict=True):
        found = [values_of_span(*span) for span, _ in derivation.steps]
        for values in found + [values_of_part(*span) for span in parts_of(derivation)]:
            row += [values.get(name, 0.0) for name in added]
    scores = plain.scores + columns @ np.array([*added.values()])
    space = replace(plain, rows=np.concatenate([plain.rows, columns], axis=1), scores=scores)
    settings = {"features": [JoinedParts(), Spanned(), OpenedHoles()]}
    translator = ChartTranslator(space.model, weights, limits=EVERYTHING, **settings)
    graph = translator.search(space.sentence)
    assert_same(graph, space, names)
    text, numbers = max(space.texts.items(), key=lambda item: len(item[1]))
    forced = translator.force(space.sentence, text)
    assert log_partition(forced) == pytest.approx(np.logaddexp.reduce(space.scores[numbers]), abs=1e-9)
    for algorithm in ("cube", "incremental"):
        limits = SearchLimits(algorithm=algorithm, pop_limit=100_000)
        searching = ChartTranslator(space.model, weights, limits=limits, **settings)
        huge = searching.search(space.sentence)
        np.testing.assert_allclose(
            kbest(huge, len(space.scores) + 1).scores, np.sort(space.scores)[::-1], rtol=0, atol=1e-9
        )
        (found,) = searching.translate([space.sentence], features=True)
        assert sum(weights.get(n, 0.0) * v for n, v in found.features.items()) == pytest.approx(found.score, abs=1e-9)
    for samples in Sampler.of(translator, Sampling(samples=30, burn_in=5)).sample([space.sentence, space.sentence]):
        np.testing.assert_allclose(samples.features.dot(weights), samples.scores, rtol=0, atol=1e-9)


def test_reweighted_charts_score_as_if_searched_again():
    for space in random_spaces(7000, 20):
        other = Weights({name: value * -0.7 + 0.1 for name, value in space.model.weights.items()})
        graph = ChartTranslator(space.model, limits=EVERYTHING).search(space.sentence).reweighted(other)
        scores = space.rows @ other.vector(space.model.feature_names)
        np.testing.assert_allclose(kbest(graph, 1000).scores, np.sort(scores)[::-1], rtol=0, atol=1e-9)
