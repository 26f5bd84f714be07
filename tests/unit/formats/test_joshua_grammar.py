import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.formats.joshua_grammar import read_joshua_grammar, write_joshua_grammar
from oracles.rules import rules_as_dict

GRAMMAR = """\
[X] ||| [X,1] de [X,2] ||| [X,2] 's [X,1] ||| 0.5 0 ||| 1-1
[X] ||| la ||| the ||| 99 -0.25 ||| 0-0
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "grammar").write_text(text)
        return tmp_path / "grammar"

    return write


def test_numbers_without_a_name_are_costs(write):
    rules = read_joshua_grammar(write(GRAMMAR))
    assert rules.score_names == ("s0", "s1")
    assert np.log(rules.scores).round(9).tolist() == [[-0.5, 0], [-99, 0.25]]
    assert read_joshua_grammar(write(GRAMMAR), score_names=("fwd", "bwd")).score_names == ("fwd", "bwd")


def test_numbers_with_a_name_are_not(write):
    rules = read_joshua_grammar(write("[X] ||| a ||| b ||| 1 Lex=-2\n"))
    assert rules.score_names == ("s0", "Lex")
    assert np.log(rules.scores).round(9).tolist() == [[-1, -2]]


def test_there_and_back(write, tmp_path):
    rules = read_joshua_grammar(write(GRAMMAR), score_names=("fwd", "bwd"))
    write_joshua_grammar(tmp_path / "out", rules)
    assert (tmp_path / "out").read_text() == GRAMMAR
    write_joshua_grammar(tmp_path / "named", rules, named=True)
    assert "||| fwd=-99 bwd=0.25 ||| 0-0" in (tmp_path / "named").read_text()
    again = read_joshua_grammar(tmp_path / "named")
    assert again.score_names == ("fwd", "bwd")
    assert rules_as_dict(again) == rules_as_dict(rules)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[X] ||| a ||| b ||| 1", "grammar:3: found the scores '1'; expected as many as on line 1"),
        ("[GOAL] ||| <s> ||| <s> ||| 0 0", r"grammar:3: found the left side '\[GOAL\]'; expected \[X\]"),
        (
            "[X] ||| a ||| b ||| 101 1",
            "grammar:3: found '101' among the features; expected a negative logarithm from -700 to 100",
        ),
    ],
)
def test_bad_lines(write, line, message):
    with pytest.raises(DataError, match=message):
        read_joshua_grammar(write(GRAMMAR + line + "\n"))
