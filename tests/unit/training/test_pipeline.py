import contextlib
import warnings
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Bitext, Corpus, links_of
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.core.runtime import Runtime
from dragoman.features.boundary_tags import BoundaryTags
from dragoman.features.rule_class import RuleClass
from dragoman.features.structural_distortion import StructuralDistortion
from dragoman.formats.arpa import write_arpa
from dragoman.model.bundle import Model
from dragoman.text.preparation import Casing
from dragoman.training import phrase_model, pipeline, prepare as preparation, score
from dragoman.training.align.hmm import Hmm
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from dragoman.training.phrase_model import PhraseModel, phrase_pairs
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import Cleaning, Preparation, PreparedText, prepare_bitext
from dragoman.training.rules import model as rule_training
from dragoman.training.rules.model import RuleModel, rules
from oracles.phrase_pairs import as_dict
from oracles.phrase_table import phrase_table
from oracles.toy_language import sentence_pairs

pytestmark = pytest.mark.filterwarnings("ignore:too little text")


class Never(Hmm):
    def align(self, *arguments, **more):
        raise AssertionError("aligned before everything was checked")


class Listener(Progress):
    def __init__(self):
        self.warnings = []

    def warn(self, text):
        self.warnings.append(text)


@pytest.fixture(scope="module")
def toy():
    pairs = sentence_pairs(120)
    bitext = Bitext(
        Corpus.from_lines(" ".join(pair.source) for pair in pairs),
        Corpus.from_lines(" ".join(pair.target) for pair in pairs),
    )
    return bitext, links_of(pair.links for pair in pairs), pairs


def test_the_table_is_that_of_plain_counting(toy):
    bitext, links, pairs = toy
    found = as_dict(phrase_pairs(bitext, links, PhraseModel(max_phrase_length=3)))
    sides = ([pair.source for pair in pairs], [pair.target for pair in pairs], [sorted(pair.links) for pair in pairs])
    expected = phrase_table(sides, 3)
    assert len(found) == len(expected)
    for (source, target), (scores, alignment, counts, reordering) in expected.items():
        row = found[" ".join(source), " ".join(target)]
        assert row[0] == pytest.approx([float(score) for score in scores], rel=1e-6)
        assert row[1] == [256 * s + t for s, t in alignment]
        assert row[2] == list(counts)
        assert row[3]["lr"] == pytest.approx([float(p) for p in reordering], rel=1e-6)


def test_prunings_work_one_after_the_other(toy):
    bitext, links, _ = toy
    whole = as_dict(phrase_pairs(bitext, links, PhraseModel()))
    scored = as_dict(phrase_pairs(bitext, links, PhraseModel(prune_score=0.3)))
    assert scored == {key: row for key, row in whole.items() if row[0][2] >= np.float32(0.3)}
    both = as_dict(phrase_pairs(bitext, links, PhraseModel(prune_score=0.3, prune_significance="a-e", prune_limit=1)))
    assert both.items() <= scored.items()
    assert len({source for source, _ in both}) == len(both)


@pytest.mark.parametrize("text", ["", "a", "a+", "nan", "1e"])
def test_thresholds_that_are_none(text):
    with pytest.raises(UsageError, match=f"prune_significance is '{text}'; expected a".replace("+", r"\+")):
        PhraseModel(prune_significance=text)


@pytest.mark.parametrize("text", ["a+e", "a-e", "7", "0.5", "inf"])
def test_thresholds_that_are_some(text):
    assert PhraseModel(prune_significance=text).to_dict()["prune_significance"] == text


def test_links_from_elsewhere_are_those_of_the_whole_text(toy, tmp_path):
    """Rows that cleaning drops are dropped from the links as well."""
    bitext, _, pairs = toy
    lines = [" ".join(f"{s}-{t}" for s, t in pair.links) for pair in pairs]
    source = [" ".join(pair.source) for pair in pairs]
    source[1:1], lines[1:1] = ["", "x " * 90], ["", "0-0"]
    target = bitext.target.lines()
    target[1:1] = ["nothing", "too long"]
    (tmp_path / "links").write_text("".join(f"{line}\n" for line in lines))
    gaps = Bitext(Corpus.from_lines(source), Corpus.from_lines(target))
    listener = Listener()
    trained = train_model(PreparedText(gaps), alignment=tmp_path / "links", runtime=Runtime(progress=listener))
    assert listener.warnings[0].startswith("skipped 2 of 122 pairs: 1 with an empty side, 1 longer than 80 words")
    assert trained.model.history["sentence_pairs"] == len(trained.bitext) == 120
    assert trained.model.history["dropped_pairs"] == 2
    assert trained.bitext.source.lines() == bitext.source.lines()
    assert trained.links.values.tolist() == links_of(sorted(pair.links) for pair in pairs).values.tolist()


