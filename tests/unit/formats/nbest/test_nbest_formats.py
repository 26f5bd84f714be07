"""Every format of n-best lists: what is read, what is written back, and what is said of files that are wrong."""

import gzip
import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman.core.corpus import Vocab
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import FeatureRows
from dragoman.core.nbest import NBest
from dragoman.core.progress import DragomanWarning
from dragoman.core.ragged import Ragged
from dragoman.formats.nbest.flat import FlatNBest
from dragoman.formats.nbest.format import NBEST_FORMATS, read_nbest, sniff
from dragoman.formats.nbest.joshua import JoshuaNBest, TravatarNBest
from dragoman.formats.nbest.jsonl import JsonlNBest
from dragoman.formats.nbest.moses import MosesNBest

REAL = Path(__file__).resolve().parents[5] / "shared" / "data" / "moses" / "fr-en"

MOSES = """\
0 ||| a house  ||| LexicalReordering0= -1.5 0 -0.25 Distortion0= 0 LM0= -36.0562 wt_a~b= 1 ||| -16.97
0 ||| the house  ||| LexicalReordering0= 0 0 0 Distortion0= -2 LM0= -8.98847e-05 ||| -17
1 ||| yes  ||| LexicalReordering0= 0 0 -1e+06 Distortion0= 0 LM0= -100000 wt_a~b= 2 wt_c~d= 0.5 ||| -0
"""
OLD_MOSES = "0||| a house  ||| d: 0 lm: -36.0562 w: -8 tm: -1 -2 -3 ||| -16.97\n"
MARKED = "0 ||| a |2-2| house |0-1| |3-3|  ||| LM0= -1 ||| -2 ||| 0-0 1-1 ||| x \n0 ||| b |0-3|  ||| LM0= -1 ||| -2 \n"
JOSHUA = "0 ||| A A ||| lm_0=-28.045 tm_pt_0=-172.000 ||| -195.045\n1 ||| A ||| lm_0=-1.000 ||| -2.500\n"
CDEC = "0 ||| c b c d ||| Glue=3 F1=1 R=a=-0.5 ||| 0\n0 ||| c ||| Glue=1 ||| -1.25\n"
TRAVATAR = "0 ||| a b ||| -1.5 ||| lm=-2 p=3\n1 ||| c ||| 0.25 ||| lm=-1.5\n"
JSONL = """\
{"id":0,"src":"la maison","hyps":[{"text":"the house","logprob":-1.5,"features":{"lm":-9.25,"len":2}}],"refs":["a","b"]}
{"id":1,"src":"oui, là","hyps":[{"text":"yes  there","logprob":-2.0,"n":["y"]},{"text":"","logprob":-3.5}],"time":0.5}
"""
SPACED = '{"hyps": [{"text": "caf\\u00e9", "score": 3, "features": {"lm": -1.0}}], "x": {"y": null}}\n'
FLAT = "a house\nthe house\n\nyes\n"
ODD = ["", "  ", "a ||| b", "|||", "|0-0| |", " two  spaces ", "&#124; &amp;#124; &amp;", 'c "d" <e> \u2028 f|g']


def written(kind, data, tmp_path, **options):
    path = tmp_path / "in"
    path.write_text(data, encoding="utf-8")
    nbest = kind.read(path, **options)
    kind.write(tmp_path / "out", nbest)
    return nbest, (tmp_path / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (MosesNBest(), MOSES),
        (MosesNBest(), OLD_MOSES),
        (MosesNBest(), MARKED),
        (JoshuaNBest(), JOSHUA),
        (JoshuaNBest(), CDEC),
        (TravatarNBest(), TRAVATAR),
        (JsonlNBest(), SPACED),
        (FlatNBest(), FLAT),
        (FlatNBest(), FLAT + "\n"),
        (FlatNBest(), "\na\n\n\n"),
    ],
)
def test_what_was_read_is_written_back_byte_by_byte(kind, data, tmp_path):
    assert written(kind, data, tmp_path)[1] == data


