import gzip

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.files import read_chunks
from dragoman.core.progress import DragomanWarning
from dragoman.formats import grammar_lines as numbered_grammar
from dragoman.formats.cdec import (
    CdecSegment,
    read_cdec_grammar,
    read_cdec_weights,
    read_segment_grammars,
    read_segments,
    write_cdec_grammar,
    write_cdec_weights,
)
from dragoman.model.grammar import Grammar
from oracles.rules import rules_as_dict, spelled

GRAMMAR = """\
[X] ||| [X,1] de [X,2] ||| [X,2] 's [X,1] ||| EgivenF=0.5 IsSingleton=1 ||| 1-1
[X] ||| la ||| the ||| EgivenF=99 Count=-0.25 ||| 0-0
[X] ||| la [X,1] ||| the [X,1] ||| EgivenF=0 ||| 0-0
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="grammar"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def logs_of(rules):
    return np.log(rules.scores).round(9).tolist()


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_reading(write, compress):
    rules = read_cdec_grammar(write(compress(GRAMMAR.encode())))
    assert rules.score_names == ("EgivenF", "IsSingleton", "Count")
    assert logs_of(rules) == [[0.5, 1, 0], [99, 0, -0.25], [0, 0, 0]]
    assert [spelled(rules.source_vocab, side) for side in rules.sources] == [(-1, "de", -2), ("la",), ("la", -1)]
    assert [spelled(rules.target_vocab, side) for side in rules.targets] == [(-2, "'s", -1), ("the",), ("the", -1)]
    assert [row.tolist() for row in rules.alignments] == [[257], [0], [0]]
    grammar = Grammar.from_pairs(rules)
    grammar.check(rules.source_vocab, rules.target_vocab)
    assert grammar.log_scores.dtype == np.float32
    assert sorted(grammar.log_scores[:, 0].tolist()) == [0, 0.5, 99]


def test_other_ways_to_write_the_same(write):
    text = GRAMMAR.replace("[X,2] 's [X,1]", "[2] 's [1]").replace("||| [X,1] de [X,2]", "||| [X] de [X]")
    text = text.replace("EgivenF=0.5 ", "EgivenF=0.5;").replace("0-0\n", "0-0 \n").replace("||| 1-1", "||| 1-1 0-2 2-0")
    assert rules_as_dict(read_cdec_grammar(write(text))) == rules_as_dict(read_cdec_grammar(write(GRAMMAR)))


def test_small_chunks_are_the_same(write, monkeypatch):
    whole = rules_as_dict(read_cdec_grammar(write(GRAMMAR)))
    monkeypatch.setattr(numbered_grammar, "read_chunks", lambda path: read_chunks(path, 60))
    assert rules_as_dict(read_cdec_grammar(write(GRAMMAR))) == whole


def test_features_without_names(write):
    rules = read_cdec_grammar(write("[X] ||| a ||| b ||| 1 2 f=3\n[X] ||| c ||| d ||| 4 5\n"))
    assert rules.score_names == ("PhraseModel_0", "PhraseModel_1", "f")
    assert logs_of(rules) == [[1, 2, 3], [4, 5, 0]]
    assert rules.alignments is None
    named = read_cdec_grammar(write("[X] ||| a ||| b ||| 1 2 f=3\n"), score_names=("x", "y", "z"))
    assert named.score_names == ("x", "y", "z")


def test_of_repeated_rules_the_first_is_kept(write):
    text = "[X] ||| a ||| b ||| f=1\n[X] ||| c ||| b ||| f=2\n[X] ||| a ||| b ||| f=3\n"
    with pytest.warns(DragomanWarning, match="1 rules occur more than once; the first of each is kept"):
        assert logs_of(read_cdec_grammar(write(text))) == [[1], [2]]


MALFORMED = [
    ("", "found '', which has fewer than four fields; expected [X] ||| source ||| target ||| features"),
    ("[X] ||| a ||| b", "found '[X] ||| a ||| b', which has fewer than four fields"),
    ("[S] ||| a ||| b ||| 1", "found the left side '[S]'; expected [X]; glue is built in"),
    ("[X] ||| [NP,1] a ||| [NP,1] ||| 1", "found the nonterminal '[NP,1]'; expected [X,1] or [X,2]"),
    ("[X] ||| [S,1] [X,2] ||| [1] [2] ||| 1", "found the nonterminal '[S,1]'; expected [X,1] or [X,2]"),
    ("[X] ||| [1] a ||| [1] ||| 1", "found the nonterminal '[1]'; expected [X,1] or [X,2]"),
    ("[X] ||| [X,1] a ||| [Y,1] ||| 1", "found the nonterminal '[Y,1]'; expected [X,1] or [X,2]"),
    ("[X] ||| [X,0] a ||| [X,0] ||| 1", "found the nonterminal '[X,0]'"),
    ("[X] ||| [X,2] a ||| [X,2] ||| 1", "found the nonterminal '[X,2]' on the source side; expected the index 1"),
    (
        "[X] ||| [X,1] [X,1] ||| [X,1] ||| 1",
        "found the nonterminal '[X,1]' on the source side; expected the index 1",
    ),
    ("[X] ||| [X,1] a ||| [1] [1] ||| 1", "found the nonterminal '[1]' on the target side; expected those of the"),
    ("[X] ||| [X,1] a ||| [X,2] ||| 1", "found the nonterminal '[X,2]' on the target side; expected those of the"),
    ("[X] ||| [X,1] a ||| b ||| 1", "the two sides have different numbers of nonterminals in '[X] ||| [X,1] a |||"),
    ("[X] ||| [X,1] a [X,2] [X,3] ||| b ||| 1", "which has more than two nonterminals; expected at most two"),
    ("[X] ||| [X,1] ||| a [X,1] ||| 1", "the source side is a nonterminal alone in '[X] ||| [X,1] ||| a"),
    ("[X] ||| ||| a ||| 1", "the source phrase is empty in '[X] ||| ||| a ||| 1'"),
    ("[X] ||| a ||| ||| 1", "the target phrase is empty in '[X] ||| a ||| ||| 1'"),
    ("[X] ||| a ||| b ||| ", "found the scores ''; expected as many as on line 1"),
    ("[X] ||| a ||| b ||| 1 2", "found the scores '1 2'; expected as many as on line 1"),
    ("[X] ||| a ||| b ||| x", "found 'x' among the features; expected NAME=NUMBER or NUMBER"),
    ("[X] ||| a ||| b ||| 1 f=", "found 'f=' among the features; expected NAME=NUMBER or NUMBER"),
    ("[X] ||| a ||| b ||| 1 =2", "found '=2' among the features; expected NAME=NUMBER or NUMBER"),
    ("[X] ||| a ||| b ||| 1 f=nan", "found 'f=nan' among the features; expected a number from -100 to 700"),
    ("[X] ||| a ||| b ||| 1 f=inf", "found 'f=inf' among the features; expected a number from -100 to 700"),
    ("[X] ||| a ||| b ||| -100.5", "found '-100.5' among the features; expected a number from -100 to 700"),
    ("[X] ||| a ||| b ||| 1 f=1 g=2 f=1", "found 'f=1' among the features again; expected each once"),
    ("[X] ||| a ||| b ||| 1 ||| 0-1", "the alignment point '0-1' lies outside its phrases"),
    ("[X] ||| [X,1] a ||| b [X,1] ||| 1 ||| 0-0", "the point '0-0' links what does not belong together; expected"),
    ("[X] ||| [X,1] [X,2] ||| [X,1] [X,2] ||| 1 ||| 0-1", "the point '0-1' links what does not belong together"),
    (b"[X] ||| \xe9 ||| b ||| 1", "byte 0xe9 is not UTF-8; expected UTF-8 text"),
]


def _refusal(write, line, _):
    """Return a path with a malformed line after three others, and what is said about it."""
    line = line if isinstance(line, bytes) else line.encode()
    fine = b"[X] ||| x ||| y ||| 1"
    path = write(b"\n".join([fine] * 3 + [line, fine, b""]))
    with pytest.raises(DataError) as error:
        read_cdec_grammar(path)
    return path, str(error.value)


@pytest.mark.parametrize(("line", "message"), MALFORMED)
def test_malformed_lines_are_named(write, line, message):
    path, said = _refusal(write, line, message)
    assert said.startswith(f"{path}:4: ")
    assert message in said


def test_malformed_lines_are_named_wherever_a_chunk_ends(write, monkeypatch):
    said = [_refusal(write, *case) for case in MALFORMED]
    monkeypatch.setattr(numbered_grammar, "read_chunks", lambda path: read_chunks(path, 20))
    assert [_refusal(write, *case) for case in MALFORMED] == said


def test_files_that_are_cut_off(write):
    with pytest.raises(DataError, match=r"grammar:3: the last line has 4 fields: the file may be cut off; expected 5"):
        read_cdec_grammar(write(GRAMMAR[:-8]))
    with pytest.raises(DataError, match=r"grammar:3: found 'Egiven' among the features"):
        read_cdec_grammar(write(GRAMMAR[:-12]))
    # A line that has ended is as long as it was meant to be.
    assert len(read_cdec_grammar(write(GRAMMAR[:-8] + "\n"))) == 3
    rng = np.random.default_rng(1)
    text = "".join(f"[X] ||| a{i} ||| x ||| f={x:g}\n" for i, x in enumerate(rng.random(2000)))
    with pytest.raises(DataError, match=r"grammar:\d+: .*(end|cut)"):
        read_cdec_grammar(write(gzip.compress(text.encode())[:-2000]))


def test_too_many_or_no_features(write):
    names = " ".join(f"f{i}=1" for i in range(257))
    with pytest.raises(DataError, match="has 257 different features; expected at most 256"):
        read_cdec_grammar(write(f"[X] ||| a ||| b ||| {names}\n"))
    with pytest.raises(DataError, match="has no features; expected at least one"):
        read_cdec_grammar(write("[X] ||| a ||| b |||\n"))
    with pytest.raises(DataError, match="has 3 features; expected 2"):
        read_cdec_grammar(write(GRAMMAR), score_names=("a", "b"))
    with pytest.raises(DataError, match="has features of the same name among PhraseModel_0, PhraseModel_0"):
        read_cdec_grammar(write("[X] ||| a ||| b ||| 1 PhraseModel_0=1\n"))
    with pytest.warns(DragomanWarning, match="the grammar is empty"):
        assert len(read_cdec_grammar(write(""))) == 0


def test_writing(write, tmp_path):
    rules = read_cdec_grammar(write(GRAMMAR))
    write_cdec_grammar(tmp_path / "out", rules)
    assert (tmp_path / "out").read_text() == (
        "[X] ||| [X,1] de [X,2] ||| [X,2] 's [X,1] ||| EgivenF=0.5 IsSingleton=1 Count=0 ||| 1-1\n"
        "[X] ||| la [X,1] ||| the [X,1] ||| EgivenF=0 IsSingleton=0 Count=0 ||| 0-0\n"
        "[X] ||| la ||| the ||| EgivenF=99 IsSingleton=0 Count=-0.25 ||| 0-0\n"
    )
    again = read_cdec_grammar(tmp_path / "out")
    assert rules_as_dict(again) == rules_as_dict(rules)
    write_cdec_grammar(tmp_path / "third", again)
    assert (tmp_path / "third").read_bytes() == (tmp_path / "out").read_bytes()


def test_numbers_come_back_as_they_were(write, tmp_path):
    rng = np.random.default_rng(5)
    values = np.concatenate(
        [rng.uniform(-100, 700, 300), rng.normal(0, 3, 300), 10 ** rng.uniform(-12, 0, 300), [-100]]
    )
    write("".join(f"[X] ||| a{i} ||| b ||| f={np.float32(value)!s}\n" for i, value in enumerate(values.round(11))))
    write_cdec_grammar(tmp_path / "out", read_cdec_grammar(tmp_path / "grammar"))
    before, after = (
        {line.split()[2]: np.float32(line.rpartition("=")[2]) for line in path.read_text().splitlines()}
        for path in (tmp_path / "grammar", tmp_path / "out")
    )
    assert before == after


def test_names_that_cannot_be_written(write, tmp_path):
    rules = read_cdec_grammar(write("[X] ||| a ||| b ||| 1\n"), score_names=["p q"])
    with pytest.raises(DataError, match="the scores to write are called p q; expected names without spaces"):
        write_cdec_grammar(tmp_path / "out", rules)


SEGMENTS = """\
<seg grammar="one" id="0"> la  maison </seg>
<seg id=1 grammar=folder/two> mot </seg> ||| the word

