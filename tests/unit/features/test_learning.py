"""What features learn when they are added to a model, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.progress import DragomanWarning
from dragoman.features import FEATURES, SPARSE_FEATURES, PairFeature
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.bundle import Model
from oracles import extra_features, phrase_space
from oracles.handmade import handmade

pytestmark = pytest.mark.filterwarnings("ignore:only .* target phrases occur")


def tagged(*lines):
    pieces = [[token.rsplit("|", 1) for token in line.split()] for line in lines]
    return TaggedText(
        *(Corpus.from_lines([" ".join(piece[side] for piece in line) for line in pieces]) for side in (0, 1))
    )


def linked_model(seed=1, counts=True):
    rng = np.random.default_rng(seed)
    return extra_features.with_random_links(phrase_space.random_model(rng, tables=2), rng, counts=counts)


@pytest.mark.parametrize("limit", [0, 1, 2, 99])
@pytest.mark.parametrize("counts", [False, True])
def test_frequent_words(limit, counts):
    for seed in range(10):
        model = linked_model(seed, counts)
        made = model.with_features([FEATURES.get("word-pair")(source_words=limit, target_words=limit)])
        (learnt,) = made.sparse_features.values()
        for side, vocab in (("source", model.source_vocab), ("target", model.target_vocab)):
            assert {vocab[i] for i in learnt[side].tolist()} == extra_features.frequent(model, side, limit)


def test_only_phrases_with_tags_of_their_own_are_kept():
    model = linked_model(1)
    phrase = next(row for table in model.tables.values() for row in table.targets if len(row) == 2 and row[0] != row[1])
    first, last = (model.target_vocab[int(word)] for word in phrase)
    text = tagged(f"{first}|A {last}|B", f"{first}|C", f"{first}|C", f"{last}|B")
    made = model.with_features([FEATURES.get("boundary-tags")()], tagged=text)
    (learnt,) = made.sparse_features.values()
    assert bytes(learnt["symbols"]).decode().split() == ["<s>", "<unk>", "A", "B", "C"]
    assert learnt["phrases"].tolist() == phrase.tolist()
    assert (learnt["left"].tolist(), learnt["right"].tolist()) == ([2], [3])
    words = made.with_features([]).boundary_feature
    assert words.symbols[words.tags.of_word[phrase[0]]] == "C"


def test_names_that_features_can_have():
    text = tagged("e0|NN e1|: e2|VB")
    model = linked_model(1).with_features(
        [
            FEATURES.get("boundary-tags")(),
            FEATURES.get("word-insertion")(target_words=0),
            FEATURES.get("word-pair")(source_words=0, target_words=0),
            FEATURES.get("phrase-length")(longest=3),
        ],
        tagged=text,
    )
    frequent = [extra_features.frequent(model, side, 0) for side in ("source", "target")]
    source, target = (min(words) for words in frequent)
    good = ["pb.<s>:NN", "pb.:::", "pb.<unk>:</s>", f"twi.{target}", "twi.OTHER", f"wp.{source}~{target}", "pl.s3t1"]
    bad = ["pb.NN", "pb.</s>:NN", "pb.NN:<s>", "pb.NN:JJ", "twi.never", f"wp.{target}~{source}", "pl.s4t1", "swd.OTHER"]
    assert [name for name in good + bad if model._can_have(name)] == good


def test_weights_of_features_that_the_model_lacks_are_counted(tmp_path):
    model = linked_model(1).with_features([FEATURES.get("phrase-length")()])
    dense = dict.fromkeys(model.feature_names, 1.0)
    file = tmp_path / "w"
    Weights({**dense, "pl.s1t1": 1.0}).write(file)
    assert model.read_weights(file)["pl.s1t1"] == 1.0
    Weights({**dense, "pl.s1t1": 1.0, "pl.s9t1": 1.0, "twi.e0": 2.0}).write(file)
    with pytest.warns(DragomanWarning, match=r"no features for 2 of the weights: pl\.s9t1, twi\.e0"):
        model.read_weights(file)
    Weights({**dense, "plane.s1t1": 1.0}).write(file)
    with pytest.raises(DataError, match=r"has weights for plane\.s1t1"):
        model.read_weights(file)


def test_what_cannot_be_added():
    model = linked_model(1)
    with pytest.raises(UsageError, match="has the feature phrase-length already"):
        model.with_features([FEATURES.get("phrase-length")(), FEATURES.get("phrase-length")(longest=3)])
    with pytest.raises(UsageError, match="needs a tagged text"):
        model.with_features([FEATURES.get("boundary-tags")()])
    with pytest.raises(DataError, match="the tagged text is empty"):
        model.with_features([FEATURES.get("boundary-tags")()], tagged=tagged(""))
    with pytest.raises(DataError, match="has a tag <s> or </s>"):
        model.with_features([FEATURES.get("boundary-tags")()], tagged=tagged("e0|</s>"))
    plain = phrase_space.random_model(np.random.default_rng(1))
    for name in ("word-insertion", "word-deletion", "word-pair"):
        with pytest.raises(UsageError, match=f"{name} needs word links, which the phrase table 'tm' has not"):
            plain.with_features([FEATURES.get(name)()])
    with pytest.raises(UsageError, match="no feature is called 'x'; there are boundary-tags, class-pair"):
        SPARSE_FEATURES.get("x")


@pytest.mark.filterwarnings("default:only .* target phrases occur")
def test_a_text_of_other_words_is_noticed():
    with pytest.warns(DragomanWarning, match="only 0 of the model's [0-9]+ target phrases occur in the tagged text"):
        linked_model(1).with_features([FEATURES.get("boundary-tags")()], tagged=tagged("E0|NN"))


DAMAGE = {
    "of_word": lambda a: np.full_like(a, 99),
    "phrases": lambda a: a[:-1],
    "phrase_offsets": lambda a: a[::-1],
    "index": lambda a: np.abs(a),
    "left": lambda a: a[:-1],
    "right": lambda a: a.astype(np.int64),
    "symbols": lambda a: a[:0],
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_tags_are_refused(name, tmp_path):
    rng = np.random.default_rng(5)
    model = linked_model(5).with_features(
        [FEATURES.get("boundary-tags")()], tagged=extra_features.random_tagged_text(rng)
    )
    model.save(tmp_path / "m")
    file = tmp_path / "m" / "extra_features" / "boundary-tags" / f"{name}.npy"
    array = np.load(file)
    assert len(array)
    np.save(file, np.ascontiguousarray(DAMAGE[name](array)))
    with pytest.raises(DataError, match="the feature boundary-tags of the model"):
        _ = Model.load(tmp_path / "m").boundary_feature
    file.unlink()
    with pytest.raises(DataError, match=f"the array '{name}' is missing"):
        _ = Model.load(tmp_path / "m").boundary_feature


def test_a_model_with_a_feature_that_nobody_knows_is_refused(tmp_path):
    linked_model(1).with_features([FEATURES.get("phrase-length")()]).save(tmp_path / "m")
    file = tmp_path / "m" / "model.toml"
    file.write_text(file.read_text().replace('"phrase-length"', '"phrase-width"'))
    with pytest.raises(DataError, match=r"model\.toml: no feature is called 'phrase-width'"):
        Model.load(tmp_path / "m")


def test_more_tags_than_pairs_of_them_have_room_for():
    feature = FEATURES.get("boundary-tags")()
    text = tagged(" ".join(f"e0|T{i}" for i in range(999)))
    with pytest.raises(DataError, match="there are 1,001 tags; expected at most 1,000"):
        linked_model(1).with_features([feature], tagged=text)
    made = linked_model(1).with_features([feature], tagged=tagged(" ".join(f"e0|T{i}" for i in range(998))))
    (learnt,) = made.sparse_features.values()
    # A file can claim millions, each a byte.
    many = {**learnt, "symbols": np.full(10**6, ord("\n"), np.uint8)}
    with pytest.raises(DataError, match="the feature boundary-tags of the model: there are 1,000,000 tags"):
        _ = replace(made, features={feature: many}).boundary_feature


def test_a_model_with_a_global_feature_that_nobody_knows_is_refused(tmp_path):
    linked_model(1).with_features([FEATURES.get("length_ratio")()]).save(tmp_path / "m")
    file = tmp_path / "m" / "model.toml"
    file.write_text(file.read_text().replace('"length_ratio"', '"width_ratio"'))
    with pytest.raises(DataError, match=r"model\.toml: no global_feature is called 'width_ratio'; there are bracket"):
        Model.load(tmp_path / "m")


def test_a_feature_learns_from_a_model_before_it_is_used():
    feature = FEATURES.get("word-pair")()
    with pytest.raises(UsageError, match=r"the feature word-pair belongs to no model; expected `Model\.with_features`"):
        feature.has("a~b")
    (attached,) = linked_model(1).with_features([feature]).sparse_features
    assert attached == feature


def test_two_features_of_one_prefix_are_refused():
    other = handmade(PairFeature, lambda pairs: None, name="other", prefix="pl")
    with pytest.raises(UsageError, match="the features phrase-length and other both have the prefix pl"):
        linked_model(1).with_features([FEATURES.get("phrase-length")(), other])