def test_jsonl_is_written_back_byte_by_byte(tmp_path):
    with pytest.warns(DragomanWarning, match="1 of 3 hypotheses have no words"):
        nbest, text = written(JsonlNBest(), JSONL, tmp_path)
    assert text == JSONL
    assert nbest.sources == ("la maison", "oui, là")
    assert nbest.references == (("a", "b"), ())
    assert nbest.logprobs.tolist() == [-1.5, -2.0, -3.5]
    assert np.isnan(nbest.scores).all()
    assert nbest.line(1) == "yes there"
    assert nbest.features.row(0) == {"lm": -9.25, "len": 2.0}


@pytest.mark.skipif(not REAL.exists(), reason="the data folder is not there")
@pytest.mark.parametrize(
    ("name", "hypotheses", "sentences"),
    [("val.merged.nbest.gz", 161_478, 1_014), ("test_2016_flickr.cube400.1best.gz", 1_000, 1_000)],
)
def test_a_list_of_moses_is_written_back_byte_by_byte(name, hypotheses, sentences, tmp_path):
    nbest = read_nbest(REAL / name, sentences=sentences)
    assert (len(nbest.hypotheses), len(nbest)) == (hypotheses, sentences)
    MosesNBest().write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_bytes() == gzip.decompress((REAL / name).read_bytes())


def test_moses(tmp_path):
    nbest, _ = written(MosesNBest(), MOSES, tmp_path)
    assert nbest.sentences.tolist() == [0, 2, 3]
    assert nbest.ids is None
    assert nbest.line(1) == "the house"
    assert nbest.features.row(0) == {
        "LexicalReordering0.0": -1.5,
        "LexicalReordering0.1": 0,
        "LexicalReordering0.2": -0.25,
        "Distortion0": 0,
        "LM0": -36.0562,
        "wt_a~b": 1,
    }
    assert nbest.scores.tolist() == [-16.97, -17, 0]


def test_segmentation(tmp_path):
    nbest, _ = written(MosesNBest(), MARKED, tmp_path)
    assert nbest.line(0) == "a house"
    assert nbest.segmentations[0].reshape(-1, 4).tolist() == [[2, 3, 0, 1], [0, 2, 1, 2], [3, 4, 2, 2]]
    MosesNBest(segmentation=False).write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_text().startswith("0 ||| a house  ||| ")


def test_travatar_swaps_score_and_features(tmp_path):
    nbest, _ = written(TravatarNBest(), TRAVATAR, tmp_path)
    assert nbest.scores.tolist() == [-1.5, 0.25]
    assert nbest.features.row(0) == {"lm": -2, "p": 3}


def decoded():
    """As from a decoder: features that are 0 are left out, one occurs twice, one list is empty."""
    features = FeatureRows(
        ("tm.0", "tm.1", "lm"),
        np.array([0, 2, 4, 4], np.int64),
        np.array([2, 1, 2, 2], np.int32),
        np.array([-1 / 3, 0.5, 1.0, 2.0]),
    )
    return NBest(
        vocab=Vocab.of(["a", "b"]),
        sentences=np.array([0, 2, 2, 3], np.int64),
        hypotheses=Ragged.of([[3, 4], [3], [4]], np.int32),
        scores=np.array([-1 / 7, 2.0, 1e-300]),
        features=features,
        segmentations=Ragged.of([[0, 1, 0, 2], [0, 1, 0, 1], [0, 1, 0, 1]], np.int32),
    )


@pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")
@pytest.mark.parametrize(
    "name", [name for name in NBEST_FORMATS.names() if "features" in NBEST_FORMATS.get(name).places]
)
def test_any_list_can_be_written(name, tmp_path):
    kind = NBEST_FORMATS.get(name)
    options = {"scores": tmp_path / "scores", "counts": tmp_path / "counts"} if name == "flat" else {}
    kind(**options).write(tmp_path / "out", decoded())
    again = kind(**options).read(tmp_path / "out")
    assert [again.line(h) for h in range(3)] == ["a b", "a", "b"]
    assert again.scores.tolist() == decoded().scores.tolist()
    rows = [{k: v for k, v in again.features.row(h).items() if v} for h in range(3)]
    assert rows == [{"tm.1": 0.5, "lm": -1 / 3}, {"lm": 3.0}, {}]
    assert again.sentence_ids == ((0, 1, 2) if name in ("flat", "jsonl") else (0, 2))
    assert sniff(tmp_path / "out") is kind


