"""Word classes as a part of a model, and as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.features import FEATURES
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses
from dragoman.model.word_classes import WordClasses
from dragoman.training.classes import class_language_model
from dragoman.training.lm.kneser_ney import KneserNey
from oracles import phrase_space, word_classes


@pytest.fixture
def model():
    rng = np.random.default_rng(2)
    made = word_classes.with_random_classes(phrase_space.random_model(rng), rng)
    text = Corpus.from_lines([" ".join(rng.choice(phrase_space.TARGET, 6)) for _ in range(20)])
    over = class_language_model(text, made.word_classes["target"], KneserNey(order=3))
    return replace(
        made,
        language_models={**made.language_models, "class_lm": over},
        weights=made.weights.updated({"class_lm": 0.4}),
    )


def test_words_are_looked_up_in_any_vocabulary():
    classes = WordClasses.of({"a": 2, "b": 1})
    assert classes.of_words(Vocab.of(["b", "c", "a"])).tolist() == [0, 0, 0, 1, 0, 2]
    assert classes.of_words(classes.vocab).tolist() == [0, 0, 0, 2, 1]
    assert classes.text(Corpus.from_lines(["b c a", ""])).lines() == ["1 <unk> 2", ""]
    assert classes.members() == [["b"], ["a"]]


def test_text_is_read_as_it_was_written_and_as_mkcls_writes_it(tmp_path):
    classes = WordClasses.of({"é": 2, "b": 1, "c": 2})
    classes.write(tmp_path / "classes.gz")
    assert word_classes.as_dict(WordClasses.read(tmp_path / "classes.gz")) == word_classes.as_dict(classes)
    (tmp_path / "mkcls").write_text("é\t2\nb\t1\nc 2\n", encoding="utf-8")
    assert word_classes.as_dict(WordClasses.read(tmp_path / "mkcls")) == word_classes.as_dict(classes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\t1\nb\n", ":2: found 'b'"),
        ("a\tone\n", ":1: found 'a\tone'"),
        ("a\t0\n", ":1: found"),
        ("a\t1\na\t2\n", ":2: has a second class for 'a'"),
        ("", "has no words"),
    ],
)
def test_other_files_are_refused(tmp_path, text, said):
    (tmp_path / "classes").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        WordClasses.read(tmp_path / "classes")
    assert said in str(error.value)


def test_a_model_keeps_its_classes_and_its_language_model_over_them(model, tmp_path):
    model.save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    for side, classes in model.word_classes.items():
        assert word_classes.as_dict(loaded.word_classes[side]) == word_classes.as_dict(classes)
    line = "e0 e3 e1 new"
    assert loaded.language_models["class_lm"].score(line) == model.language_models["class_lm"].score(line)
    loaded.save(tmp_path / "again")
    for file in (tmp_path / "m").rglob("*.*"):
        assert (tmp_path / "again" / file.relative_to(tmp_path / "m")).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("place", ["word_classes/target", "language_models/class_lm"])
@pytest.mark.parametrize("damage", ["range", "special", "shape"])
def test_damaged_classes_are_refused(model, tmp_path, place, damage):
    model.save(tmp_path / "m")
    name = "classes.npy" if place.startswith("word") else "classes.classes.npy"
    file = tmp_path / "m" / place / name
    array = np.load(file)
    if damage == "shape":
        array = array[:-1]
    else:
        array[-1 if damage == "range" else 1] = 99 if damage == "range" else 1
    np.save(file, array)
    with pytest.raises(DataError, match="classes"):
        Model.load(tmp_path / "m")


def test_a_folder_with_features_of_classes_but_no_classes_is_refused(model, tmp_path):
    richer = model.with_features([FEATURES.get("sparse-reordering")()])
    replace(richer, word_classes={}).save(tmp_path / "m")
    with pytest.raises(DataError, match=r"the feature sparse-reordering of the model: .* needs word classes"):
        Model.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["sparse-reordering", "class-pair"])
def test_features_of_classes_need_classes(name):
    plain = phrase_space.random_model(np.random.default_rng(1))
    with pytest.raises(UsageError, match=f"{name} needs word classes of the source side"):
        plain.with_features([FEATURES.get(name)()])


def test_an_export_leaves_a_language_model_over_classes_out(model, tmp_path):
    with pytest.warns(UserWarning, match="language models over classes cannot be written and are left out: class_lm"):
        export_moses(model, tmp_path / "moses")
    assert sorted(file.name for file in (tmp_path / "moses").glob("*.arpa.gz")) == ["lm.arpa.gz"]
    assert "LM1" not in (tmp_path / "moses" / "moses.ini").read_text(encoding="utf-8")
