import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dragoman.core.corpus import Bitext, Corpus, links_of, source_positions, target_positions
from dragoman.core.errors import DataError
from dragoman.core.files import read_chunks
from dragoman.formats import pharaoh
from dragoman.formats.pharaoh import read_links, write_links

pytestmark = pytest.mark.slow

BITEXT = Bitext(Corpus.from_lines(["a b c", "", "a"]), Corpus.from_lines(["x y", "", "x y z"]))


def rows_of(links):
    return [[divmod(int(link), 1 << 16) for link in row] for row in links]


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "links"
        path.write_text(text, newline="")
        return path

    return write


def test_reading_sorts_and_drops_repetitions(write):
    links = read_links(write("2-1 0-0 2-1 0-1\r\n\n0-2"), BITEXT)
    assert rows_of(links) == [[(0, 0), (0, 1), (2, 1)], [], [(0, 2)]]
    assert links.values.dtype == np.uint32
    assert source_positions(links).tolist() == [0, 0, 2, 0]
    assert target_positions(links).tolist() == [0, 1, 1, 2]


def test_possible_links_and_probabilities(write):
    assert rows_of(read_links(write("0p1 1-0:0.97 2-2:1e-3\n"))) == [[(0, 1), (1, 0), (2, 2)]]


@pytest.mark.parametrize("chunk_bytes", [8, 1 << 20])
def test_lines_are_matched_with_sentences_across_chunks(write, monkeypatch, chunk_bytes):
    monkeypatch.setattr(pharaoh, "read_chunks", lambda path: read_chunks(path, chunk_bytes))
    bitext = Bitext(Corpus.from_lines(["a"] * 50 + ["a b"]), Corpus.from_lines(["x"] * 51))
    text = "0-0\n" * 50 + "1-0\n"
    assert len(read_links(write(text), bitext)) == 51
    with pytest.raises(DataError, match=r"links:50: the link '1-0' lies outside its sentence pair"):
        read_links(write(text[4:]), bitext)
    with pytest.raises(DataError, match=r"links:52: found another line of links"):
        read_links(write(text + "0-0\n"), bitext)


@pytest.mark.parametrize(
    "token",
    [
        "0",
        "0-",
        "-0",
        "-1-0",
        "0--1",
        "0-1-2",
        "a-b",
        "0-1:",
        "0-1:x",
        "0-1:nan",
        "0-1:-1",
        "0:1",
        "0-1x",
        "1.0-1",
        "0-99999999999",
        "+0-0",
    ],
)
def test_garbage_is_named_with_its_line(write, token):
    with pytest.raises(DataError, match="links:2: found") as error:
        read_links(write(f"0-0\n0-0 {token} 0-1\n"))
    assert f"'{token}'; expected links such as 0-1" in str(error.value)


@pytest.mark.parametrize("token", ["3-0", "0-2", "65535-0"])
def test_links_outside_their_sentences(write, token):
    with pytest.raises(DataError, match=f"links:1: the link '{token}' lies outside"):
        read_links(write(f"{token}\n\n\n"), BITEXT)


def test_positions_have_a_limit_even_without_text(write):
    assert rows_of(read_links(write("65534-65534\n"))) == [[(65534, 65534)]]
    with pytest.raises(DataError, match="links:1"):
        read_links(write("65535-0\n"))


def test_too_few_lines(write):
    with pytest.raises(DataError, match="links: has 2 lines; expected 3, one for each sentence pair"):
        read_links(write("\n\n"), BITEXT)


ROWS = st.lists(st.lists(st.tuples(st.integers(0, 65534), st.integers(0, 65534)), unique=True).map(sorted))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS)
def test_round_trip(tmp_path, rows):
    write_links(tmp_path / "out.gz", links_of(rows))
    assert rows_of(read_links(tmp_path / "out.gz")) == rows


def test_writing_many_rows(tmp_path):
    rows = [[(n % 5, 0)] * (n % 3 > 0) for n in range(70000)]
    write_links(tmp_path / "out", links_of(rows))
    assert (tmp_path / "out").read_text() == "".join(" ".join(f"{s}-{t}" for s, t in row) + "\n" for row in rows)
