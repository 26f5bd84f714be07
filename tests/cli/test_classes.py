"""`dragoman classes`, and training with word classes."""

import pytest

from dragoman.core.corpus import Corpus
from dragoman.model.bundle import Model
from dragoman.model.word_classes import WordClasses
from dragoman.training.classes import Clustering, estimate_classes
from oracles.word_classes import as_dict


def test_classes_are_written_as_mkcls_does_and_shown(dragoman, toy, tmp_path):
    file = tmp_path / "classes.en"
    result = dragoman("classes", "estimate", toy.target, "--classes", 5, "--out", file)
    assert result.code == 0
    assert "5 classes of" in result.err
    expected = estimate_classes(Corpus.read(toy.target), Clustering(classes=5))
    assert as_dict(WordClasses.read(file)) == as_dict(expected)
    assert dragoman("classes", "estimate", "--classes", 5, stdin=toy.target.read_bytes()).out == file.read_text("utf-8")
    shown = dragoman("classes", "show", file, "--words", 2).out.splitlines()
    assert shown[0].endswith(f"5 classes of {len(expected)} words")
    assert shown[2].split() == ["1", str(len(expected.members()[0])), *expected.members()[0][:2]]
    assert dragoman("classes", "estimate", toy.target, "--classes", 3, "--out", file).code == 0
    assert WordClasses.read(file).number == 3


def test_a_tagger_looks_classes_up(dragoman, toy, tmp_path):
    file = tmp_path / "classes"
    file.write_text("the\t3\n", encoding="utf-8")
    tag = ["tag", "--text", "-", "--tagger", "classes"]
    result = dragoman(*tag, "--tagger-option", f"model={file}", stdin=b"the new\n\n")
    assert result.out == "the|3 new|<unk>\n\n"
    assert "needs a file of word classes" in dragoman(*tag, stdin=b"a\n").err


@pytest.mark.slow
def test_models_are_trained_and_tuned_with_classes(dragoman, toy, tmp_path):
    texts = ["--source", toy.source, "--target", toy.target, "--tokenised", "--aligner", "model1"]
    with_classes = ["--classes", 4, "--class-lm-order", 4]
    features = [flag for name in ("boundary-tags", "sparse-reordering", "class-pair") for flag in ("--feature", name)]
    assert dragoman("train", *texts, *with_classes, *features, "--out", tmp_path / "m").code == 0
    model = Model.load(tmp_path / "m")
    assert {side: classes.number for side, classes in model.word_classes.items()} == {"source": 4, "target": 4}
    assert model.language_models["class_lm"].order == 4
    assert "class_lm" in model.weights
    shown = dragoman("model", "show", tmp_path / "m").out
    assert "over word classes" in shown
    assert "word classes target" in shown
    assert dragoman("classes", "show", tmp_path / "m", "--side", "source").code == 0
    assert "expected one of source, target" in dragoman("classes", "show", tmp_path / "m", "--side", "both").err
    tuned = ["--source", toy.source, "--reference", toy.target, "--method", "mira", "--iterations", 2]
    assert dragoman("tune", "--model", tmp_path / "m", *tuned, "--out", tmp_path / "run").code == 0
    weights = (tmp_path / "run" / "weights.txt").read_text(encoding="utf-8")
    assert all(f"\n{prefix}." in weights for prefix in ("pb", "sr", "cp"))
    hierarchical = dragoman("train", *texts, *with_classes, "--hierarchical", "--out", tmp_path / "h")
    assert hierarchical.code == 0
    for flags, said in (
        (["--feature", "boundary-tags"], "learns from a tagged text or word classes"),
        (["--feature", "sparse-reordering"], "needs word classes of the source side"),
        (["--preset", "moses", "--class-lm-order", 3], "a language model over classes needs word classes"),
        ([*with_classes, "--hierarchical", "--feature", "sparse-reordering"], "is about neighbours"),
    ):
        assert said in dragoman("train", *texts, *flags, "--out", tmp_path / "none").err
