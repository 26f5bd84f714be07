import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PHRASE_SCORES
from dragoman.features import FEATURES, SentenceFeature
from dragoman.model.bundle import Model, verify
from dragoman.model.edit import encode, filter_to_text
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import Settings, initial_weights
from dragoman.model.phrase_table import PhraseTable
from dragoman.training.lm.kneser_ney import KneserNey, estimate
from oracles.handmade import handmade
from oracles.phrase_pairs import phrase_pairs

pytestmark = pytest.mark.filterwarnings("ignore:too little text")


@pytest.fixture
def model():
    pairs = phrase_pairs(
        [
            ("la", "the", (1, 1, 1, 1)),
            ("vol", "flight", (1, 1, 0.75, 0.5)),
            ("vol", "theft", (1, 1, 0.25, 0.5)),
            ("la vol", "the flight", (1, 1, 1, 1)),
        ]
    )
    table = PhraseTable.from_pairs(pairs)
    language_models = {
        name: LanguageModel.from_ngrams(estimate(Corpus.from_lines(["the flight", "a theft"]), KneserNey(order=order)))
        for name, order in (("lm", 2), ("lm2", 1))
    }
    return Model(
        pairs.source_vocab,
        pairs.target_vocab,
        {"tm": table},
        language_models,
        initial_weights({"tm": PHRASE_SCORES}, ["lr"], language_models),
        Settings(source_language="fr", tokenise=True, reordering_limit=-1, table_limit=0),
        {"made": {"by": ["hand", "é"]}, "counts": 3},
    )


def test_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert list(loaded.source_vocab) == list(model.source_vocab)
    assert list(loaded.target_vocab) == list(model.target_vocab)
    assert loaded.settings == model.settings
    assert loaded.history == model.history
    assert list(loaded.weights.items()) == list(model.weights.items())
    assert list(loaded.language_models) == ["lm", "lm2"]
    assert [m.order for m in loaded.language_models.values()] == [2, 1]
    assert loaded.language_models["lm"].score("the theft") == model.language_models["lm"].score("the theft")
    for name, array in model.tables["tm"].arrays().items():
        np.testing.assert_array_equal(loaded.tables["tm"].arrays()[name], array)


def test_the_same_model_is_the_same_bytes(model, tmp_path):
    model.save(tmp_path / "one")
    Model.load(tmp_path / "one").save(tmp_path / "two")
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()}
    assert files == {path.relative_to(tmp_path / "two") for path in (tmp_path / "two").rglob("*") if path.is_file()}
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_saving_over_the_folder_that_is_mapped(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    loaded.save(tmp_path / "m")
    assert loaded.tables["tm"].lookup([loaded.source_vocab.id("vol")]) == range(1, 3)
    assert verify(tmp_path / "m") > 20


def test_feature_names_are_those_with_weights(model):
    assert sorted(model.feature_names) == sorted(model.weights)
    assert model.feature_names[:4] == ["distortion", "word_penalty", "phrase_penalty", "unknown_word"]
    assert model.reorderings == ["lr"]


def test_global_features_are_kept_by_name(model, tmp_path):
    features = [FEATURES.get("length_ratio")(), FEATURES.get("lexical_consistency")(min_length=3)]
    richer = model.with_features(features)
    assert richer.feature_names == [*model.feature_names, "length_ratio", "lexical_consistency"]
    assert richer.dense_features == model.dense_features == model.feature_names
    assert (richer.weights["length_ratio"], len(richer.weights)) == (0.0, len(model.weights) + 2)
    richer.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert [*loaded.features] == [*loaded.global_features.values()] == features
    assert [*loaded.global_features] == ["length_ratio", "lexical_consistency"]
    assert loaded.read_weights(tmp_path / "m") == richer.weights
    model.weights.write(tmp_path / "old")
    with pytest.raises(DataError, match="has no weight for length_ratio, lexical_consistency; expected one for every"):
        loaded.read_weights(tmp_path / "old")
    with pytest.raises(UsageError, match="the model has the feature length_ratio already"):
        richer.with_features([FEATURES.get("length_ratio")()])
    with pytest.raises(UsageError, match="the model has the feature lm already"):
        model.with_features([handmade(SentenceFeature, lambda: None, name="lm")])


def test_words_in_the_ids_of_a_language_model(model):
    ids = model.language_models["lm"].ids_of(model.target_vocab)
    theirs = model.language_models["lm"].vocab
    for word, number in zip(model.target_vocab, ids.tolist(), strict=True):
        assert number == (0 if word in ("<s>", "</s>") else theirs.id(word))  # marks are no words of a text


def test_filtering_keeps_what_a_text_can_use(model, tmp_path):
    (tmp_path / "text").write_text("la xyz\nvol\n\n", encoding="utf-8")
    corpus = encode(model, tmp_path / "text")
    assert [row.tolist() for row in corpus.sentences] == [
        [model.source_vocab.id("la"), 0],
        [model.source_vocab.id("vol")],
        [],
    ]
    small = filter_to_text(model, corpus)
    assert {model.source_vocab.text(phrase) for phrase in small.tables["tm"].sources} == {"la", "vol"}
    assert len(model.tables["tm"]) == 4
    assert small.weights is model.weights
    small.save(tmp_path / "small")
    assert len(Model.load(tmp_path / "small").tables["tm"]) == 3


def test_several_tables(model, tmp_path):
    more = Model(
        model.source_vocab,
        model.target_vocab,
        {"tm": model.tables["tm"], "tm2": model.tables["tm"]},
        {},
        Weights({}),
    )
    more.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert list(loaded.tables) == ["tm", "tm2"]
    assert loaded.language_models == {}
    assert loaded.feature_names.count("lr.bwd.mono") == 1
    assert "tm2.fwd" in loaded.feature_names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reordering_limit = -1", 'reordering_limit = "far"', "reordering_limit is 'far'; expected int"),
        ("reordering_limit = -1", "reordering_limit = -2", "reordering_limit is -2; expected at least -1"),
        ("reordering_limit = -1", "colour = 1", "unknown option 'colour'"),
        ("[settings]", "[other]", "lacks 'settings'; expected a complete model"),
        ('name = "tm"\n', "", "lacks 'name'; expected a complete model"),
        ("format = 1\n", "", "has format None, written by dragoman "),
        ("format = 1\n", 'format = "1"\n', "has format '1', written by dragoman "),
    ],
)
def test_descriptions_that_are_wrong(model, tmp_path, old, new, message):
    model.save(tmp_path / "m")
    file = tmp_path / "m" / "model.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError) as error:
        Model.load(tmp_path / "m")
    assert str(error.value).startswith(f"{file}: {message}")


def test_a_table_that_is_named_but_missing(model, tmp_path):
    model.save(tmp_path / "m")
    file = tmp_path / "m" / "model.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('name = "tm"', 'name = "other"'), encoding="utf-8")
    with pytest.raises(DataError) as error:
        Model.load(tmp_path / "m")
    assert str(error.value) == f"{tmp_path}/m/tables/other: the array 'sources' is missing; expected a phrase table"
