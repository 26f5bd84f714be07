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

[[text]]
id = "slow"
command = "python benchmarks/training.py"
date = "2026-11-18"
basis = ["sizes 0c6b173a"]
text = '''
It is slow:
2.13 s.
'''
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


def test_every_text_was_read_beside_its_tables(figures: ModuleType) -> None:
    assert figures.unconfirmed(figures.read_topics()) == []


def test_no_document_has_a_figure_without_a_source(figures: ModuleType) -> None:
    assert {path.name: found for path in figures.documents() if (found := figures.unsourced(path))} == {}


def test_every_setting_occurs(figures: ModuleType) -> None:
    lines = (figures.RESULTS / "settings.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            document, _, number = line.partition(": ")
            assert number in figures.unmarked((ROOT / document).read_text(encoding="utf-8")), line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("takes 1.5 s and\n32 kB", ["1.5 s", "32 kB"]),
        ("BLEU 50.59 on val", ["50.59"]),
        ("2 to 4 % of words, 20\ntimes as long", ["2 to 4 %", "20 times"]),
        ("on 2 cores, 29,000 pairs, at most 6 words", []),
        ("`--limit 0.5`, $T = 0.5$, [here](a-0.5.md)", []),
        ("table 7.1 of the thesis, equations (7.9 to 7.11), Python 3.11", []),
        ("<!-- table: a/b -->\n| 1.5 s |\n<!-- /table -->\n<!-- cell: a/b 1 1 -->1.5 s<!-- /cell -->", []),
        ("<!-- text: a/b -->\nIt takes 1.5 s.\n<!-- /text -->\n", []),
        ("    dragoman train 1.5 s\n\n```text\n1.5 s\n```\n", []),
    ],
)
def test_measured_figures_are_found(figures: ModuleType, text: str, found: list[str]) -> None:
    assert figures.unmarked(text) == found


def test_a_text_is_shown(figures: ModuleType) -> None:
    text = "<!-- text: training/slow -->\nIt is fast.\n<!-- /text -->\n"
    expected = "<!-- text: training/slow -->\nIt is slow:\n2.13 s.\n<!-- /text -->\n"
    assert figures.fill(text, {"training": tomllib.loads(TOPIC)}) == expected


def test_a_text_is_confirmed_when_its_table_has_changed(
    figures: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    (tmp_path / "training.toml").write_text(TOPIC, encoding="utf-8")
    assert figures.unconfirmed(figures.read_topics(tmp_path)) == []
    figures.record("training", "sizes", [sys.executable, "-c", "print('| pairs |\\n|---|\\n| 7 |')"])
    assert figures.unconfirmed(figures.read_topics(tmp_path)) == ["training/slow"]
    figures.confirm("training", ["other"])
    assert figures.unconfirmed(figures.read_topics(tmp_path)) == ["training/slow"]
    figures.confirm("training", ["slow"])
    assert figures.unconfirmed(figures.read_topics(tmp_path)) == []


def test_every_figure_says_where_it_comes_from(figures: ModuleType) -> None:
    for topic in figures.read_topics().values():
        for entry in [*topic.get("table", []), *topic.get("figure", []), *topic.get("text", [])]:
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
