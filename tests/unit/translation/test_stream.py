"""Streams: what was asked for of each sentence, in order, as soon as it is ready, and the same here and elsewhere."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.settings import Decision
from dragoman.features import FEATURES
from dragoman.formats.penn_trees import TreeFile
from dragoman.model.bundle import Model
from dragoman.sampling.annealing import anneal
from dragoman.sampling.draw import Draw
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import BATCH, SEARCH_BATCH, Translator
from dragoman.text.preparation import TextPreparation
from dragoman.translation.stream import Outputs, Stream
from oracles import phrase_space
from oracles.elsewhere import Elsewhere

SAMPLING = Sampling(samples=5, burn_in=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    model = phrase_space.random_model(np.random.default_rng(3), tables=1, language_models=1, reordering=True)
    out = tmp_path_factory.mktemp("stream") / "model"
    model.save(out)
    return out


@pytest.fixture
def translator(folder):
    return Translator.of(Model.load(folder))


@pytest.fixture
def streams(translator, folder):
    """The same translator here and elsewhere."""
    here = Stream(translator, prepared=True, runtime=Runtime(threads=2))
    return here, replace(here, folder=folder, runtime=Runtime(workers=Elsewhere()))


@pytest.fixture
def lines():
    rng = np.random.default_rng(5)
    return [f"{phrase_space.random_sentence(rng, 4)} new{i % 5}" for i in range(3 * BATCH + 2)]


def test_results_are_those_of_the_search_here_and_elsewhere(streams, translator, lines):
    outputs = Outputs(features=True, nbest=5, distinct=False, hypergraph=True)
    here, elsewhere = (list(stream.results(lines, outputs)) for stream in streams)
    expected = list(translator.translate(lines, features=True))
    wanted = NBest.concatenate(list(translator.nbest(lines, 5)))
    for found in (here, elsewhere):
        assert [one.number for one in found] == [*range(len(lines))]
        assert [one.source for one in found] == lines
        assert [one.translation for one in found] == expected
        assert [one.text for one in found] == [one.text for one in expected]
        assert all(one.has_derivation and not one.is_too_large for one in found)
        lists = NBest.concatenate([one.nbest for one in found])
        assert lists.texts() == wanted.texts()
        assert np.array_equal(lists.scores, wanted.scores)
        assert np.array_equal(lists.features.dense(), wanted.features.dense())
    ours, theirs = (NBest.concatenate([one.nbest for one in found]) for found in (here, elsewhere))
    for name in ("blob", "offsets", "index"):
        assert np.array_equal(ours.vocab.arrays()[name], theirs.vocab.arrays()[name])
    assert [one.hypergraph.edges for one in here] == [one.hypergraph.edges for one in elsewhere]


def test_only_what_was_asked_for_is_there(streams, lines):
    for result in streams[0].results(lines[:2]):
        assert result.translation.features == {}
        assert (result.nbest, result.hypergraph, result.samples, result.more_texts) == (None, None, None, ())


def test_a_block_does_not_wait_for_the_next(streams, lines):
    for stream in streams:
        for outputs in (Outputs(), Outputs(samples=Draw(SAMPLING)), Outputs(annealing=Annealing(scans=2))):
            given = []

            def blocks(given=given):
                for line in lines[:3]:
                    given.append(line)
                    yield [line]

            results = stream.results(blocks(), outputs)
            assert next(results).number == 0
            assert given == lines[:1]
            assert [one.source for one in results] == lines[1:3]


def test_lines_are_read_as_they_are_needed(streams, lines):
    text, given = 2 * lines, []
    results = streams[1].results(line for line in text if given.append(line) is None)
    next(results)
    assert given == text[:SEARCH_BATCH]


def test_samples_are_those_of_the_whole_text_whatever_the_blocks(streams, translator, lines):
    draw = Draw(SAMPLING, seed=4)
    expected = list(Sampler.of(translator, SAMPLING).sample(lines, seed=4))
    scores = np.concatenate([part.scores for part in expected])
    counts = np.concatenate([part.counts for part in expected])
    for stream in streams:
        for given in (lines, [lines[:3], lines[3:]]):
            found = [one.samples for one in stream.results(given, Outputs(samples=draw))]
            assert all(len(part.samples) == len(part.tried) == len(part.components) == 1 for part in found)
            assert np.array_equal(np.concatenate([part.samples.scores for part in found]), scores)
            assert np.array_equal(np.concatenate([part.samples.counts for part in found]), counts)
            assert sum(len(part.derivations) for part in found) == len(scores)


def test_annealing_is_that_of_the_whole_text_whatever_the_blocks(streams, translator, lines):
    annealing = Annealing(scans=3)
    parts = anneal(translator, lines, annealing, seed=7)
    expected = [(one.text, one.score) for part in parts for one in part.translations()]
    for stream in streams:
        found = stream.results([lines[:5], lines[5:]], Outputs(annealing=annealing, seed=7))
        assert [(one.text, one.translation.score) for one in found] == expected


@pytest.mark.parametrize("evidence", ["nbest", "hypergraph", "samples"])
def test_rules_that_see_the_same_evidence_share_it(streams, lines, evidence):
    draw = Draw(SAMPLING, features=False) if evidence == "samples" else None
    rules = [Decision.of("consensus", [f"order={order}"], evidence, 20) for order in (1, 4)]
    for stream in streams:
        alone = [[one.text for one in stream.results(lines, Outputs(decision=rule, samples=draw))] for rule in rules]
        both = Outputs(decision=rules[0], more_rules=(rules[1].rule,), samples=draw)
        found = list(stream.results(lines, both))
        assert [one.text for one in found] == alone[0]
        assert [one.more_texts for one in found] == [(text,) for text in alone[1]]
        assert all(one.translation is None for one in found)


def test_forced_targets_are_reached_or_not(streams, translator, lines):
    targets = [one.text for one in translator.translate(lines)]
    targets[1] = "no such words"
    for stream in streams:
        found = list(stream.results([lines[:2], lines[2:]], targets=iter(targets)))
        assert [one.has_derivation for one in found] == [i != 1 for i in range(len(lines))]
        assert [one.text for one in found] == [*targets[:1], "", *targets[2:]]
        with pytest.raises(DataError, match="fewer targets than source sentences"):
            list(stream.results(lines, targets=targets[1:]))
    small = translator.reweighted(translator.weights)
    small.limits = SearchLimits(algorithm="exhaustive", max_size=1)
    (result,) = replace(streams[0], translator=small).results(lines[:1], targets=targets[:1])
    assert result.is_too_large
    assert not result.has_derivation


def test_long_sentences_are_translated_in_pieces(streams, translator, lines):
    short = replace(translator.limits, max_words=3)
    for stream in streams:
        pieced = Translator.of(translator.model, limits=short)
        stream = replace(stream, translator=pieced)
        found = list(stream.results(lines, Outputs(features=True)))
        assert [one.translation for one in found] == list(pieced.translate(lines, features=True))
        for outputs in (Outputs(nbest=3), Outputs(hypergraph=True), Outputs(decision=Decision.of("consensus"))):
            with pytest.raises(DataError, match="is translated in pieces"):
                list(stream.results(lines, outputs))


def test_raw_text_is_prepared_and_restored():
    translator = dm.example().translator
    raw = ["Un homme dort dans la rue.", "", "Un chien noir court."]
    assert [one.text for one in Stream(translator).results(raw)] == [
        "A man sleeps in the street.",
        "",
        "A black dog runs.",
    ]
    words = Stream(translator, restoration=TextPreparation()).results(raw)
    assert next((one.source, one.text) for one in words) == (raw[0], "a man sleeps in the street .")
    prepared = Stream(translator, prepared=True).results(["un homme dort ."])
    assert [one.text for one in prepared] == ["a man sleeps ."]


def test_markup_is_prepared_with_its_line():
    system = dm.example()
    translator = Translator.of(system.model, markup=True)
    line = 'Un <x translation="Zorglub">chien</x> dort.'
    (found,) = Stream(translator).results([line])
    assert (found.source, found.text) == (line, "A Zorglub sleeps.")


def test_trees_are_taken_in_step_and_must_be_as_many(streams, lines):
    stream = streams[0]
    trees = [f"(S {' '.join(f'(X {word})' for word in line.split())})" for line in lines]
    assert len(list(stream.results([lines[:2], lines[2:]], trees=TreeFile(trees)))) == len(lines)
    with pytest.raises(DataError, match="more trees than sentences"):
        list(stream.results(lines, trees=TreeFile([*trees, trees[0]])))
    with pytest.raises(DataError, match="and more sentences"):
        list(stream.results(lines, trees=TreeFile(trees[:-1])))


def test_one_string_is_no_iterable_of_lines(streams):
    with pytest.raises(TypeError, match="found one string"):
        streams[0].results("f0 f1")


def test_global_features_are_for_chains_only(translator, lines):
    model = translator.model.with_features([FEATURES.get("length_ratio")()])
    stream = Stream(Translator.of(model, model.weights.updated({"length_ratio": 0.5})), prepared=True)
    for outputs in (Outputs(), Outputs(nbest=2), Outputs(decision=Decision.of("mbr"))):
        with pytest.raises(UsageError, match="only sampling can score it"):
            stream.results(lines, outputs)
    assert len(list(stream.results(lines[:2], Outputs(samples=Draw(SAMPLING))))) == 2
    assert len(list(stream.results(lines[:2], Outputs(annealing=Annealing(scans=2))))) == 2


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"decision": Decision.of("mbr"), "features": True}, "strings, not derivations"),
        ({"decision": Decision.of("mbr"), "nbest": 3}, "strings, not derivations"),
        ({"decision": Decision.of("mbr"), "annealing": Annealing()}, "strings, not derivations"),
        ({"decision": Decision.of("mbr", evidence="samples")}, "samples need a sampler"),
        ({"decision": Decision.of("mbr"), "samples": Draw(SAMPLING)}, "does not see samples"),
        ({"annealing": Annealing(), "hypergraph": True}, "annealing finds one derivation"),
        ({"samples": Draw(SAMPLING), "nbest": 3}, "in place of a search"),
        ({"more_rules": (Decision.of("mbr").rule,)}, "go with a decision"),
    ],
)
def test_outputs_that_make_no_sense_together_are_refused(wanted, said):
    with pytest.raises(UsageError, match=said):
        Outputs(**wanted)


def test_only_a_search_can_be_forced(streams, lines):
    for outputs in (
        Outputs(samples=Draw(SAMPLING)),
        Outputs(annealing=Annealing()),
        Outputs(decision=Decision.of("mbr")),
    ):
        with pytest.raises(UsageError, match="only a search can be forced"):
            streams[0].results(lines, outputs, targets=lines)


def test_outputs_can_be_sent():
    outputs = Outputs(decision=Decision.of("mbr", evidence="samples"), samples=Draw(SAMPLING))
    assert pickle.loads(pickle.dumps(outputs)) == outputs


def test_samples_of_sentences_are_those_of_the_text(translator, lines):
    sampler = Sampler.of(translator, SAMPLING)
    (whole,) = (part for part in sampler.batches(lines[:4], seed=2, trace=True))
    parts = [whole.sentence(i) for i in range(4)]
    again = Samples.concatenate([part.samples for part in parts])
    samples = whole.samples
    for name in ("sentences", "scores", "counts", "trace"):
        assert np.array_equal(getattr(again, name), getattr(samples, name))
    for name in ("hypotheses", "segmentations"):
        ours, theirs = getattr(again, name), getattr(samples, name)
        assert np.array_equal(ours.values, theirs.values)
        assert np.array_equal(ours.offsets, theirs.offsets)
    assert np.array_equal(again.features.dense(), samples.features.dense())
    assert sum(part.counts("reorder")[0] for part in parts) == whole.counts("reorder")[0]