def test_the_language_model_sees_the_whole_target_and_more(toy):
    bitext, _, _ = toy
    gaps = Bitext(
        Corpus.from_lines([*bitext.source.lines(), "", "y"]),
        Corpus.from_lines([*bitext.target.lines(), "zebra zebra", "</s> gnu"]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DragomanWarning)
        model = train_model(PreparedText(gaps), lm_texts=[Corpus.from_lines(["the yak", ""])]).model
    vocab = model.language_models["lm"].vocab
    assert vocab.id("zebra")
    assert vocab.id("yak")
    assert not vocab.id("gnu")


def test_the_language_model_is_that_of_estimation_alone(toy):
    bitext, _, _ = toy
    trained = train_model(PreparedText(bitext), TrainRecipe(kneser_ney=KneserNey(order=2))).model.language_models["lm"]
    alone = estimate(bitext.target, KneserNey(order=2))
    for ours, theirs in zip(trained.to_ngrams().orders, alone.orders, strict=True):
        np.testing.assert_array_equal(ours.words, theirs.words)
        np.testing.assert_array_equal(ours.logprobs, theirs.logprobs)


def test_finished_language_models_are_read_before_anything_is_aligned(toy, tmp_path):
    bitext, _, _ = toy
    (tmp_path / "bad.arpa").write_text("\\data\\\nngram 1=2\n")
    with pytest.raises(DataError, match=r"bad\.arpa"):
        train_model(PreparedText(bitext), TrainRecipe(aligner=Never()), arpas=[tmp_path / "bad.arpa"])
    write_arpa(tmp_path / "good.arpa", estimate(bitext.target, KneserNey(order=1)))
    model = train_model(PreparedText(bitext), arpas=[tmp_path / "good.arpa"] * 3).model
    assert list(model.language_models) == ["lm", "lm2", "lm3"]


def test_what_was_done_is_written_down(toy):
    bitext, _, _ = toy
    options = PhraseModel(max_phrase_length=2, prune_significance="a-e")
    recipe = TrainRecipe(Cleaning(max_length=70), Hmm(iterations=1), options)
    history = train_model(PreparedText(bitext), recipe).model.history
    assert history["aligner"] == {"name": "hmm", **Hmm(iterations=1).to_dict()}
    assert history["phrase_model"] == options.to_dict()
    assert history["cleaning"] == {"max_length": 70, "max_ratio": 9.0}
    assert history["language_model"] == KneserNey().to_dict()
    assert history["source_words"] == bitext.source.words


def sides(pairs):
    """Both sides of each pair, in numbers."""
    rows = zip(pairs.sources.take(pairs.source_ids), pairs.targets.take(pairs.target_ids), strict=True)
    return sorted((source.tolist(), target.tolist()) for source, target in rows)


def test_the_twelve_features_of_a_paper_are_trained_at_once(toy):
    bitext, _, _ = toy
    text, options = Corpus.from_lines(["the yak sleeps", "a gnu"]), KneserNey(order=2)
    recipe = TrainRecipe(rule_model=RuleModel(), kneser_ney=options, features=[RuleClass(generate="all")])
    model = train_model(PreparedText(bitext), recipe, second_lm_texts=[text]).model
    scores = [f"tm.{name}" for name in ("bwd", "bwd_lex", "fwd", "fwd_lex")]
    classes = [f"rc.{name}" for name in ("identity", "number", "name")]
    tuned = {"lm", "lm2", *scores, "word_penalty", "rule_penalty", *classes, "glue"}
    assert len(tuned) == 12
    assert set(model.weights) == tuned | {"unknown_word"}
    for name, corpus in (("lm", bitext.target), ("lm2", text)):
        trained, alone = model.language_models[name].to_ngrams(), estimate(corpus, options)
        for ours, theirs in zip(trained.orders, alone.orders, strict=True):
            np.testing.assert_array_equal(ours.logprobs, theirs.logprobs)


def test_features_that_a_model_cannot_have_are_refused_before_anything_is_aligned(toy):
    bitext, _, _ = toy
    for feature, rule_model in ((StructuralDistortion(), None), (BoundaryTags(), RuleModel()), (BoundaryTags(), None)):
        with pytest.raises(UsageError, match=f"{feature.name} (is about|learns from)"):
            train_model(PreparedText(bitext), TrainRecipe(aligner=Never(), rule_model=rule_model, features=[feature]))


def test_a_hierarchical_model_has_the_rules_as_a_grammar(toy, tmp_path):
    bitext, _, _ = toy
    options = RuleModel(max_span=6, min_hole_source=1)
    trained = train_model(PreparedText(bitext), TrainRecipe(rule_model=options))
    trained.model.save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    assert model.kind == "chart"
    assert not model.tables
    assert [*model.grammars] == ["tm"]
    assert model.settings.span_limit == 6
    assert set(model.feature_names) == set(model.weights)
    assert model.history["rule_model"] == options.to_dict()
    assert "phrase_model" not in model.history
    expected = rules(trained.bitext, trained.links, options)
    found = model.grammars["tm"].to_pairs(model.source_vocab, model.target_vocab)
    assert sides(found) == sides(expected)
    assert np.any(found.sources.values < 0)


def test_phrases_can_be_a_second_grammar(toy):
    bitext, _, _ = toy
    trained = train_model(PreparedText(bitext), TrainRecipe(rule_model=RuleModel(), with_phrases=True))
    model = trained.model
    assert [*model.grammars] == ["tm", "phrases"]
    assert model.weights["phrases.penalty"] == 0
    assert set(model.feature_names) == set(model.weights)
    assert model.history["phrase_model"] == PhraseModel().to_dict()
    expected = phrase_pairs(trained.bitext, trained.links, PhraseModel())
    found = model.grammars["phrases"].to_pairs(model.source_vocab, model.target_vocab)
    assert sides(found) == sides(expected)


def test_nothing_to_extract(toy, tmp_path):
    bitext, _, _ = toy
    (tmp_path / "links").write_text("\n" * len(bitext))
    with pytest.raises(DataError, match="no phrase pair could be extracted"):
        train_model(PreparedText(bitext), alignment=tmp_path / "links")
    with pytest.raises(UsageError, match="pruning left no phrase pair"):
        train_model(PreparedText(bitext), TrainRecipe(phrase_model=PhraseModel(prune_significance="inf")))


def test_inputs_are_not_changed(toy):
    bitext, links, _ = toy
    before = [bitext.source.sentences.values.copy(), bitext.target.sentences.values.copy(), links.values.copy()]
    phrase_pairs(bitext, links, replace(PhraseModel(), prune_significance="a+e"))
    train_model(PreparedText(bitext))
    after = [bitext.source.sentences.values, bitext.target.sentences.values, links.values]
    for ours, theirs in zip(before, after, strict=True):
        np.testing.assert_array_equal(ours, theirs)


class Stages(Progress):
    """Knows whether somebody who waits sees a stage."""

    def __init__(self):
        self.open, self.names = 0, []

    @contextlib.contextmanager
    def stage(self, name):
        assert not self.open, f"{name} begins inside {self.names[-1]}, but there is only one bar"
        self.names.append(name)
        self.open += 1
        yield lambda done: None
        self.open -= 1

    def warn(self, text):
        pass


def test_whatever_takes_long_is_a_stage(toy, tmp_path, monkeypatch):
    stages, outside = Stages(), []

    def watched(owner, name):
        function = getattr(owner, name)

        def call(*arguments, **more):
            if not stages.open:
                outside.append(name)
            return function(*arguments, **more)

        monkeypatch.setattr(owner, name, call)

    for name in ("symmetrise", "language_model_text"):
        watched(pipeline, name)
    watched(pipeline.Index, "build")
    for name in ("lexical_tables", "score_reordering", "check_links"):
        watched(phrase_model, name)
    watched(preparation, "read_lines")
    watched(rule_training, "lexical_tables")
    watched(pipeline.Grammar, "from_pairs")
    for name in ("word_weights", "links_before", "PhrasePairs"):
        watched(score, name)
    for owner, name in ((Corpus, "from_lines"), (Casing, "learn")):
        watched(owner, name)
    for owner, name in ((pipeline.PhraseTable, "from_pairs"), (pipeline.LanguageModel, "from_ngrams")):
        watched(owner, name)
    for name, corpus in (("s.fr", toy[0].source), ("t.en", toy[0].target)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in corpus.lines()), encoding="utf-8")
    runtime = Runtime(progress=stages)
    text = prepare_bitext(tmp_path / "s.fr", tmp_path / "t.en", Preparation(), runtime=runtime)
    train_model(text, runtime=runtime)
    train_model(text, TrainRecipe(rule_model=RuleModel(), with_phrases=True), runtime=runtime)
    train_model(text, TrainRecipe(rule_model=RuleModel(), on_demand=True), runtime=runtime)
    assert outside == []
    assert stages.names[:2] == [f"tokenising {tmp_path}/s.fr", f"tokenising {tmp_path}/t.en"]
