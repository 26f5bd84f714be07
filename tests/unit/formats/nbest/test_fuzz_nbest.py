"""Whatever an n-best list holds, its reader gives a sound result that can be written and read again, or says no."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dragoman.core import files
from dragoman.core.errors import DataError, DragomanError
from dragoman.core.runtime import Runtime
from dragoman.formats.nbest import lines as nbest_lines, table
from dragoman.formats.nbest.flat import FlatNBest
from dragoman.formats.nbest.format import NBEST_FORMATS, sniff
from oracles.fuzzing import QUIET, ReaderFuzzing, fuzz, mutations

pytestmark = pytest.mark.slow

MOSES = b"""0 ||| a \xc3\xa9 |0-1| b |2-2|  ||| T0= -1.5 0 -0.25 D0= 0 LM0= -36.05 a~b= 1 ||| -16.97 ||| 0-0 1-1
0 ||| c |0-2|  ||| T0= 1 2 3 D0= 0 LM0= -8.9e-05 ||| -1
2 |||  ||| T0= 0 0 -1e+06 D0= 0 LM0= -100000 ||| -0
"""
JOSHUA = b"0 ||| A A ||| lm_0=-28.045 t=-172.000 ||| -195.045\n0 ||| A ||| lm_0=-1.000 ||| \n1 ||| |||  ||| 1\n"
TRAVATAR = b"0 ||| a b ||| -1.5 ||| lm=-2 p=3\n1 ||| c ||| 0.25 ||| lm=-1.5 x=1e-9\n"
JSONL = b"""{"id":0,"src":"a","hyps":[{"text":"b  \\u00e9","logprob":-1.5,"features":{"lm":-9.25,"n":2}}],"refs":["c"]}
{"id":"x","src":"","hyps":[{"text":"","score":1e5,"y":[1]},{"text":"a\\nb"}],"z":null}
"""
FLAT = b"a b\nc\n\nd\n\n\n\xc3\xa9\n"
SAMPLES = {path.name: path.read_bytes() for path in sorted((Path(__file__).parent / "samples").iterdir())}
OLDER = ("moses", "joshua", "travatar", "jsonl", "flat")
VALID = {
    "moses": MOSES,
    "joshua": JOSHUA,
    "travatar": TRAVATAR,
    "jsonl": JSONL,
    "flat": FLAT,
    **{name: data for name, data in SAMPLES.items() if name.partition(".")[0] not in OLDER},
}
PIECES = [
    *(b"|||", b" ||| ", b"\n", b"\r\n", b" ", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"="),
    *(b"-", b"|0-0|", b"|1-0|", b"-1", b"nan", b"-inf", b"1e999", b"1e-999", b"99999999999999999999", b"T0=", b"T0.1="),
    *(b"{", b"}", b"[", b'"', b",", b'"hyps":', b"\\ud800", b"NaN", b"null", b"[" * 3000, b'"text":"a"', b"0 ||| "),
    *(b"H-0\t", b"D-0\t-1\t", b"P-0\t", b"S-1\t", b"-Infinity", b'"score": ', b'"id": 0, ', b"[]", b"{}", b", ", b'""'),
    *(b"&#124;", b"&amp;#124;", b"-0.5", b"0\t", b"\t-1.5", b'"n_best": 1, ', b'"tgt": "", ', b"id,text", b";", b"'"),
]


def check(nbest):
    rows = len(nbest.hypotheses)
    assert nbest.sentences[0] == 0
    assert nbest.sentences[-1] == rows == len(nbest.features) == len(nbest.scores)
    assert np.all(np.diff(nbest.sentences) >= 0)
    assert np.all((nbest.hypotheses.values >= 0) & (nbest.hypotheses.values < len(nbest.vocab)))
    assert np.all((nbest.features.ids >= 0) & (nbest.features.ids < len(nbest.features.names)))
    assert len(set(nbest.features.names)) == len(nbest.features.names)
    assert np.isfinite(nbest.features.values).all()
    assert not np.isinf(nbest.scores).any()
    for per_sentence in (nbest.sentence_ids, nbest.sources, nbest.references):
        assert per_sentence is None or len(per_sentence) == len(nbest)
    if nbest.segmentations is not None:
        assert np.all(nbest.segmentations.lengths % 4 == 0)
        assert np.all(nbest.segmentations.values >= 0)
    assert len(nbest.distinct()) == len(nbest)


def same(one, other):
    assert [one.line(h) for h in range(len(one.hypotheses))] == [other.line(h) for h in range(len(other.hypotheses))]
    assert one.sentences.tolist() == other.sentences.tolist()
    assert one.sentence_ids == other.sentence_ids
    assert np.array_equal(one.scores, other.scores, equal_nan=True)
    rows = range(len(one.features))
    assert [one.features.row(h) for h in rows] == [other.features.row(h) for h in rows]


@pytest.fixture(params=VALID)
def reader(request, tmp_path):
    kind = NBEST_FORMATS.get(request.param.partition(".")[0])
    kind = kind(size=1) if kind.name == "opennmt" else kind()

    def run(data):
        path = tmp_path / "fuzzed"
        path.write_bytes(data)
        with contextlib.suppress(DragomanError):
            assert sniff(path).name in NBEST_FORMATS.names()
        nbest = kind.read(path, runtime=Runtime(progress=QUIET))
        check(nbest)
        kind.write(tmp_path / "written", nbest, runtime=Runtime(progress=QUIET))
        with contextlib.suppress(DataError):
            if sniff(tmp_path / "written").name != kind.name:
                return  # plain text that came to look like something else
        again = kind.read(tmp_path / "written", runtime=Runtime(progress=QUIET))
        same(nbest, again)
        kind.write(tmp_path / "twice", again, runtime=Runtime(progress=QUIET))
        assert (tmp_path / "twice").read_bytes() == (tmp_path / "written").read_bytes()

    run.valid = VALID[request.param]
    return run


class TestNBestReaders(ReaderFuzzing):
    pieces = PIECES
    chunked = (nbest_lines, table, files)


@fuzz
@given(st.data())
def test_mutated_files_beside_plain_text(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("flat")
    (folder / "text").write_bytes(b"a\nb\nc\n")
    option, valid = data.draw(
        st.sampled_from([("counts", b"1\n2\n0\n"), ("ids", b"0\n0\n3\n"), ("scores", b"a\tscore\n1\t2\n3\t4\n5\t6\n")])
    )
    (folder / "beside").write_bytes(data.draw(mutations(valid, PIECES)))
    with contextlib.suppress(DragomanError):
        check(FlatNBest(**{option: folder / "beside"}).read(folder / "text", runtime=Runtime(progress=QUIET)))
