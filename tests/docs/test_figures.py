"""Every published figure has one source, `benchmarks/results/*.toml`."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]

TOPIC = """title = "Training"
position = 1

[[overview]]
asked = "a minute"
reached = "2 s"
command = "`training.py`"

[[figure]]
id = "wall"
value = 2.13
unit = "s"
command = "python benchmarks/training.py"
date = "2026-11-18"

[[table]]
id = "sizes"
command = "python benchmarks/training.py"
date = "2026-11-18"
columns = ["pairs", 'a\\|b']
rows = [
    ["29,000", ""],
]
"""


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "benchmarks" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_document_shows_a_stale_figure(figures: ModuleType) -> None:
    assert figures.stale(figures.read_topics()) == []


def test_every_figure_says_where_it_comes_from(figures: ModuleType) -> None:
    for topic in figures.read_topics().values():
        for entry in [*topic.get("table", []), *topic.get("figure", [])]:
            assert entry.get("command") or entry.get("note"), entry["id"]
            assert entry["date"]


def test_every_table_of_the_pages_is_generated(figures: ModuleType) -> None:
    for page in (ROOT / "benchmarks" / "results").glob("*.md"):
        outside = figures._TABLE.sub("", page.read_text(encoding="utf-8"))
        assert [line for line in outside.splitlines() if line.startswith("|")] == [], page.name


def test_marks_are_filled(figures: ModuleType) -> None:
    text = (
        "It takes <!-- figure: training/wall -->9 s<!-- /figure -->.\n<!-- table: training/sizes -->\nold\n"
        "<!-- /table -->\n<!-- overview -->\n<!-- /overview -->\n"
    )
    assert figures.fill(text, {"training": tomllib.loads(TOPIC)}) == (
        "It takes <!-- figure: training/wall -->2.13 s<!-- /figure -->.\n<!-- table: training/sizes -->\n"
        "| pairs | a\\|b |\n|---|---|\n| 29,000 | |\n<!-- /table -->\n<!-- overview -->\n"
        "| page | what was asked, or what it stands beside | reached | command |\n|---|---|---|---|\n"
        "| [Training](results/training.md) | a minute | 2 s | `training.py` |\n<!-- /overview -->\n"
    )


def test_a_cell_of_a_table_is_shown(figures: ModuleType) -> None:
    text = "<!-- cell: training/sizes 1 1 -->7<!-- /cell --> pairs"
    expected = "<!-- cell: training/sizes 1 1 -->29,000<!-- /cell --> pairs"
    assert figures.fill(text, {"training": tomllib.loads(TOPIC)}) == expected
    with pytest.raises(SystemExit, match="the table training/sizes has no row 2 or no column 1"):
        figures.fill(text.replace("1 1", "2 1"), {"training": tomllib.loads(TOPIC)})


def test_an_unknown_figure_is_refused(figures: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no figure is called training/walls"):
        figures.fill("<!-- figure: training/walls -->1<!-- /figure -->", {"training": tomllib.loads(TOPIC)})


def test_a_topic_is_written_as_it_was_read(figures: ModuleType) -> None:
    assert figures.format_topic(tomllib.loads(TOPIC)) == TOPIC
    for topic in figures.read_topics().values():
        assert tomllib.loads(figures.format_topic(topic)) == topic


def test_a_table_that_a_command_prints_is_recorded(
    figures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    (tmp_path / "training.toml").write_text(TOPIC, encoding="utf-8")
    program = "print('| first |\\n|---|\\n| 0 |\\n\\n| pairs | s |\\n|---|---|\\n| 7 | 1.5 |')"
    figures.record("training", "sizes", [sys.executable, "-c", program])
    (table,) = tomllib.loads((tmp_path / "training.toml").read_text(encoding="utf-8"))["table"]
    assert (table["columns"], table["rows"]) == (["pairs", "s"], [["7", "1.5"]])
    assert table["commit"]
    assert "load" in table["machine"]


def test_a_command_without_a_table_changes_nothing(
    figures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    (tmp_path / "training.toml").write_text(TOPIC, encoding="utf-8")
    with pytest.raises(SystemExit, match="printed no table"):
        figures.record("training", "sizes", [sys.executable, "-c", "print(1)"])
    assert (tmp_path / "training.toml").read_text(encoding="utf-8") == TOPIC