def beams():
    """Two sentences with two hypotheses each: log-probabilities, scores, features and names."""
    nbest = JsonlNBest()
    return replace(
        nbest.read(Path(__file__).parent / "samples" / "jsonl.jsonl").take(np.array([0, 0])),
        scores=np.array([-0.125, -1 / 3, -0.25, -7.0]),
        logprobs=np.array([-0.1, -2.5, -1e-9, -3.0]),
        ids=(0, 2),
    )


@pytest.mark.parametrize(
    "name", [name for name in NBEST_FORMATS.names() if "features" not in NBEST_FORMATS.get(name).places]
)
def test_what_has_no_place_is_left_out_with_a_warning(name, tmp_path):
    kind = NBEST_FORMATS.get(name)
    form = kind(size=2) if name == "opennmt" else kind()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DragomanWarning)
        form.write(tmp_path / "out", beams())
    called = {
        "scores": "scores",
        "logprobs": "log-probabilities",
        "features": "features",
        "ids": "sentences' ids",
    }
    expected = [
        f"{tmp_path / 'out'}: the {called[what]} are left out, because {name} has no field for them"
        for what in called
        if what not in kind.places
    ]
    assert [str(warning.message) for warning in caught] == expected
    assert sniff(tmp_path / "out") is kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DragomanWarning)
        again = form.read(tmp_path / "out")
    assert again.sentence_ids == ((0, 2) if "ids" in kind.places else (0, 1))
    assert again.texts() == beams().texts()
    assert again.sentences.tolist() == [0, 2, 4]
    assert again.features.names == ()
    np.testing.assert_array_equal(again.scores, beams().scores if "scores" in kind.places else np.full(4, np.nan))
    if "logprobs" in kind.places:
        np.testing.assert_allclose(again.logprobs, beams().logprobs, rtol=1e-15)
    else:
        assert again.logprobs is None


@pytest.mark.parametrize("name", NBEST_FORMATS.names())
def test_empty_texts_odd_spaces_and_bars(name, tmp_path):
    (tmp_path / "in").write_text(
        json.dumps({"id": 0, "hyps": [{"text": text, "score": -1.0, "logprob": -1.0} for text in ODD]}) + "\n",
        encoding="utf-8",
    )
    with pytest.warns(DragomanWarning, match="2 of 8 hypotheses have no words"):
        nbest = JsonlNBest().read(tmp_path / "in")
    kind = NBEST_FORMATS.get(name)
    form = kind(size=len(ODD)) if name in ("opennmt", "flat") else kind()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DragomanWarning)
        form.write(tmp_path / "out", nbest)
        again = form.read(tmp_path / "out")
    assert again.texts() == nbest.texts()
    assert again.sentences.tolist() == [0, len(ODD)]


@pytest.mark.filterwarnings("ignore::dragoman.core.progress.DragomanWarning")
def test_what_moses_writes(tmp_path):
    MosesNBest(zeros=True, segmentation=True).write(tmp_path / "out", decoded())
    assert (tmp_path / "out").read_text() == (
        "0 ||| a b |0-0|  ||| tm= 0 0.5 lm= -0.3333333333333333 ||| -0.14285714285714285\n"
        "0 ||| a |0-0|  ||| tm= 0 0 lm= 3 ||| 2\n"
        "2 ||| b |0-0|  ||| tm= 0 0 lm= 0 ||| 1e-300\n"
    )


def test_hypotheses_without_scores(tmp_path):
    (tmp_path / "text").write_text("a\n")
    nbest = FlatNBest(size=1).read(tmp_path / "text")
    with pytest.warns(DragomanWarning, match="1 of 1 hypotheses have no score; the column is left empty"):
        JoshuaNBest().write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_text() == "0 ||| a |||  ||| \n"
    again = JoshuaNBest().read(tmp_path / "out")
    assert np.isnan(again.scores).all()
    with pytest.raises(DataError, match=r"the format may be joshua or moses or travatar; expected to be told which"):
        sniff(tmp_path / "out")


