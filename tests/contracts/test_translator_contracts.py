"""Every kind of translator keeps the same promises to its callers."""

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.nbest import NBest
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.features import FEATURES
from dragoman.forest.derivation import derivation_features, yields
from dragoman.forest.inside_outside import log_partition
from dragoman.forest.kbest import kbest
from dragoman.model.bundle import Model
from dragoman.model.parts import KINDS
from dragoman.sampling.annealing import anneal
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.sampling.space import space_for
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.pieces import cut
from dragoman.search.translation import SearchResult
from dragoman.search.translator import Translator
from oracles import chart_space, phrase_space

#: A small random model of each kind.
MODELS = {
    "phrase": lambda rng: phrase_space.random_model(rng, tables=2, language_models=2),
    "chart": lambda rng: chart_space.random_model(rng, grammars=2, language_models=2, span_limit=5),
}
EVERYTHING = SearchLimits(algorithm="exhaustive")


def test_there_is_a_model_for_each_kind():
    assert set(MODELS) == set(KINDS.values())


@pytest.fixture(params=sorted(MODELS))
def model(request) -> Model:
    return MODELS[request.param](np.random.default_rng(5))


@pytest.fixture
def lines():
    rng = np.random.default_rng(6)
    return ["", *(phrase_space.random_sentence(rng, 6) for _ in range(20))]


def shown(translations):
    return [(t.source, t.text, t.score, t.phrases, t.features) for t in translations]


def test_a_model_says_which_search_it_is_for(model):
    translator = Translator.of(model)
    assert translator.model is model
    assert type(translator).__module__.startswith(f"dragoman.search.{model.kind}.")


def test_a_model_says_which_space_its_chains_move_in(model):
    assert space_for(model.kind).__module__.startswith(f"dragoman.sampling.{model.kind}.")


def test_translations_are_one_a_line_and_scores_add_up(model, lines):
    found = shown(Translator.of(model).translate(iter(lines), features=True))
    assert [row[0] for row in found] == lines
    for _, _, score, _, features in found:
        assert sum(model.weights[name] * value for name, value in features.items()) == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("limits", [SearchLimits(), EVERYTHING])
def test_empty_lines_stay_in_their_place(model, limits):
    translator = Translator.of(model, limits=limits)
    texts = [found.text for found in translator.translate(["", "f0", "", " "])]
    assert texts[::2] == ["", ""]
    assert texts[1] != "" == texts[3]
    assert list(translator.translate([])) == []
    assert translator.force("", "e0") is None
    assert translator.force("f0", "") is None


def test_threads_and_batches_do_not_change_anything(model):
    rng = np.random.default_rng(6)
    sentences = [phrase_space.random_sentence(rng, 9) for _ in range(100)]
    translators = [Translator.of(model, runtime=Runtime(threads=threads)) for threads in (1, 2, 3)]
    one, two, three = (list(each.translate(iter(sentences), features=True)) for each in translators)
    assert one == two == three
    assert one[17] == next(translators[0].translate([sentences[17]], features=True))
    graphs = []
    for translator in translators[:2]:
        parts = translator.search_batches(sentences[:20], forests=True)
        graphs.append([part.hypergraph(i) for part in parts for i in range(len(part))])
    for ours, theirs in zip(*graphs, strict=True):
        for name in ("first_edge", "tails", "scores", "spans"):
            assert getattr(ours, name).tobytes() == getattr(theirs, name).tobytes()
        assert ours.features.values.tobytes() == theirs.features.values.tobytes()


def test_unknown_words_are_copied_or_dropped(model):
    (copied,) = Translator.of(model).translate(["f4"], features=True)
    assert copied.text == "f4"
    assert copied.phrases[0].unknown
    assert copied.phrases[0].links == ((0, 0),)
    assert copied.features["unknown_word"] == -100
    (dropped,) = Translator.of(model, space=SpaceLimits(unknown_words="drop")).translate(["f4"], features=True)
    assert dropped.text == ""
    assert dropped.phrases[0].links == ()
    assert dropped.features["unknown_word"] == -100


@pytest.mark.parametrize(
    "line",
    [
        '<x translation="a">f0',
        "f0 </x>",
        '<x translation="a"></x> f0',
        "<x>f0</x>",
        '<x translation="a" prob="2">f0</x>',
        '<x translation="a||b" prob="1">f0</x>',
        '<x translation="a"><y translation="b">f0</y></x>',
    ],
)
def test_bad_markup_is_refused(model, line):
    with pytest.raises(DataError, match="expected"):
        list(Translator.of(model, markup=True).translate([line]))


