"""Bars in words, in the formats that separate columns by them."""

import pytest

from dragoman.formats.nbest.joshua import JoshuaNBest, TravatarNBest
from dragoman.formats.nbest.moses import MosesNBest

LINES = {
    MosesNBest: "0 ||| {}  ||| LM0= -1 ||| -2\n",
    JoshuaNBest: "0 ||| {} ||| lm=-1 ||| -2\n",
    TravatarNBest: "0 ||| {} ||| -2 ||| lm=-1\n",
}


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("a &#124; b&#124;", "a | b|"),
        ("&#124;&#124;&#124; x", "||| x"),
        ("&#124;0-0&#124;", "|0-0|"),
        ("&amp;#124; &amp;amp;#124;", "&#124; &amp;#124;"),
        ("&amp; &apos; &lt;", "&amp; &apos; &lt;"),
        ("house|NN a|b|c", "house|NN a|b|c"),
    ],
)
def test_bars_are_read_and_written_as_moses_escapes_them(kind, escaped, text, tmp_path):
    path = tmp_path / "in"
    path.write_text(LINES[kind].format(escaped), encoding="utf-8")
    nbest = kind().read(path)
    assert nbest.texts() == [text]
    kind().write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_text(encoding="utf-8") == LINES[kind].format(escaped)


def test_a_list_with_bare_bars_escapes_only_what_would_break_it(tmp_path):
    (tmp_path / "in").write_text("0 ||| a|b &#124;&#124;&#124; |c| ||| lm=-1 ||| -2\n", encoding="utf-8")
    nbest = JoshuaNBest().read(tmp_path / "in")
    assert nbest.texts() == ["a|b ||| |c|"]
    JoshuaNBest().write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_text(encoding="utf-8") == (tmp_path / "in").read_text(encoding="utf-8")


def test_words_of_other_lists_keep_their_ids(tmp_path):
    (tmp_path / "in").write_text("0 ||| a &#124; ||| lm=-1 ||| -2\n", encoding="utf-8")
    first = JoshuaNBest().read(tmp_path / "in")
    second = JoshuaNBest().read(tmp_path / "in", vocab=first.vocab)
    assert second.hypotheses.values.tolist() == first.hypotheses.values.tolist()
    assert second.texts() == ["a |"]
