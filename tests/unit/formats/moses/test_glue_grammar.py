import pytest

from dragoman.core.errors import DataError
from dragoman.formats.moses.rule_table import is_glue_grammar, read_glue_grammar, write_glue_grammar

GLUE = """\
<s> [X] ||| <s> [S] ||| 1 ||| 0-0 ||| 0 ||| |||
[X][S] </s> [X] ||| [X][S] </s> [S] ||| 1 ||| 0-0 1-1 ||| 0 ||| |||
[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| 2.718 ||| 0-0 1-1 ||| 0 ||| |||
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "glue"
        path.write_text(text)
        return path

    return write


def test_the_usual_one(write, tmp_path):
    assert is_glue_grammar(write(GLUE))
    assert read_glue_grammar(write(GLUE)) == 2.718
    assert read_glue_grammar(write("\n".join(GLUE.splitlines()[::-1]))) == 2.718
    assert read_glue_grammar(write(GLUE.replace("2.718", "0.5"))) == 0.5
    write_glue_grammar(tmp_path / "out")
    assert (tmp_path / "out").read_text() == GLUE


@pytest.mark.parametrize("text", ["", "a [X] ||| b [X] ||| 1\n", "[S]\n"])
def test_other_tables(write, text):
    assert not is_glue_grammar(write(text))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[X][S] </s> [S]",
            "[X][S] </s> [Q]",
            r"glue:2: found '\[X\]\[S\] </s> \[X\] .*; expected the three glue rules",
        ),
        (GLUE.splitlines()[2], GLUE.splitlines()[0], r"glue:3: found '<s> "),
        (GLUE.splitlines()[1] + "\n", "", r"glue: lacks the rule \[X\]\[S\] </s> \[X\] "),
        ("||| 0-0 1-1 ||| 0 ||| |||\n", "||| 0-1 1-0 ||| 0 ||| |||\n", r"glue:2: found "),
        ("||| 1 ||| 0-0 |||", "||| 2 ||| 0-0 |||", r"glue:1: found the score 2; expected 1 for <s> \[X\]"),
        ("2.718", "-1", r"glue:3: found the scores '-1'; expected one positive number"),
        ("2.718", "2.718 1", r"glue:3: found the scores '2.718 1'; expected one positive number"),
        ("2.718", "nan", r"glue:3: found the scores 'nan'"),
        ("||| 2.718 ||| 0-0 1-1 ||| 0 ||| |||", "", r"glue:3: found "),
    ],
)
def test_others_are_refused(write, old, new, message):
    with pytest.raises(DataError, match=message):
        read_glue_grammar(write(GLUE.replace(old, new)))
