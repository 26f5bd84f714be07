import os
import threading

import numpy as np
import pytest

from dragoman.core import corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.core.workspace import Workspace
from dragoman.text.segment import is_installed
from dragoman.training import prepare as preparing
from dragoman.training.prepare import Preparation, prepare_bitext, read_target


class Listener(Progress):
    def __init__(self):
        self.warnings, self.notes = [], []

    def note(self, text):
        self.notes.append(text)

    def warn(self, text):
        self.warnings.append(text)


def test_preparation_of_raw_text(tmp_path):
    (tmp_path / "a.fr").write_text("L'ÉTÉ!\n", encoding="utf-8")
    (tmp_path / "a.en.gz").write_text("It's SUMMER.\n", encoding="utf-8")  # compression goes by content
    bitext, settings, casing, _ = prepare_bitext(tmp_path / "a.fr", tmp_path / "a.en.gz", Preparation())
    assert (bitext.source.lines(), bitext.target.lines()) == (["l' été !"], ["it 's summer ."])
    assert (settings.source_language, settings.target_language, settings.tokenise, settings.lowercase) == (
        "fr",
        "en",
        True,
        True,
    )
    assert casing.restore(["it 's summer ."], [""]) == ["It 's SUMMER ."]
    assert prepare_bitext(tmp_path / "a.fr", tmp_path / "a.en.gz", Preparation(recase=False)).casing is None
    cased = prepare_bitext(tmp_path / "a.fr", tmp_path / "a.en.gz", Preparation(lowercase=False))
    assert (cased.bitext.target.lines(), cased.casing) == (["It 's SUMMER ."], None)


@pytest.mark.parametrize("tokenised", [False, True])
def test_letters_are_composed_unless_told_otherwise(tmp_path, tokenised):
    (tmp_path / "a.fr").write_text("e\u0301te\u0301\n\u00e9te\u0301\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("cafe\u0301\nplain\n", encoding="utf-8")
    texts = tmp_path / "a.fr", tmp_path / "a.en"
    found = prepare_bitext(*texts, Preparation(tokenised=tokenised))
    assert found.bitext.source.lines() == ["\u00e9t\u00e9"] * 2
    assert found.bitext.target.lines() == ["caf\u00e9", "plain"]
    assert found.settings.unicode == "NFC"
    left = prepare_bitext(*texts, Preparation(tokenised=tokenised, unicode="as-is"))
    assert len(set(left.bitext.source.lines())) == 2
    assert left.settings.unicode == "as-is"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("train.fr", "fr"),
        ("train.fr.gz", "fr"),
        ("train", "en"),
        ("train.txt", "en"),
        ("x.de.tok", "en"),
        ("a.1x", "en"),
    ],
)
def test_the_language_is_the_ending(tmp_path, name, language):
    (tmp_path / name).write_text("a\n")
    (tmp_path / "other").write_text("a\n")
    listener = Listener()
    settings = prepare_bitext(
        tmp_path / name, tmp_path / "other", Preparation(target_language="de"), runtime=Runtime(progress=listener)
    )[1]
    assert (settings.source_language, settings.target_language) == (language, "de")
    # English because nothing says another language is said.
    assert [warning.startswith(f"{tmp_path / name}: ") for warning in listener.warnings] == [True] * (language == "en")
    assert all("tokenised as English" in warning for warning in listener.warnings)
    chosen = Preparation(source_language="cs", target_language="de")
    assert prepare_bitext(tmp_path / name, tmp_path / "other", chosen)[1].source_language == "cs"


def test_tokenised_text_is_left_as_it_is(tmp_path):
    (tmp_path / "a.fr").write_text("L'ÉTÉ !\n", encoding="utf-8")
    bitext, settings, *_ = prepare_bitext(tmp_path / "a.fr", tmp_path / "a.fr", Preparation(tokenised=True))
    assert bitext.source.lines() == ["L'ÉTÉ !"]
    assert not settings.tokenise
    assert not settings.lowercase


