"""The how-to page on neural lists: its table has all formats, and its scripts make files that fit."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dragoman.core.options import parse_options
from dragoman.formats.nbest.format import NBEST_FORMATS

HERE = Path(__file__).parent
PAGE = (HERE.parents[3] / "docs" / "how-to" / "neural-lists.md").read_text(encoding="utf-8")
ROWS = [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", PAGE, re.M)]
SCRIPTS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


def test_the_table_has_all_formats_and_their_options():
    assert sorted(name for row in ROWS for name in re.findall("`(.*?)`", row[0])) == NBEST_FORMATS.names()
    for row in ROWS:
        for assignment in re.findall(r"`(\w+=\w+)`", row[-1]):
            (name,) = re.findall("`(.*?)`", row[0])
            parse_options(NBEST_FORMATS.get(name), [assignment.replace("=N", "=2")])


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder with lists, and metrics that are as long a word as they are good."""

    def predict(pairs, **_):
        return SimpleNamespace(scores=[float(len(pair["mt"]) * len(pair.get("ref", "x"))) for pair in pairs])

    def score(references, candidates):
        return [float(len(one) * len(other)) for one, other in zip(candidates, references, strict=True)]

    model = SimpleNamespace(predict=predict)
    comet = SimpleNamespace(download_model=lambda name: name, load_from_checkpoint=lambda _: model)
    bleurt = SimpleNamespace(score=SimpleNamespace(BleurtScorer=lambda _: SimpleNamespace(score=score)))
    monkeypatch.setitem(sys.modules, "comet", comet)
    monkeypatch.setitem(sys.modules, "bleurt", bleurt)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.fairseq").write_bytes((HERE / "samples" / "fairseq.txt").read_bytes())
    (tmp_path / "test.vllm.jsonl").write_bytes((HERE / "samples" / "vllm.jsonl").read_bytes())
    return tmp_path


def test_the_scripts_make_files_that_fit(elsewhere, capsys):
    runnable = [script for script in SCRIPTS if "read_nbest" in script]
    assert len(runnable) == 4
    for script in runnable:
        exec(compile(script, "neural-lists.md", "exec"), {})
    assert capsys.readouterr().out == "['the house', 'yes']\n"
    assert (elsewhere / "dev.comet").read_text() == "7.0\n9.0\n3.0\n"
    with np.load(elsewhere / "test.comet.npz") as one, np.load(elsewhere / "test.bleurt.npz") as other:
        assert one["arr_0"].tolist() == other["arr_0"].tolist() == [[49, 63], [63, 81]]
