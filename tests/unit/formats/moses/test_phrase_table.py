import gzip
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError
from dragoman.core.files import read_chunks
from dragoman.core.phrases import PHRASE_SCORES
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.core.runtime import Runtime
from dragoman.formats.moses import table_lines
from dragoman.formats.moses.phrase_table import read_phrase_table, write_phrase_table

TABLE = """\
la maison ||| house ||| 0.5 0.25 1 0.125 ||| 1-0 ||| 4 3 2 ||| |||
la maison ||| the house ||| 1 8.44177e-05 0.754954 1 ||| 0-0 1-1 ||| 5 7 5 ||| |||
une ||| a ||| 0.1 0.2 0.3 0.4 ||| 0-0 ||| 1 1 1 ||| |||
"""


class Listening(Progress):
    def __init__(self):
        self.notes, self.warnings = [], []

    def note(self, text):
        self.notes.append(text)

    def warn(self, text):
        self.warnings.append(text)


@pytest.fixture
def write(tmp_path):
    def write(text, name="table"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def rows_of(pairs):
    """Everything a table says, as Python values."""
    return [
        (
            pairs.source_vocab.text(pairs.sources[s]),
            pairs.target_vocab.text(pairs.targets[t]),
            [float(score) for score in pairs.scores[i]],
            None if pairs.alignments is None else [divmod(int(point), 256) for point in pairs.alignments[i]],
            None if pairs.counts is None else pairs.counts[i].tolist(),
        )
        for i, (s, t) in enumerate(zip(pairs.source_ids.tolist(), pairs.target_ids.tolist(), strict=True))
    ]


def single(number):
    return float(np.float32(number))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_reading(write, compress):
    pairs = read_phrase_table(write(compress(TABLE.encode())))
    assert pairs.score_names == PHRASE_SCORES
    assert pairs.source_ids.tolist() == [0, 0, 1]
    assert rows_of(pairs) == [
        ("la maison", "house", [0.5, 0.25, 1, 0.125], [(1, 0)], [4, 3, 2]),
        ("la maison", "the house", [1, single(8.44177e-05), single(0.754954), 1], [(0, 0), (1, 1)], [5, 7, 5]),
        ("une", "a", [single(x) for x in (0.1, 0.2, 0.3, 0.4)], [(0, 0)], [1, 1, 1]),
    ]


def test_reading_in_small_chunks_is_the_same(write, monkeypatch):
    path = write(TABLE * 3 + "une ||| an ||| 1 1 1 1 ||| 0-0 ||| 1 1 1\n")
    with pytest.warns(DragomanWarning):
        whole = rows_of(read_phrase_table(path))
    monkeypatch.setattr(table_lines, "read_chunks", lambda path: read_chunks(path, 50))
    with pytest.warns(DragomanWarning, match="6 phrase pairs occur more than once"):
        assert rows_of(read_phrase_table(path)) == whole


def test_given_vocabularies_grow(write):
    source_vocab, target_vocab = Vocab.of(["une"]), Vocab.of(["house"])
    pairs = read_phrase_table(write(TABLE), source_vocab=source_vocab, target_vocab=target_vocab)
    assert list(pairs.source_vocab)[3:] == ["une", "la", "maison"]
    assert list(pairs.target_vocab)[3:] == ["house", "the", "a"]


@pytest.mark.parametrize(
    "line",
    ["a ||| b ||| 1 2", "a|||b|||1 2", "a ||| b ||| 1 2 ||| ", "a ||| b ||| 1 2 ||| ||| |||", "a\t||| b |||1\t2\r"],
)
def test_fields_may_be_missing_or_empty_and_separators_without_spaces(write, line):
    pairs = read_phrase_table(write(line))
    assert rows_of(pairs) == [("a", "b", [1, 2], None, None)]
    assert pairs.score_names == ("s0", "s1")


def test_other_spaces_and_control_characters_belong_to_words(write):
    pairs = read_phrase_table(write("a\u00a0b c\u2028d ||| x\x00y | || ||| 1"))
    assert rows_of(pairs)[0][:2] == ("a\u00a0b c\u2028d", "x\x00y | ||")
    assert len(pairs.sources[0]) == 2


def test_lines_of_one_source_are_brought_together(write):
    pairs = read_phrase_table(write("a ||| 1 ||| 1\nb ||| 2 ||| 2\na ||| 3 ||| 3\nc ||| 4 ||| 4\nb ||| 5 ||| 5\n"))
    assert [row[:2] for row in rows_of(pairs)] == [("a", "1"), ("a", "3"), ("b", "2"), ("b", "5"), ("c", "4")]
    assert pairs.scores[:, 0].tolist() == [1, 3, 2, 5, 4]


def test_of_repeated_pairs_the_first_is_kept(write):
    progress = Listening()
    pairs = read_phrase_table(
        write("a ||| x ||| 1\nb ||| x ||| 2\na ||| x ||| 3\na ||| y ||| 4\n"), runtime=Runtime(progress=progress)
    )
    assert [(row[0], row[1], row[2][0]) for row in rows_of(pairs)] == [("a", "x", 1), ("a", "y", 4), ("b", "x", 2)]
    assert [warning.split(": ")[1] for warning in progress.warnings] == [
        "1 phrase pairs occur more than once; the first of each is kept"
    ]


def test_the_phrase_penalty_of_old_tables_is_dropped(write):
    progress = Listening()
    path = write("a ||| x ||| 1 2 3 4 2.718\nb ||| x ||| 1 2 3 4 2.718\n")
    pairs = read_phrase_table(path, runtime=Runtime(progress=progress))
    assert pairs.scores.tolist() == [[1, 2, 3, 4]] * 2
    assert pairs.score_names == PHRASE_SCORES
    assert progress.notes == [f"{path}: dropped the fifth score, a phrase penalty of 2.718 throughout"]
    assert read_phrase_table(path, score_names=list("abcde")).scores.shape == (2, 5)


def test_a_fifth_score_that_varies_is_kept(write):
    pairs = read_phrase_table(write("a ||| x ||| 1 2 3 4 2.718\nb ||| x ||| 1 2 3 4 2\n"))
    assert pairs.score_names == ("s0", "s1", "s2", "s3", "s4")


def test_score_names(write):
    path = write("a ||| x ||| 1 2\n")
    assert read_phrase_table(path, score_names=("p", "q")).score_names == ("p", "q")
    with pytest.raises(DataError, match=r"table:1: found 2 scores; expected 3"):
        read_phrase_table(path, score_names=("p", "q", "r"))


def test_an_empty_table_is_read_with_a_warning(write):
    progress = Listening()
    pairs = read_phrase_table(write(""), runtime=Runtime(progress=progress))
    assert (len(pairs), pairs.scores.shape, pairs.score_names) == (0, (0, 4), PHRASE_SCORES)
    assert len(progress.warnings) == 1


def test_sparse_scores_and_odd_counts_are_left_out_with_a_warning(write):
    progress = Listening()
    text = "a ||| x ||| 1 ||| 0-0 ||| 1 2 3 ||| sparse 1\na ||| y ||| 1 ||| 0-0 ||| 1 2 ||| ||| {{prop 1}}\n"
    pairs = read_phrase_table(write(text), runtime=Runtime(progress=progress))
    assert pairs.counts is None
    assert [warning.split(": ")[1] for warning in progress.warnings] == [
        "left out sparse scores or properties on 2 lines",
        "left out the counts, for 1 lines do not have all three",
    ]


MALFORMED = [
    ("", "found '', which has fewer than three fields; expected source ||| target ||| scores"),
    ("a ||| b", "found 'a ||| b', which has fewer than three fields; expected source ||| target ||| scores"),
    ("||| b ||| 1 1", "the source phrase is empty in '||| b ||| 1 1'; expected at least one word"),
    ("a ||| ||| 1 1", "the target phrase is empty in 'a ||| ||| 1 1'; expected at least one word, for a phrase"),
    ("a ||| b |||", "found no scores; expected at least one"),
    ("a ||| b ||| 1", "found the scores '1'; expected as many as on line 1"),
    ("a ||| b ||| 1 2 3", "found the scores '1 2 3'; expected as many as on line 1"),
    ("a ||| b ||| 1 x", "found 'x' among the numbers; expected a number"),
    ("a ||| b ||| 1 1,5", "found '1,5' among the numbers; expected a number"),
    ("a ||| b ||| 1 nan", "found 'nan' among the numbers; expected a finite number that is not negative"),
    ("a ||| b ||| inf 1", "found 'inf' among the numbers; expected a finite number that is not negative"),
    ("a ||| b ||| 1e99 1", "found '1e99' among the numbers; expected a finite number that is not negative"),
    ("a ||| b ||| 1e999 1", "found '1e999' among the numbers; expected a number"),
    ("a ||| b ||| 1 -0.5", "found '-0.5' among the numbers; expected a finite number that is not negative"),
    ("a ||| b ||| 1 1 ||| 0-1", "the alignment point '0-1' lies outside its phrases"),
    ("a ||| b ||| 1 1 ||| 1-0", "the alignment point '1-0' lies outside its phrases"),
    ("a ||| b ||| 1 1 ||| 0-0 0", "found '0' in the alignment; expected points such as 0-1"),
    ("a ||| b ||| 1 1 ||| 0--0", "found '0--0' in the alignment"),
    ("a ||| b ||| 1 1 ||| 0-99999999999999999999", "found '0-99999999999999999999' in the alignment"),
    ("a ||| b ||| 1 1 ||| ||| 1 x 1", "found 'x' among the numbers; expected a number"),
    ("a ||| b ||| 1 1 ||| ||| -1 1 1", "found '-1' among the numbers"),
    ("a " * 256 + "||| b ||| 1 1", "has more than 255 words; expected at most 255"),
    ("b ||| " + "a " * 256 + "||| 1 1", "has more than 255 words; expected at most 255"),
    ("a ||| b ||| 1 \x1b[31m", "found '\ufffd[31m' among the numbers"),
]


def _refusal(write, line, _):
    """Return a path with a malformed line after three others, and what is said about it."""
    path = write("x ||| y ||| 1 1\n" * 3 + line + "\nx ||| z ||| 1 1\n")
    with pytest.raises(DataError) as error:
        read_phrase_table(path)
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


def test_phrases_of_255_words_are_fine(write):
    phrase = " ".join(["a"] * 255)
    pairs = read_phrase_table(write(f"{phrase} ||| {phrase} ||| 1 ||| 254-254\n"))
    assert rows_of(pairs) == [(phrase, phrase, [1], [(254, 254)], None)]


def test_tiny_scores_do_not_become_zero(write):
    pairs = read_phrase_table(write("a ||| b ||| 1e-50 0 1e-40 1e-45\n"))
    assert (pairs.scores[0] > 0).tolist() == [True, False, True, True]


@pytest.mark.parametrize("name", ["out", "out.gz", "out.zst"])
def test_a_table_that_moses_wrote_is_written_byte_for_byte(write, tmp_path, name):
    pairs = read_phrase_table(write(TABLE))
    write_phrase_table(tmp_path / name, pairs)
    assert b"".join(chunk.data for chunk in read_chunks(tmp_path / name)) == TABLE.encode()


def test_lines_are_in_the_order_of_sort(write, tmp_path):
    words = ["!", "! &quot;", "a", "a b", "a|b", "a | b", "a}", "ab", "a\x01", "a \x01", "b", "é", "z", "a z", "~", "A"]
    lines = [f"{s} ||| {t} ||| 1" for s in words for t in words]
    rng = np.random.default_rng(3)
    write_phrase_table(tmp_path / "out", read_phrase_table(write("\n".join(rng.permutation(lines)))))
    written = (tmp_path / "out").read_bytes()
    done = subprocess.run(
        ["sort"], input=written, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    assert written == done.stdout
    assert written.count(b"\n") == len(lines)


def test_what_cannot_be_read_back_is_not_written(write, tmp_path):
    from dataclasses import replace

    pairs = read_phrase_table(write("a ||| b ||| 1\n"))
    with pytest.raises(DataError, match="not finite or negative"):
        write_phrase_table(tmp_path / "out", replace(pairs, scores=pairs.scores * np.float32(np.nan)))
    with pytest.raises(DataError, match=r"holds '\|\|\|'"):
        write_phrase_table(tmp_path / "out", replace(pairs, source_vocab=Vocab.of(["|||"])))
    assert not (tmp_path / "out").exists()


def test_large_counts_are_written_in_full(write, tmp_path):
    write_phrase_table(tmp_path / "out", read_phrase_table(write("a ||| b ||| 1 ||| 0-0 ||| 1000000 1234567 0.5\n")))
    assert (tmp_path / "out").read_text() == "a ||| b ||| 1 ||| 0-0 ||| 1000000 1234567 0.5 ||| |||\n"


PHRASE = st.lists(
    st.text("abc|é\u00a0\x00", min_size=1, max_size=3).filter(lambda w: "|||" not in w), min_size=1, max_size=3
)


@st.composite
def tables(draw):
    rows = draw(st.lists(st.tuples(PHRASE, PHRASE), min_size=1, max_size=12, unique_by=lambda row: str(row)))
    columns = draw(st.integers(1, 5))
    score = st.floats(0, 1e6, width=32, allow_subnormal=False) | st.floats(2.0**-100, 1, width=32)
    extras = draw(st.booleans())
    lines = []
    for source, target in rows:
        scores = " ".join(f"{x:.9g}" for x in draw(st.lists(score, min_size=columns, max_size=columns)))
        line = f"{' '.join(source)} ||| {' '.join(target)} ||| {scores}"
        if extras:
            points = draw(st.lists(st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))))
            line += f" ||| {' '.join(f'{s}-{t}' for s, t in points)} ||| 3 2 1"
        lines.append(line)
    return "\n".join(lines)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tables())
def test_round_trip(tmp_path, text):
    (tmp_path / "in").write_text(text)
    pairs = read_phrase_table(tmp_path / "in")
    write_phrase_table(tmp_path / "out", pairs)
    again = read_phrase_table(tmp_path / "out")
    key = lambda row: row[:2]  # noqa: E731
    for before, after in zip(sorted(rows_of(pairs), key=key), sorted(rows_of(again), key=key), strict=True):
        assert before[:2] == after[:2]
        assert before[3:] == after[3:]
        np.testing.assert_allclose(before[2], after[2], rtol=5.1e-6)
    write_phrase_table(tmp_path / "third", again)
    assert (tmp_path / "third").read_bytes() == (tmp_path / "out").read_bytes()
