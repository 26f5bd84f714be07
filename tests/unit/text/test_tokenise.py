import random

import pytest
from sacremoses import MosesTokenizer

from dragoman.core.runtime import Runtime
from dragoman.text import tokenise
from dragoman.text.tokenise import Tokeniser, detokenise_lines, tokenise_blocks, tokenise_lines

PIECES = """
    a b Mr No etc é A 1 23 p s t U.S z.B l'été don't . . .. ... , , ' ' ` - " ( ) ? ! : | ||| $ % & < … ß
    \u0301 汉 DOT MULTI DOTMULTI \x01 क ् \u0661 ² ½""".split()  # noqa: SIM905
PIECES += [*" " * 8, "  ", "\u00a0", "\u2009", "\x1f"]


@pytest.mark.parametrize("language", ["en", "fr", "de", "xx"])
@pytest.mark.parametrize("split_dashes", [False, True])
def test_same_tokens_as_sacremoses(language, split_dashes):
    rng = random.Random(f"{language}{split_dashes}")
    lines = ["".join(rng.choices(PIECES, k=rng.randrange(15))) for _ in range(600)]
    moses = MosesTokenizer(language)
    expected = [" ".join(moses.tokenize(line, escape=False, aggressive_dash_splits=split_dashes)) for line in lines]
    # Twice: what is remembered must not differ from what is computed.
    assert tokenise_lines(lines * 2, language, Tokeniser(split_dashes=split_dashes)) == expected * 2


def test_languages_differ():
    assert tokenise_lines(["l'été"], "fr") == ["l' été"]
    assert tokenise_lines(["l'été"], "en") == ["l 'été"]
    assert tokenise_lines(["Das ist z.B. gut bzw. Schlecht."], "de") == ["Das ist z.B. gut bzw. Schlecht ."]


def test_options():
    assert tokenise_lines(["“Ça” — VA ?"], "en", Tokeniser(lowercase=True)) == ["“ ça ” — va ?"]
    assert tokenise_lines(["“Ça” — va ?"], "en", Tokeniser(normalise_punctuation=True)) == ['" Ça " \u2013 va ?']
    assert tokenise_lines(["A & <B>"], "en", Tokeniser(escape=True, lowercase=True)) == ["a &amp; &lt; b &gt;"]


def test_the_field_separator_never_comes_out():
    assert tokenise_lines(["a ||| b|||c <s>"], "en") == ["a | | | b | | | c < s >"]


@pytest.mark.slow
def test_result_does_not_depend_on_processes_or_blocks(monkeypatch):
    lines = [f"Word {n}, and so on... l'{n}." for n in range(97)]
    alone = tokenise_lines(lines, "fr", Tokeniser(lowercase=True))
    monkeypatch.setattr(tokenise, "_LINES_TO_PAY_FOR_A_PROCESS", 40)
    blocks = [lines[first : first + 20] for first in range(0, len(lines), 20)]
    for threads in (1, 2):
        runtime = Runtime(threads=threads)
        found = [*tokenise_blocks(blocks, "fr", Tokeniser(lowercase=True), runtime=runtime)]
        assert [line for block in found for line in block] == alone
    assert len(alone) == len(lines)


def test_nothing_in_nothing_out():
    assert tokenise_lines([], "en") == []
    assert tokenise_lines(["", " \t "], "en") == ["", ""]


def test_detokenising_inverts_tokenising_of_ordinary_text():
    for language, text in [("en", 'Well, Mr. Smith (60) isn\'t "here"; is he?'), ("fr", "L'été n'est pas là, dit-il.")]:
        assert detokenise_lines(tokenise_lines([text], language), language) == [text]