"""


def test_segments(write, tmp_path):
    write(GRAMMAR, "one")
    (tmp_path / "folder").mkdir()
    write("[X] ||| mot ||| word ||| EgivenF=2 New=1 ||| 0-0\n[X] ||| la ||| the ||| EgivenF=7\n", "folder/two")
    path = write(SEGMENTS.rstrip("\n") + '\n<seg grammar="one">la</seg>\n', "input")
    assert read_segments(path) == [
        CdecSegment("la maison", tmp_path / "one", "0"),
        CdecSegment("mot", tmp_path / "folder/two", "1", "the word"),
        CdecSegment("la", tmp_path / "one"),
    ]
    segments, rules = read_segment_grammars(path)
    assert [segment.text for segment in segments] == ["la maison", "mot", "la"]
    assert rules.score_names == ("EgivenF", "IsSingleton", "Count", "New")
    assert {source: rule[0][0] for (source, _), rule in rules_as_dict(rules).items()} == {
        (-1, "de", -2): "1.6487",
        ("la",): f"{np.exp(99):.5g}",
        ("la", -1): "1",
        ("mot",): "7.3891",
    }
    assert rules_as_dict(rules)[("mot",), ("word",)][1] == [(0, 0)]
    Grammar.from_pairs(rules).check(rules.source_vocab, rules.target_vocab)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("la maison", r"input:1: found 'la maison'; expected <seg grammar="),
        ("<seg grammar=one> la", r"input:1: found '<seg grammar=one> la'; expected <seg grammar="),
        ('<seg grammar="one id=0> la </seg>', r"input:1: found .*; expected <seg grammar="),
        ("<seg id=0> la </seg>", r"input:1: the segment names no grammar; expected <seg grammar="),
        ("<seg grammar=none> la </seg>", r"input:1: names the grammar 'none', which does not exist; expected a file"),
    ],
)
def test_bad_segments(write, line, message):
    write(GRAMMAR, "one")
    with pytest.raises(DataError, match=message):
        read_segments(write(line, "input"))


def test_input_without_segments(write):
    with pytest.raises(DataError, match="input: has no segments; expected lines"):
        read_segment_grammars(write("", "input"))


def test_weights(write, tmp_path):
    path = write("# tuned\nGlue 0.5\n\nWordPenalty -1e-3 # small\n", "weights")
    assert read_cdec_weights(path) == {"Glue": 0.5, "WordPenalty": -0.001}
    write_cdec_weights(tmp_path / "out", {"Glue": 1 / 3, "a=b": -1.0})
    assert read_cdec_weights(tmp_path / "out") == {"Glue": 1 / 3, "a=b": -1.0}


@pytest.mark.parametrize("line", ["Glue", "Glue x", "Glue nan", "Glue 1 2", "Glue inf"])
def test_bad_weights(write, line):
    with pytest.raises(DataError, match=rf"weights:2: found '{line}'; expected NAME and a finite number"):
        read_cdec_weights(write(f"a 1\n{line}\n", "weights"))
    with pytest.raises(DataError, match="weights:2: found 'a' again; expected each name once"):
        read_cdec_weights(write("a 1\na 1\n", "weights"))