@pytest.mark.parametrize(
    ("kind", "line", "sentence"),
    [
        (MosesNBest, "0 ||| a ||| LM0= 1", "1: found '0 ||| a ||| LM0= 1', which has fewer than four columns"),
        (MosesNBest, "", "1: the line is empty; expected 'id ||| words ||| name= value … ||| score'"),
        (MosesNBest, "x ||| a ||| LM0= 1 ||| 1", "1: found 'x' as the sentence's number; expected a number from 0"),
        (MosesNBest, "0 ||| a ||| LM0= one ||| 1", "1: found 'one' among the features; expected a number"),
        (MosesNBest, "0 ||| a ||| LM0= nan ||| 1", "1: found 'nan' among the numbers; expected a finite number"),
        (MosesNBest, "0 ||| a ||| LM0= 1 ||| -inf", "1: found '-inf' among the numbers; expected a finite number"),
        (MosesNBest, "0 ||| a ||| LM0= 1 ||| 1 2", "1: found '1 2' as the score; expected one number"),
        (MosesNBest, "0 ||| a ||| 1 2 3 ||| 1", "1: found '1' among the features, where a name belongs"),
        (MosesNBest, "0 ||| a ||| LM0= D0= 1 ||| 1", "1: the feature 'LM0=' has no value; expected 'name= value …'"),
        (MosesNBest, "0 ||| a ||| LM0= 1 LM0= 1 ||| 1", "1: the feature 'LM0=' occurs twice in one hypothesis"),
        (
            MosesNBest,
            "0 ||| a ||| LM0= 1 ||| 1\n0 ||| b ||| LM0= 1 2 ||| 1",
            "2: the feature 'LM0=' has another number of values than before; expected the same number",
        ),
        (MosesNBest, "0 ||| a |1-0| ||| LM0= 1 ||| 1", "1: the segmentation mark '|1-0|' ends before it begins"),
        (MosesNBest, "0 ||| a |0-0| b ||| LM0= 1 ||| 1", "1: the last words of 'a |0-0| b' have no segmentation mark"),
        (MosesNBest, "0 ||| a ||| T= 1 2 T.1= 3 ||| 1", " 'T.1' is a feature, and also a value of the feature 'T'"),
        (MosesNBest, "1 ||| a ||| ||| 1\n0 ||| a ||| ||| 1", "2: the id 0 comes after the id 1; expected all"),
        (
            JoshuaNBest,
            "0 ||| a ||| ||| 1\n1 ||| a ||| ||| 1\n0 ||| a ||| ||| 1",
            "3: the id 0 comes again after the id 1",
        ),
        (
            JoshuaNBest,
            TRAVATAR,
            "1: found '-1.5' among the features, where a name belongs; expected 'name=value' "
            "(the file looks like travatar, not joshua)",
        ),
        (TravatarNBest, MOSES, "(the file looks like moses, not travatar)"),
        (MosesNBest, JOSHUA, "(the file looks like joshua, not moses)"),
        (MosesNBest, JSONL, "(the file looks like jsonl, not moses)"),
        (MosesNBest, FLAT, "(the file looks like flat, not moses)"),
        (JsonlNBest, MOSES, "(the file looks like moses, not jsonl)"),
        (FlatNBest, MOSES, "1: the file looks like moses, not flat"),
        (JsonlNBest, '{"hyps": [', "1: found '{\"hyps\": [', which is not JSON; expected"),
        (JsonlNBest, '{"id": 1}', "1: found '{\"id\": 1}', without a list 'hyps'; expected"),
        (JsonlNBest, '{"hyps": [{"txt": 1}]}', "1: found the hypothesis '{\"txt\": 1}', without a string 'text'"),
        (JsonlNBest, '{"hyps": [{"text": "a", "score": NaN}]}', "1: found NaN; expected a finite number"),
        (JsonlNBest, '{"hyps": [{"text": "a", "score": 1e999}]}', "1: 'score' is 'inf'; expected a finite number"),
        (JsonlNBest, '{"hyps": [{"text": "a", "logprob": "1"}]}', "1: 'logprob' is '\"1\"'; expected a number"),
        (JsonlNBest, '{"hyps": [{"text": "a", "features": {"x": true}}]}', "1: 'x' is 'true'; expected a number"),
        (JsonlNBest, '{"hyps": [{"text": "a", "features": {"x": 1, "x": 1}}]}', "1: the key 'x' occurs twice"),
        (JsonlNBest, '{"hyps": [{"text": "\\ud800"}]}', "1: a string has half of a surrogate pair"),
        (JsonlNBest, '{"id": 1.5, "hyps": []}', "1: the id is '1.5'; expected a number or a string"),
        (JsonlNBest, '{"id":"a","hyps":[]}\n{"id":"a","hyps":[]}', "2: the sentence with the id 'a' comes again"),
        (JsonlNBest, '{"id":"a","hyps":[]}\n{"hyps":[]}', "2: some sentences have an 'id' and some have none"),
        (JsonlNBest, '{"hyps":[], "refs": "a"}', "1: 'refs' is '\"a\"'; expected a list of strings"),
    ],
)
def test_what_is_wrong_is_said(kind, line, sentence, tmp_path):
    path = tmp_path / "in"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        kind().read(path)
    assert str(error.value).startswith(f"{path}:")
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", NBEST_FORMATS.names())
def test_bytes_that_are_no_text(name, tmp_path):
    (tmp_path / "in").write_bytes(b"a\n\xff\n")
    with pytest.raises(DataError, match=r"in:2: byte 0xff is not UTF-8"):
        NBEST_FORMATS.get(name)().read(tmp_path / "in")
    (tmp_path / "in").write_bytes(gzip.compress(MOSES.encode() * 1000)[:-20])
    with pytest.raises(DataError, match=r"in:\d*:? ?the compressed data is damaged or cut off|looks like moses"):
        NBEST_FORMATS.get(name)().read(tmp_path / "in")


