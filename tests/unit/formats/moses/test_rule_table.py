import gzip
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import read_chunks
from dragoman.core.phrases import PHRASE_SCORES
from dragoman.core.progress import DragomanWarning
from dragoman.formats.moses import table_lines
from dragoman.formats.moses.rule_table import read_rule_table, write_rule_table
from dragoman.model.grammar import Grammar

REAL = Path(__file__).resolve().parents[5] / "shared" / "data" / "hiero"

# Sorted by bytes. The second and third differ in their pairing only; the fourth has an unlinked word.
TABLE = """\
[X][X] de [X][X] [X] ||| [X][X] [X][X] [X] ||| 0.25 1 0.5 0.5 ||| 0-0 2-1 ||| 4 2 1 ||| |||
[X][X] la [X][X] [X] ||| [X][X] the [X][X] [X] ||| 0.5 0.25 1 0.125 ||| 0-0 1-1 2-2 ||| 4 3 0.0434783 ||| |||
[X][X] la [X][X] [X] ||| [X][X] the [X][X] [X] ||| 0.75 0.25 1 0.125 ||| 0-2 1-1 2-0 ||| 4 3 2 ||| |||
la maison [X] ||| house [X] ||| 1 8.44177e-05 0.754954 0 ||| 1-0 ||| 5 7 5 ||| |||
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="rules"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def side_of(vocab, side):
    return [int(symbol) if symbol < 0 else vocab[int(symbol)] for symbol in side]


def rows_of(rules):
    """Everything a table says, as Python values."""
    return [
        (
            side_of(rules.source_vocab, rules.sources[s]),
            side_of(rules.target_vocab, rules.targets[t]),
            [f"{float(score):g}" for score in rules.scores[i]],
            [divmod(int(point), 256) for point in rules.alignments[i]],
            None if rules.counts is None else [f"{float(count):g}" for count in rules.counts[i]],
        )
        for i, (s, t) in enumerate(zip(rules.source_ids.tolist(), rules.target_ids.tolist(), strict=True))
    ]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_reading(write, compress):
    rules = read_rule_table(write(compress(TABLE.encode())))
    assert rules.score_names == PHRASE_SCORES
    assert rows_of(rules) == [
        ([-1, "de", -2], [-1, -2], ["0.25", "1", "0.5", "0.5"], [], ["4", "2", "1"]),
        ([-1, "la", -2], [-1, "the", -2], ["0.5", "0.25", "1", "0.125"], [(1, 1)], ["4", "3", "0.0434783"]),
        ([-1, "la", -2], [-2, "the", -1], ["0.75", "0.25", "1", "0.125"], [(1, 1)], ["4", "3", "2"]),
        (["la", "maison"], ["house"], ["1", "8.44177e-05", "0.754954", "0"], [(1, 0)], ["5", "7", "5"]),
    ]
    Grammar.from_pairs(rules).check(rules.source_vocab, rules.target_vocab)


def test_brackets_stay_out_of_the_vocabularies(write):
    rules = read_rule_table(write(TABLE), source_vocab=Vocab.of(["maison"]))
    assert list(rules.source_vocab)[3:] == ["maison", "de", "la"]
    assert list(rules.target_vocab)[3:] == ["the", "house"]


def test_reading_in_small_chunks_is_the_same(write, monkeypatch):
    path = write(TABLE * 2)
    with pytest.warns(DragomanWarning, match="4 rules occur more than once; the first of each is kept"):
        whole = rows_of(read_rule_table(path))
    assert len(whole) == 4
    monkeypatch.setattr(table_lines, "read_chunks", lambda path: read_chunks(path, 100))
    with pytest.warns(DragomanWarning, match="more than once"):
        assert rows_of(read_rule_table(path)) == whole


def test_links_are_sorted_and_each_kept_once(write):
    rules = read_rule_table(write("a b [X][X] [X] ||| [X][X] x y [X] ||| 1 ||| 2-0 1-2 0-1 1-2\n"))
    assert rows_of(rules) == [(["a", "b", -1], [-1, "x", "y"], ["1"], [(0, 1), (1, 2)], None)]


def test_single_brackets_are_words(write):
    rules = read_rule_table(write("[ a ] [b c] d] [X] ||| [ ] [X] ||| 1 |||\n"))
    assert rules.source_vocab.text(rules.sources[0]) == "[ a ] [b c] d]"


def test_a_penalty_at_the_end_is_dropped(write):
    with pytest.raises(DataError, match=r"rules:2: found 2.718 among the scores; expected probabilities of at most 1"):
        read_rule_table(write("a [X] ||| x [X] ||| 0.5 0.5\nb [X] ||| x [X] ||| 1 2.718\n"))
    rules = read_rule_table(write("a [X] ||| x [X] ||| 0.5 2.718\nb [X] ||| x [X] ||| 1 2.718\n"))
    assert rules.scores.tolist() == [[0.5], [1]]


RULE = "x [X] ||| y [X] ||| 1 1 ||| ||| 1 1 1"


MALFORMED = [
    ("", "found '', which has fewer than three fields; expected source ||| target ||| scores"),
    ("a b ||| x [X] ||| 1 1", "found 'a b', which does not end in [X]; expected what the rule rewrites"),
    ("a [X] ||| x [S] ||| 1 1", "found 'x [S]', which does not end in [X]"),
    ("||| x [X] ||| 1 1", "found '', which does not end in [X]"),
    ("[X] ||| x [X] ||| 1 1", "the source phrase is empty in '[X] ||| x [X] ||| 1 1'"),
    ("a [X] ||| [X] ||| 1 1", "the target phrase is empty in 'a [X] ||| [X] ||| 1 1'"),
    ("a [NP][NP] [X] ||| x [NP][NP] [X] ||| 1 1 ||| 1-1", "found the nonterminal '[NP][NP]'; expected [X][X]"),
    ("a [X][S] [X] ||| x [X][S] [X] ||| 1 1 ||| 1-1", "found the nonterminal '[X][S]'; expected [X][X]"),
    ("a [X] [X] ||| x [X] [X] ||| 1 1", "found the nonterminal '[X]'; expected [X][X]"),
    ("a [] [X] ||| x [X] ||| 1 1", "found the nonterminal '[]'; expected [X][X]"),
    ("a [X][X] [X] ||| x [X] ||| 1 1", "the two sides have different numbers of nonterminals in 'a [X][X] [X] |||"),
    ("a [X] ||| [X][X] [X] ||| 1 1", "the two sides have different numbers of nonterminals"),
    (
        "[X][X] " * 3 + "a [X] ||| " + "[X][X] " * 3 + "[X] ||| 1 1",
        "which has more than two nonterminals; expected",
    ),
    ("[X][X] [X] ||| a [X][X] [X] ||| 1 1 ||| 0-1", "the source side is a nonterminal alone in '[X][X] [X] |||"),
    ("a [X] ||| x [X] ||| 1", "found the scores '1'; expected as many as on line 1"),
    ("a [X] ||| x [X] ||| 1 1 1", "found the scores '1 1 1'; expected as many as on line 1"),
    ("a [X] ||| x [X] ||| 1 1.5", "found 1.5 among the scores; expected probabilities of at most 1"),
    ("a [X] ||| x [X] ||| 1 -0.5", "found '-0.5' among the numbers; expected a finite number that is not negative"),
    ("a [X] ||| x [X] ||| 1 nan", "found 'nan' among the numbers; expected a finite number that is not negative"),
    ("a [X][X] [X] ||| x [X][X] [X] ||| 1 1 ||| 0-0", "the links '0-0' leave out a nonterminal; expected one link"),
    ("a [X][X] [X] ||| x [X][X] [X] ||| 1 1", "the links '' leave out a nonterminal"),
    ("a [X][X] [X] ||| x [X][X] [X] ||| 1 1 ||| 1-0 1-1", "the point '1-0' links a nonterminal with a word"),
    ("a [X][X] [X] ||| x [X][X] [X] ||| 1 1 ||| 0-1 1-1", "the point '0-1' links a nonterminal with a word"),
    ("a [X][X] [X] ||| x [X][X] [X] ||| 1 1 ||| 1-1 1-1", "the point '1-1' links a nonterminal that is linked"),
    (
        "[X][X] a [X][X] [X] ||| [X][X] [X][X] [X] ||| 1 1 ||| 0-0 2-0",
        "the point '2-0' links a nonterminal that is linked already; expected one link for each nonterminal",
    ),
    (
        "[X][X] a [X][X] [X] ||| [X][X] [X][X] [X] ||| 1 1 ||| 0-0 0-1",
        "the point '0-1' links a nonterminal that is linked already; expected one link for each nonterminal",
    ),
    ("a [X] ||| x [X] ||| 1 1 ||| 1-0", "the alignment point '1-0' lies outside its phrases"),
    ("a [X] ||| x [X] ||| 1 1 ||| 0", "found '0' in the alignment; expected points such as 0-1"),
    ("a " * 256 + "[X] ||| b [X] ||| 1 1", "has more than 255 words; expected at most 255"),
    (b"\xe9 [X] ||| x [X] ||| 1 1", "byte 0xe9 is not UTF-8; expected UTF-8 text"),
]


def _refusal(write, line, _):
    """Return a path with a malformed line after three others, and what is said about it."""
    line = line if isinstance(line, bytes) else line.encode()
    path = write(b"\n".join([RULE.encode()] * 3 + [line, RULE.encode(), b""]))
    with pytest.raises(DataError) as error:
        read_rule_table(path)
    return path, str(error.value)


@pytest.mark.parametrize(("line", "message"), MALFORMED)
def test_malformed_lines_are_named(write, line, message):
    path, said = _refusal(write, line, message)
    assert said.startswith(f"{path}:4: ")
    assert message in said


def test_malformed_lines_are_named_wherever_a_chunk_ends(write, monkeypatch):
    said = [_refusal(write, *case) for case in MALFORMED]
    monkeypatch.setattr(table_lines, "read_chunks", lambda path: read_chunks(path, 20))
    assert [_refusal(write, *case) for case in MALFORMED] == said


def test_a_file_that_is_cut_off_in_a_line(write):
    cut = TABLE.encode().index(b" 7 5")
    with pytest.raises(
        DataError, match=r"rules:4: the last line has 5 fields: the file may be cut off; expected 7, as on"
    ):
        read_rule_table(write(TABLE.encode()[:cut]))
    assert len(read_rule_table(write(TABLE.rstrip("\n")))) == 4


def test_a_compressed_file_that_is_cut_off(write):
    rng = np.random.default_rng(1)
    text = "".join(f"a{i} [X] ||| x [X] ||| {x:g} |||\n" for i, x in enumerate(rng.random(2000)))
    with pytest.raises(DataError, match=r"rules:\d+: .*(end|cut)"):
        read_rule_table(write(gzip.compress(text.encode())[:-2000]))


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_a_table_that_moses_wrote_is_written_byte_for_byte(write, tmp_path, name):
    rules = read_rule_table(write(TABLE))
    write_rule_table(tmp_path / name, rules)
    assert b"".join(chunk.data for chunk in read_chunks(tmp_path / name)) == TABLE.encode()


def test_lines_are_in_the_order_of_sort(write, tmp_path):
    words = ["a", "a b", "[X][X] a", "[X][X] a [X][X]", "a [X][X] b", "a}", "[", "[a", "é", "Z", "!"]
    lines = []
    for source in words:
        for target in words:
            held = [[i for i, word in enumerate(side.split()) if word == "[X][X]"] for side in (source, target)]
            if len(held[0]) == len(held[1]):
                for order in (1, -1):
                    links = " ".join(f"{s}-{t}" for s, t in zip(held[0], held[1][::order], strict=True))
                    score = 0.5 if order == 1 else 1e-5
                    lines.append(f"{source} [X] ||| {target} [X] ||| {score} ||| {links}")
    rng = np.random.default_rng(3)
    write("\n".join(rng.permutation(lines)))
    with pytest.warns(DragomanWarning):
        write_rule_table(tmp_path / "out", read_rule_table(tmp_path / "rules"))
    written = (tmp_path / "out").read_bytes()
    done = subprocess.run(
        ["sort"], input=written, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    assert written == done.stdout
    assert b"||| 1e-05 ||| 0-2 2-0" in written


def test_rules_without_links_or_counts(write, tmp_path):
    rules = read_rule_table(write(TABLE))
    write_rule_table(tmp_path / "out", replace(rules, alignments=None, counts=None))
    first = (tmp_path / "out").read_text().splitlines()[1]
    assert first == "[X][X] la [X][X] [X] ||| [X][X] the [X][X] [X] ||| 0.5 0.25 1 0.125 ||| 0-0 2-2 ||| ||| |||"


def test_what_cannot_be_read_back_is_not_written(write, tmp_path):
    rules = read_rule_table(write("a [X] ||| b [X] ||| 1\n"))
    with pytest.raises(DataError, match=r"out: the word '\[1\]' would be read as a nonterminal"):
        write_rule_table(tmp_path / "out", replace(rules, target_vocab=Vocab.of(["[1]"])))
    unused = replace(rules, target_vocab=Vocab.of(["b", "[1]"]))
    write_rule_table(tmp_path / "out", unused)
    assert (tmp_path / "out").read_text() == "a [X] ||| b [X] ||| 1 ||| ||| ||| |||\n"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="needs the real tables")
@pytest.mark.parametrize("pair", ["fr-en", "de-en"])
def test_a_real_table_comes_back_line_for_line(tmp_path, pair):
    (path,) = (REAL / pair).glob("rule-table.*.gz")
    write_rule_table(tmp_path / "out", read_rule_table(path))
    lines = gzip.decompress(path.read_bytes()).splitlines()
    # Moses does not sort rules that differ in their links only.
    assert (tmp_path / "out").read_bytes().splitlines() == sorted(lines)