def test_characters_are_units_as_they_are(tmp_path):
    (tmp_path / "a.old").write_text("Vnd e\u0301s\n", encoding="utf-8")
    (tmp_path / "a.new").write_text("Und  \u2581s\n", encoding="utf-8")
    options = Preparation(units="characters", boundaries=True)
    bitext, settings, casing, _ = prepare_bitext(tmp_path / "a.old", tmp_path / "a.new", options)
    assert bitext.source.lines() == ["\u2581 V n d \u2581 \u00e9 s \u2581"]
    assert bitext.target.lines() == ["\u2581 U n d \u2581 \u2581 \u2581\u2581 s \u2581"]
    assert settings.preparation(casing).restore(bitext.target.lines()) == ["Und  \u2581s"]
    (tmp_path / "a.new").write_text("Und\nes\n", encoding="utf-8")
    with pytest.raises(DataError, match="has 2 lines"):
        prepare_bitext(tmp_path / "a.old", tmp_path / "a.new", options)
    with pytest.raises(UsageError, match="models of characters only"):
        Preparation(boundaries=True)


@pytest.mark.parametrize("options", [Preparation(), Preparation(tokenised=True), Preparation(units="characters")])
def test_text_is_the_same_and_on_disk_where_memory_is_small(tmp_path, options):
    lines = [f"Ann's e\u0301t\u00e9 n\u00b0 {n}, NASA {n * n % 97}." for n in range(300)]
    for name in ("a.fr", "a.en"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = tmp_path / "a.fr", tmp_path / "a.en"
    expected = prepare_bitext(*files, options)
    with Workspace(1000, tmp_path) as workspace:
        found = prepare_bitext(*files, options, runtime=Runtime(workspace=workspace))
        for ours, theirs in (
            (found.bitext.source, expected.bitext.source),
            (found.bitext.target, expected.bitext.target),
        ):
            assert isinstance(ours.sentences.values.base, np.memmap)
            assert ours.lines() == theirs.lines()
            assert ours.sentences.values.tobytes() == theirs.sentences.values.tobytes()
        assert found.settings == expected.settings
        if found.casing is not None and expected.casing is not None:
            assert found.casing.forms.tobytes() == expected.casing.forms.tobytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.fr", "a.en"}


def test_blocks_of_lines_are_seen_as_one_text(tmp_path, monkeypatch):
    lines = [f"Le mot {n % 50} , NASA {n * n % 97}" for n in range(300)]
    for name in ("a.fr", "a.en"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    files = tmp_path / "a.fr", tmp_path / "a.en"
    expected = prepare_bitext(*files, Preparation())
    monkeypatch.setattr(preparing, "CHUNK_LINES", 7)
    monkeypatch.setattr(corpus, "_BYTES_AT_ONCE", 500)
    found = prepare_bitext(*files, Preparation())
    assert found.bitext.target.lines() == expected.bitext.target.lines()
    assert found.bitext.target.vocab.blob.tobytes() == expected.bitext.target.vocab.blob.tobytes()
    assert found.casing.words.tobytes() == expected.casing.words.tobytes()
    assert found.casing.starts == expected.casing.starts
    assert prepare_bitext(*files, Preparation(), first=10).bitext.source.lines() == expected.bitext.source.lines()[:10]


JAPANESE = ["これは小さな本です。", "猫が二匹いました。", "私はUnixの本を読んだ。"]


def write_pair(folder, source, target, names=("a.src", "a.en")):
    paths = [folder / name for name in names]
    for path, lines in zip(paths, (source, target), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def test_text_without_spaces_is_segmented_and_that_is_said(tmp_path):
    texts = write_pair(tmp_path, JAPANESE, ["A small book.", "Two cats.", "I read the Unix book."])
    listener = Listener()
    options = Preparation(source_segmenter="characters")
    assert (
        prepare_bitext(*texts, options, runtime=Runtime(progress=listener)).bitext.source.lines()[1]
        == "猫 が 二 匹 い ま し た 。"
    )
    assert listener.notes == []
    found = prepare_bitext(*texts, Preparation(), runtime=Runtime(progress=listener))
    segmenter = found.settings.source_segmenter
    assert segmenter == ("mecab" if is_installed("mecab") else "characters")
    assert (found.settings.source_language, found.settings.target_segmenter) == ("ja", "none")
    (note,) = listener.notes
    assert f"{texts[0]}: there are no spaces between words, so the text is segmented by {segmenter}" in note
    assert "use the option source-segmenter" in note
    assert ("pip install 'dragoman[japanese]'" in note) == (segmenter == "characters")
    assert found.bitext.source.lines() == list(found.settings.preparation().source(JAPANESE))
    assert listener.warnings == []


@pytest.mark.slow
def test_segmented_text_is_left_alone_and_no_segmenter_is_a_warning(tmp_path):
    listener = Listener()
    words = ["これ は 小さな 本 です 。", "猫 が 二 匹 い まし た 。", "私 は 本 を 読んだ 。"]
    texts = write_pair(tmp_path, words, words, ("a.ja", "b.ja"))
    assert prepare_bitext(*texts, Preparation(), runtime=Runtime(progress=listener)).bitext.source.lines() == words
    assert (listener.notes, listener.warnings) == ([], [])
    raw = write_pair(tmp_path, JAPANESE, words, ("raw.ja", "b.ja"))
    prepare_bitext(*raw, Preparation(source_segmenter="none"), runtime=Runtime(progress=listener))
    prepare_bitext(*raw, Preparation(tokenised=True), runtime=Runtime(progress=listener))
    assert ["has no spaces between words" in warning for warning in listener.warnings] == [True, True]
    with pytest.raises(UsageError, match="expected raw text for a segmenter"):
        Preparation(tokenised=True, source_segmenter="characters")


def test_more_target_text_is_segmented_like_the_parallel_text(tmp_path):
    texts = write_pair(tmp_path, ["A book.", "Two cats.", "Unix."], JAPANESE, ("a.en", "a.ja"))
    settings = prepare_bitext(*texts, Preparation(target_segmenter="characters")).settings
    (tmp_path / "more").write_text("犬。\n", encoding="utf-8")
    assert read_target(tmp_path / "more", settings).lines() == ["犬 。"]


def test_punctuation_is_uniform_unless_told_otherwise(tmp_path):
    texts = write_pair(tmp_path, ["l\u2019homme", "l'homme"], ["It\u2019s \u201cso\u201d", "x"], ("a.fr", "a.en"))
    found = prepare_bitext(*texts, Preparation())
    assert found.bitext.source.lines() == ["l' homme"] * 2
    assert found.bitext.target.lines()[0] == 'it \'s " so "'
    assert found.settings.normalise_punctuation
    left = prepare_bitext(*texts, Preparation(normalise_punctuation=False))
    assert len(set(left.bitext.source.lines())) == 2
    assert not left.settings.normalise_punctuation


def test_a_text_that_comes_through_a_pipe_is_read_once(tmp_path):
    lines = ["A dog sleeps."] * 3000
    _, target = write_pair(tmp_path, lines, lines)
    os.mkfifo(tmp_path / "pipe.en")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe.en").write_text("".join(f"{line}\n" for line in lines)))
    writer.start()
    try:
        assert len(prepare_bitext(tmp_path / "pipe.en", target, Preparation()).bitext.source) == 3000
    finally:
        writer.join()


def _german(folder):
    """Write a text in which many words are compounds of others, each of which is rarer than one in a thousand."""
    words = ["auto", "bahn", "haus", "platz", "markt", "spiel"]
    lines = [f"{a}{b}" for a in words for b in words if a != b] + words * 6 + ["der " * 50] * 150
    (folder / "train.de").write_text("".join(f"{line}\n" for line in lines))
    (folder / "train.en").write_text("".join("x\n" for _ in lines))
    return folder / "train.de", folder / "train.en"


@pytest.mark.parametrize("memory", [None, 1 << 16])
def test_compounds_are_split_where_there_are_many(tmp_path, memory):
    files, listener = _german(tmp_path), Listener()
    with Workspace(memory, tmp_path) as workspace:
        text = prepare_bitext(*files, Preparation(), runtime=Runtime(progress=listener, workspace=workspace))
        assert text.bitext.source.lines()[:2] == ["auto bahn", "auto haus"]
        assert text.bitext.source.vocab.id("autobahn") == corpus.UNK
    assert [note for note in listener.notes if "compounds" in note]
    assert list(text.preparation().source(["Spielplatz"])) == ["spiel platz"]
    whole = prepare_bitext(*files, Preparation(compounds="whole"))
    assert (whole.bitext.source.lines()[0], whole.compounds) == ("autobahn", None)
    assert prepare_bitext(*files, Preparation().with_whole_words()).compounds is None
    assert Preparation(compounds="split").with_whole_words().compounds == "split"


def test_several_texts_of_a_model_share_their_compounds(tmp_path):
    files = _german(tmp_path)
    (tmp_path / "more.de").write_text("Marktspiel\n")
    (tmp_path / "more.en").write_text("y\n")
    first, second = preparing.prepare_bitexts([files, (tmp_path / "more.de", tmp_path / "more.en")], Preparation())
    assert second.bitext.source.lines() == ["markt spiel"]
    assert first.compounds is second.compounds
    assert prepare_bitext(tmp_path / "more.de", tmp_path / "more.en", Preparation()).compounds is None