def test_missing_sentences(tmp_path):
    path = tmp_path / "in"
    path.write_text("1 ||| a ||| x=1 ||| 1\n4 ||| a ||| x=1 ||| 1\n")
    with pytest.warns(DragomanWarning, match="in: 3 sentences have no hypotheses, the first of them has the id 0"):
        assert read_nbest(path).ids == (1, 4)
    with pytest.raises(DataError, match="in: 3 of 5 sentences have no hypotheses, the first of them has the id 0;"):
        read_nbest(path, sentences=5)
    with pytest.raises(DataError, match="in:2: found the id 4; expected 4 sentences, with ids from 0"):
        read_nbest(path, sentences=4)


def test_windows_line_ends_and_a_list_of_one(tmp_path):
    (tmp_path / "in").write_bytes(b"\xef\xbb\xbf" + JOSHUA.replace("\n", "\r\n").encode())
    nbest = read_nbest(tmp_path / "in")
    JoshuaNBest().write(tmp_path / "out.gz", nbest.list(1))
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == b"1 ||| A ||| lm_0=-1.000 ||| -2.500\n"


def test_empty_files(tmp_path):
    (tmp_path / "in").write_bytes(b"")
    with pytest.raises(DataError, match="the file is empty; expected an n-best list"):
        read_nbest(tmp_path / "in")
    for name in set(NBEST_FORMATS.names()) - {"flat"}:
        with pytest.warns(DragomanWarning, match="the n-best list is empty"):
            nbest = read_nbest(tmp_path / "in", name)
        assert len(nbest) == len(nbest.hypotheses) == 0
        MosesNBest().write(tmp_path / "out", nbest)


def test_what_cannot_be_written(tmp_path):
    nbest, _ = written(JsonlNBest(), '{"id":"a","hyps":[{"text":"a ||| b","features":{"x y":1.0}}]}\n', tmp_path)
    with pytest.raises(DataError, match="a feature to write is called 'x y'; expected a name without spaces"):
        MosesNBest().write(tmp_path / "out", nbest)
    nbest, _ = written(JsonlNBest(), '{"id":"a","hyps":[{"text":"a b","score":1.0}]}\n', tmp_path)
    with pytest.warns(DragomanWarning, match="sentences are numbered from 0 instead"):
        MosesNBest().write(tmp_path / "out", nbest)
    assert (tmp_path / "out").read_text() == "0 ||| a b  |||  ||| 1\n"


def test_names(tmp_path):
    assert NBEST_FORMATS.names() == [
        *("csv", "ctranslate2", "fairseq", "flat", "huggingface", "joshua", "jsonl", "lm-eval", "moses", "openai"),
        *("opennmt", "opennmt-json", "sockeye", "travatar", "tsv", "vllm"),
    ]
    with pytest.raises(UsageError):
        read_nbest(tmp_path, "mosses")
    with pytest.raises(UsageError, match="the format of standard input cannot be guessed; name it"):
        sniff("-")