def test_weights_that_a_model_lacks_count_as_zero(model):
    (found,) = Translator.of(model, Weights({"lm": 1.0})).translate(["f0 f1"], features=True)
    assert found.score == pytest.approx(found.features["lm"], abs=1e-9)


def test_phrases_cover_source_and_target(model, lines):
    for found in Translator.of(model).translate(lines):
        covered = sorted(word for phrase in found.phrases for word in range(*phrase.source))
        written = [word for phrase in found.phrases for word in range(*phrase.target)]
        assert covered == list(range(len(found.source.split())))
        assert written == list(range(len(found.text.split())))


def test_lists_and_hypergraphs_agree_with_the_best(model, lines):
    translator = Translator.of(model)
    for part in translator.search_batches(lines, forests=True):
        assert isinstance(part, SearchResult)
        best, lists = part.translations(), part.nbest(5)
        assert isinstance(lists, NBest)
        assert len(best) == len(part) == len(lists)
        for i, translation in enumerate(best):
            assert part.has_derivation(i)
            first = lists.sentences[i]
            assert lists.line(first) == translation.text
            assert lists.scores[first] == pytest.approx(translation.score, abs=1e-9)
            graph = part.hypergraph(i)
            graph.check()
            assert kbest(graph, 1).scores[0] == pytest.approx(translation.score, abs=1e-9)
            assert graph.reweighted(model.weights).scores == pytest.approx(graph.scores, abs=1e-9)
            some = np.arange(graph.edges)[::-2]
            assert part.edge_features(i, some).dot(model.weights) == pytest.approx(graph.scores[some], abs=1e-9)
        assert lists.features.dot(model.weights) == pytest.approx(lists.scores, abs=1e-9)


def test_every_derivation_of_a_hypergraph_can_be_described(model, lines):
    (part,) = Translator.of(model).search_batches(lines[1:8], forests=True)
    for i in range(len(part)):
        graph = part.hypergraph(i)
        for edges, score in zip(*_best_derivations(graph, 10), strict=True):
            found = part.derivation(i, edges, score)
            row = Ragged(edges, np.array([0, len(edges)]))
            assert found.text == graph.vocab.text(yields(graph, row)[0])
            assert found.features == pytest.approx(derivation_features(graph, row).row(0))
            spans = [[*phrase.source, *phrase.target] for phrase in found.phrases]
            assert sorted(word for begin, end, *_ in spans for word in range(begin, end)) == [
                *range(len(found.source.split()))
            ]
            assert [word for *_, begin, end in spans for word in range(begin, end)] == [*range(len(found.text.split()))]
    best = part.translations(features=True)
    first = [
        part.derivation(i, _best_derivations(part.hypergraph(i), 1)[0][0], best[i].score) for i in range(len(part))
    ]
    assert [found.phrases for found in first] == [found.phrases for found in best]
    assert [found.tree is None for found in first] == [found.tree is None for found in best]


def _best_derivations(graph, k):
    found = kbest(graph, k)
    return [found.derivations[i] for i in range(len(found))], found.scores.tolist()


def test_distinct_lists_have_each_string_once(model, lines):
    (found,) = Translator.of(model).nbest(lines[1:2], 30, distinct=True)
    texts = found.texts()
    assert len(set(texts)) == len(texts)


def test_other_weights_are_another_translator(model, lines):
    translator = Translator.of(model)
    other = model.weights.updated(dict.fromkeys(model.language_models, 3.0))
    before = shown(translator.translate(lines))
    again = translator.reweighted(other)
    assert shown(again.translate(lines)) == shown(Translator.of(model, other).translate(lines)) != before
    assert shown(translator.translate(lines)) == before
    assert again.reweighted(other, runtime=Runtime(threads=3)).runtime.threads == 3


def test_forced_targets_are_reached_or_not(model, lines):
    translator = Translator.of(model, limits=EVERYTHING)
    line = lines[1]
    text = next(translator.translate([line])).text
    (part,) = translator.search_batches([line, line], forests=True, targets=[text, "no such words"])
    assert [part.has_derivation(0), part.has_derivation(1)] == [True, False]
    assert translator.force(line, "no such words") is None
    whole, some = translator.search(line), translator.force(line, text)
    assert log_partition(some) <= log_partition(whole) + 1e-9
    with pytest.raises(DataError, match="fewer targets"):
        list(translator.search_batches([line, line], targets=[text]))


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1, 0, 1, 0, 0), (1, 1)])
def test_what_cannot_be_reached_leaves_the_others_alone(model, order):
    translator = Translator.of(model)
    (best,) = translator.translate(["f0 f1"])
    targets = [best.text, "words that no model has"]
    (found,) = translator.search_batches(["f0 f1"] * len(order), forests=True, targets=[targets[i] for i in order])
    alone = translator.force("f0 f1", best.text)
    lists = found.nbest(3)
    for i, which in enumerate(order):
        graph = found.hypergraph(i)
        graph.check()
        assert found.has_derivation(i) == (which == 0)
        assert log_partition(graph) == (-np.inf if which else pytest.approx(log_partition(alone)))
        assert (lists.sentences[i] == lists.sentences[i + 1]) == (which == 1)


