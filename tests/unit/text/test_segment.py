"""Words of text without spaces between them."""

import importlib.util

import pytest

from dragoman.core.errors import UsageError
from dragoman.text.preparation import TextPreparation
from dragoman.text.segment import SEGMENTERS, is_installed, segment, tool_for
from dragoman.text.tokenise import Tokeniser, tokenise_lines


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("猫が3,000匹いる。", "猫 が 3,000 匹 い る 。"),
        ("IBMのPC-98、\uff34シャツ", "IBM の PC - 98 、 \uff34 シ ャ ツ"),
        ("http://example.org/xを見て", "http://example.org/x を 見 て"),
        ("ฉันรัก", "ฉั น รั ก"),
        (" \u3000", ""),
    ],
)
def test_by_characters(raw, words):
    assert tokenise_lines([raw], "ja", Tokeniser(segmenter="characters")) == [words]


def test_each_language_has_its_tool():
    assert [tool_for(language) for language in ("ja", "zh", "zh-tw", "zh_CN", "th", "km", "en")] == [
        "mecab",
        "jieba",
        "jieba",
        "jieba",
        "pythainlp",
        None,
        None,
    ]


@pytest.mark.parametrize("name", [name for name, tool in SEGMENTERS.items() if tool.package])
def test_tools_cut_words_or_say_what_to_install(name):
    raw = {"mecab": "これは小さな本です。", "jieba": "这是一本小书。", "pythainlp": "ฉันรักภาษาไทย"}[name]
    assert is_installed(name) == (importlib.util.find_spec(SEGMENTERS[name].package) is not None)
    if is_installed(name):
        words = segment(raw, name).split()
        assert 1 < len(words) < len(raw)
        assert "".join(words) == raw
    else:
        with pytest.raises(
            UsageError, match=rf"segmented by {name}, .*pip install 'dragoman\[{SEGMENTERS[name].extra}\]'"
        ):
            segment(raw, name)


def test_translations_are_joined_without_spaces():
    text = TextPreparation("en", "ja", tokenise=True, target_segmenter="characters", protect=True)
    raw = "これはUnixの本です。"
    assert list(text.target([raw])) == ["こ れ は Unix の 本 で す 。"]
    assert text.restore(list(text.target([raw]))) == [raw]
