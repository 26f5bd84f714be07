"""Tagged text: factored, or in two files."""

import pytest

from dragoman.core.errors import DataError
from dragoman.formats.tagged_text import read_factored, read_tags


def shape(text):
    return [
        list(zip(words.split(" "), tags.split(" "), strict=True)) if words else []
        for words, tags in zip(text.words.lines(), text.tags.lines(), strict=True)
    ]


def test_the_last_bar_separates(tmp_path):
    file = tmp_path / "t"
    file.write_text("The|DT a|b|NN  |||:\n\n<s>|<unk> The|X\n", encoding="utf-8")
    text = read_factored(file)
    assert shape(text) == [[("The", "DT"), ("a|b", "NN"), ("||", ":")], [], [("<s>", "<unk>"), ("The", "X")]]
    assert shape(text.lowercased()) == [
        [("the", "DT"), ("a|b", "NN"), ("||", ":")],
        [],
        [("<s>", "<unk>"), ("the", "X")],
    ]


def test_lower_case_makes_one_word_of_two(tmp_path):
    file = tmp_path / "t"
    file.write_text("The|DT the|DT ÉTÉ|N été|N\n", encoding="utf-8")
    ids = read_factored(file).lowercased().words.sentences[0].tolist()
    assert ids[0] == ids[1] != ids[2] == ids[3]


@pytest.mark.parametrize("token", ["house", "|NN", "house|", "|", "<s>", "<unk>"])
def test_a_token_without_word_or_tag_is_named(tmp_path, token):
    file = tmp_path / "t"
    file.write_text(f"the|DT\n\na|DT {token} b|B\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_factored(file)
    assert str(error.value) == f"{file}:3: found '{token}'; expected a word, a bar and a tag: house|NN"


def test_two_files(tmp_path):
    (tmp_path / "w").write_text("the house\n\na|b\n", encoding="utf-8")
    (tmp_path / "t").write_text("DT NN\n\nX\n", encoding="utf-8")
    assert shape(read_tags(tmp_path / "w", tmp_path / "t")) == [[("the", "DT"), ("house", "NN")], [], [("a|b", "X")]]


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ("DT NN\n\n", ": has 2 lines; expected 3, as {folder}/w has"),
        ("DT NN\n\nX\nY\n", ": has 4 lines; expected 3, as {folder}/w has"),
        ("DT NN\n\nX Y\n", ":3: has 2 tags; expected 1, one for each word"),
        ("DT\nX\nX\n", ":1: has 1 tags; expected 2, one for each word"),
    ],
)
def test_files_that_do_not_go_together(tmp_path, tags, message):
    (tmp_path / "w").write_text("the house\n\na\n", encoding="utf-8")
    (tmp_path / "t").write_text(tags, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_tags(tmp_path / "w", tmp_path / "t")
    assert str(error.value) == f"{tmp_path}/t" + message.format(folder=tmp_path)
