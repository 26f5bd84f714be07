"""Whether a text has spaces between words."""

import pytest

from dragoman.text.words import is_unspaced, unspaced_language


@pytest.mark.parametrize(
    ("lines", "language"),
    [
        (["誰が一番に着くか私には分かりません。", "多くの動物が人間によって滅ぼされた。"], "ja"),
        (["誰 が 一番 に 着 く か 私 に は 分か り ま せ ん 。"], None),
        (["IBMのPCを3台買った。", "A few words of English in it are no matter", "いろいろなことを考えていた。"], None),
        (["这是一本关于机器翻译的书。"], "zh"),
        (["这 是 一 本 书 。"], None),
        (["ฉันรักภาษาไทย มากที่สุด"], "th"),
        (["ຂ້ອຍຮັກພາສາລາວຫຼາຍ"], "lo"),
        (["ខ្ញុំស្រលាញ់ភាសាខ្មែរ"], "km"),
        (["ကျွန်တော်မြန်မာစကားကိုချစ်တယ်"], "my"),
        (["བོད་ཡིག་ནི་སྐད་ཡིག་ཅིག་རེད།"], "bo"),
        (["나는 한국어를 좋아합니다."], None),
        (["Donaudampfschifffahrtsgesellschaft"], None),
        (["", "   "], None),
        ([], None),
    ],
)
def test_text_without_spaces_is_recognised(lines, language):
    assert unspaced_language(lines) == language


def test_characters():
    assert [is_unspaced(character) for character in "猫ひカー。ไa1. 한"] == [True] * 6 + [False] * 5