def test_one_string_is_no_iterable_of_lines(model):
    with pytest.raises(TypeError, match="found one string"):
        list(Translator.of(model).translate("f0 f1"))


def test_what_is_too_large_is_refused(model, lines):
    with pytest.raises(DataError, match=r"more than 1 (hypotheses|items)"):
        list(Translator.of(model, limits=SearchLimits(max_size=1)).search_batches([lines[1]], forests=True))


def test_long_sentences_are_translated_in_pieces(model, lines):
    long = " . ".join(lines[1:5])
    text = [lines[1], long, "", lines[2]]
    limits = SearchLimits(max_words=10)
    found = list(Translator.of(model, limits=limits).translate(text, features=True))
    assert [one.source for one in found] == text
    whole = found[1]
    pieces = [" ".join(piece) for piece in cut(long.split(), 10)]
    assert len(pieces) > 2
    parts = list(Translator.of(model).translate(pieces))
    assert whole.text.split() == [word for part in parts for word in part.text.split()]
    assert whole.score == pytest.approx(sum(part.score for part in parts))
    assert sum(model.weights[name] * value for name, value in whole.features.items()) == pytest.approx(whole.score)
    assert [word for phrase in sorted(p.source for p in whole.phrases) for word in range(*phrase)] == [
        *range(len(long.split()))
    ]
    again = Translator.of(model, limits=limits, runtime=Runtime(threads=3)).translate(text, features=True)
    assert shown(again) == shown(found)


def test_long_sentences_have_nothing_but_a_translation(model, lines):
    limits, long = SearchLimits(max_words=10), " ".join(["f0"] * 11)
    for arguments in ({}, {"forests": True}, {"targets": ["f0"]}):
        with pytest.raises(DataError, match="' has 11 words, and what is longer than 10 is translated in pieces"):
            list(Translator.of(model, limits=limits).search_batches([long], **arguments))
    with pytest.raises(DataError, match="expected a shorter sentence or a larger max-words"):
        list(Translator.of(model, limits=limits, markup=True).translate([long]))
    assert len(list(Translator.of(model, limits=limits).search_batches([long[3:]], forests=True))) == 1


def test_global_features_are_refused_by_searches(model, lines):
    model = model.with_features([FEATURES.get("length_ratio")()])
    translator = Translator.of(model, model.weights.updated({"length_ratio": 0.5}))
    with pytest.raises(UsageError, match="only sampling can score it"):
        list(translator.search_batches(lines))


def test_global_features_are_taken_by_samplers(model, lines):
    model = model.with_features([FEATURES.get("length_ratio")()])
    translator = Translator.of(model, model.weights.updated({"length_ratio": 0.5}))
    (samples,) = Sampler.of(translator, Sampling(samples=5, burn_in=1)).sample(lines[:3])
    assert "length_ratio" in samples.features.names
    parts = anneal(translator, lines, Annealing(scans=5))
    assert any("length_ratio" in found.features for part in parts for found in part.translations(features=True))


def test_samples_are_of_the_same_space(model, lines):
    translator = Translator.of(model, limits=EVERYTHING)
    sampler = Sampler.of(translator, Sampling(samples=30, burn_in=2))
    part = next(sampler.batches(lines[1:3], trace=True))
    samples = part.samples
    assert isinstance(samples, Samples)
    assert samples.counts.sum() == 2 * 2 * 30
    assert samples.scores == pytest.approx(samples.features.dot(model.weights), abs=1e-9)
    assert part.tried.shape == part.accepted.shape == (2, 2, len(part.moves))
    assert (part.accepted <= part.tried).all()
    forest = sampler.forest(lines[1], EVERYTHING)
    first = samples.sentences[1]
    assert forest.contains(part.derivations.take(np.arange(first))).all()
    texts = Corpus(samples.vocab, samples.hypotheses).sentences.take(np.arange(first))
    shares = sampler.log_scores(lines[1], texts) - forest.log_partition
    assert (shares <= 1e-9).all()


def test_annealing_is_never_worse_than_the_search(model, lines):
    translator = Translator.of(model, limits=SearchLimits(pop_limit=1))
    before = [t.score for t in translator.translate(lines)]
    after = [t.score for part in anneal(translator, lines, Annealing(scans=20)) for t in part.translations()]
    assert all(b >= a - 1e-9 for a, b in zip(before, after, strict=True))
