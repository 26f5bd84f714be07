"""What a text looks like, and the tokeniser that follows."""

import pytest

from dragoman.core.corpus import Corpus
from dragoman.metrics.references import tokeniser_installed
from dragoman.metrics.tokeniser_choice import metrics_for, tokeniser_of
from oracles.scored_text import OUTPUTS, REFERENCES

JAPANESE = ["猫がマットの上に座った。", "今日はとてもいい天気ですね。"] * 20


def chosen(references, outputs=(), language=None):
    found = [Corpus.from_lines(lines) for lines in outputs]
    return tokeniser_of([Corpus.from_lines(references)], found, language)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["A cat."], "13a"),
        (["a cat sat on the mat without a mark"] * 20, "13a"),
        (["Bonjour ! Comment allez-vous, mon ami ? Je vais bien ; merci, et toi ?"] * 9, "13a"),
        (["bonjour ! comment allez @-@ vous , mon ami ? je vais bien ; merci , et toi ?"] * 9, "none"),
        (["the ca@@ t sat on the ma@@ t to@@ day"] * 9, "none"),
        (["猫坐在垫子上。狗没有。"] * 40, "zh"),
        (["猫 坐 在 垫子 上 。 狗 没有 。"] * 40, "none"),
        (["แมวนั่งบนเสื่อ"] * 40, "char"),
    ],
)
def test_the_tokeniser_of_a_text(lines, name):
    assert chosen(lines).name == name


def test_raw_translations_of_prepared_references_are_tokenised():
    assert chosen(REFERENCES["prepared"], [OUTPUTS["prepared"]]).name == "none"
    assert chosen(REFERENCES["prepared"], [OUTPUTS["prepared"], OUTPUTS["raw"]]).name == "13a"


def test_where_a_tokeniser_is_not_installed_characters_count_and_it_is_said():
    found = chosen(JAPANESE)
    if tokeniser_installed("ja-mecab"):
        assert found.name == "ja-mecab"
    else:
        assert found.note() == (
            "tok:char because the text looks raw, and ja-mecab is not installed (pip install 'sacrebleu[ja]')"
        )
    assert chosen(["Ein Hund."], language="zh").name == "zh"


def test_what_says_how_to_tokenise_is_left_alone():
    raw = [Corpus.from_lines(REFERENCES["raw"])]
    found = metrics_for(["bleu", "bleu:tokenise=none", "ter", "bleu(tokenise=intl)-ter"], raw)
    assert list(found.notes) == ["bleu"]
    assert "tok:none" in found.metrics["bleu:tokenise=none"].signature()
    assert "tok:intl" in found.metrics["bleu(tokenise=intl)-ter"].signature()
    assert metrics_for(["bleu"], raw, tokenise="zh").notes == {}
