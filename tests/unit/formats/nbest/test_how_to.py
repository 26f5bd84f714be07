"""The how-to page on neural lists: its table has all formats, and its script for matrices runs."""

import re
from pathlib import Path

import numpy as np

from dragoman.core.options import parse_options
from dragoman.formats.nbest.format import NBEST_FORMATS

HERE = Path(__file__).parent
PAGE = (HERE.parents[3] / "docs" / "how-to" / "neural-lists.md").read_text(encoding="utf-8")
FORMATS = PAGE[PAGE.index("## Formats") :].split("\n## ")[0]
ROWS = [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", FORMATS, re.M)]
SCRIPTS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


def test_the_table_has_all_formats_and_their_options():
    assert sorted(name for row in ROWS for name in re.findall("`(.*?)`", row[0])) == NBEST_FORMATS.names()
    for row in ROWS:
        for assignment in re.findall(r"`(\w+=\w+)`", row[-1]):
            (name,) = re.findall("`(.*?)`", row[0])
            parse_options(NBEST_FORMATS.get(name), [assignment.replace("=N", "=2")])


def test_the_script_with_matrices_chooses(tmp_path, monkeypatch, capsys):
    (script,) = [script for script in SCRIPTS if "Utilities.read" in script]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.vllm.jsonl").write_bytes((HERE / "samples" / "vllm.jsonl").read_bytes())
    np.savez(tmp_path / "test.comet.npz", np.array([[49, 63], [63, 81]]), np.array([[9.0]]))
    exec(compile(script, "neural-lists.md", "exec"), {})
    assert capsys.readouterr().out == "['the house', 'yes']\n"
