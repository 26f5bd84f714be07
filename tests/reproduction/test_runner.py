"""The runner does what is not done, shares steps, stops in time and goes on after a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dragoman.core.options import read_toml
from reproduction.collect import write_origin
from reproduction.layout import Paper
from reproduction.materials import Materials
from reproduction.pages import page_files
from reproduction.runner import Settings, chosen, listing, run_all
from reproduction.times import Times, Took
from reproduction.work import Step, Timed, works

ROOT = Path(__file__).parents[2]

DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from reproduction.layout import Paper
from reproduction.materials import Materials
from reproduction.runner import Settings, run_all
from reproduction.times import Times
from reproduction.work import works
if __name__ == "__main__":
    here = Path({here!r})
    materials = Materials(here / "papers/data.toml", here / "data", here / "work")
    found = list(works([Paper("tuning", here / "papers/tuning")], materials))
    sys.exit(not run_all(found, Times(here / "work/times.jsonl"), None, Settings(1)))
"""


@pytest.fixture
def paper(root):
    return Paper("tuning", root / "papers" / "tuning")


@pytest.fixture
def materials(root):
    return Materials(root / "papers" / "data.toml", root / "data", root / "work")


def test_estimates_come_from_earlier_steps_by_their_lines(tmp_path):
    times = Times(tmp_path / "times.jsonl")
    times.add(Took("a, seed 1", "a", 100, 20.0))
    times.add(Took("a, seed 2", "a", 300, 40.0))
    with times.file.open("a", encoding="utf-8") as stream:
        stream.write('["cut o')
    assert Times(times.file).estimate("a, seed 1", "a", 100) == 20.0
    assert Times(times.file).estimate("a, seed 3", "a", 200) == 30.0
    assert Times(times.file).estimate("a, seed 3", "a", 0) == 30.0
    assert Times(times.file).estimate("b, seed 1", "b", 200) is None


def test_a_step_takes_time_of_processors_and_results_keep_it(tmp_path):
    times = Times(tmp_path / "times.jsonl")
    Timed(Step("a", "a", 1, False, partial(time.sleep, 0.3)), times)()
    took = times.recorded("a")
    assert took.seconds < 0.2 < took.elapsed
    assert took.share < 1
    write_origin(tmp_path / "measure", replace(took, seconds=2.0))
    assert Times(tmp_path / "none", (tmp_path / "measure",)).estimate("a", "a", 1) == 2.0


def test_a_list_says_what_there_is_to_do(paper, materials):
    found = list(works([paper], materials))
    assert [work.title for work in chosen(found, ["table-1"])] == ["tuning/both"]
    lines = list(listing(found, Times(materials.work / "times.jsonl"), None))
    assert lines[0] == "tuning/both: 0 of 2 steps done; about 3 min (2 of unknown duration)"
    assert not materials.work.exists()


def test_nothing_is_begun_that_does_not_fit(paper, materials):
    found = list(works([paper], materials))
    assert not run_all(found, Times(materials.work / "times.jsonl"), None, Settings(1, deadline=0.0))
    assert not (materials.work / "runs").exists()


@pytest.mark.slow
def test_a_killed_run_goes_on_and_steps_are_shared(root, paper, materials):
    """Killed where a run is about to record an iteration, and again where a translation gets its name."""
    driver = root / "driver.py"
    driver.write_text(DRIVER.format(root=str(ROOT), here=str(root)), encoding="utf-8")
    killing = ROOT / "tests" / "oracles" / "killing"
    path = os.pathsep.join([str(killing), *filter(None, [os.environ.get("PYTHONPATH")])])
    for pattern in ("runs/*/events.jsonl", "runs/*/tests/*/*/final.txt"):
        done = subprocess.run(
            [sys.executable, driver],
            start_new_session=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": path, "KILL_BEFORE": f"{materials.work}/{pattern}"},
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
    done = subprocess.run([sys.executable, driver], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "tuning/both: 2 of 2 steps" in done.stderr
    assert "tuning/one: 1 of 1" not in done.stderr  # it was done for the other
    assert len(list(materials.work.glob("runs/*/run.toml"))) == 2
    both, one = (paper.results(name) / "runs.csv" for name in ("both", "one"))
    scores = [line for line in both.read_text(encoding="utf-8").splitlines() if line.startswith("pro,")]
    assert scores == [line for line in one.read_text(encoding="utf-8").splitlines() if line.startswith("pro,")]
    before = {path: path.read_bytes() for path in paper.folder.glob("results/*/*")}
    assert run_all(list(works([paper], materials)), Times(materials.work / "times.jsonl"), None, Settings(1))
    assert {path: path.read_bytes() for path in paper.folder.glob("results/*/*")} == before


@pytest.mark.slow
def test_methods_that_are_done_are_collected_while_others_are_left(paper, materials):
    recipe = paper.folder / "experiments" / "both.toml"
    another = '[[plan.method]]\nname = "simplex"\nuse = "simplex"\n\n[[plan.test]]'
    recipe.write_text(recipe.read_text(encoding="utf-8").replace("[[plan.test]]", another), encoding="utf-8")
    times = Times(materials.work / "times.jsonl")
    work = next(work for work in works([paper], materials) if work.name == "both")
    for name in work.needs:
        materials.make(name)
    *done, left = work.steps()
    assert work.finished() is None
    for step in done:
        step.run()
    assert not run_all([work], times, None, Settings(1, deadline=0.0))
    results = paper.results("both")
    assert read_toml(results / "origin.toml")["left"] == ["simplex"]
    assert "simplex" not in (results / "runs.csv").read_text(encoding="utf-8")
    assert "Not run yet: both (simplex)." in page_files(paper)[paper.folder / "page.md"].replace("\n", " ")
    left.run()
    assert run_all([work], times, None, Settings(1, deadline=0.0))
    assert "simplex" in (results / "runs.csv").read_text(encoding="utf-8")
    assert "left" not in read_toml(results / "origin.toml")
