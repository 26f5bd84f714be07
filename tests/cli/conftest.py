"""Commands as a user types them: in this process where that is enough, in one of their own where it is not."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.cli.main import main
from oracles.toy_language import Pair, sentence_pairs


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one sentence that says what is wrong."""
        assert "Traceback" not in self.err
        lines = [line for line in self.err.splitlines() if line.startswith("dragoman: error: ")]
        assert lines == self.err.splitlines()[-1:], self.err
        return lines[0].removeprefix("dragoman: error: ")

    @property
    def warnings(self) -> list[str]:
        mark = "dragoman: warning: "
        return [line.removeprefix(mark) for line in self.err.splitlines() if line.startswith(mark)]


@dataclass(frozen=True)
class Toy:
    """A parallel text in a folder, as files `s`, `t` and `links`, and as lists."""

    folder: Path
    pairs: list[Pair]

    @property
    def source(self) -> Path:
        return self.folder / "s"

    @property
    def target(self) -> Path:
        return self.folder / "t"

    @property
    def links(self) -> Path:
        return self.folder / "links"

    def write(self, folder, **parts):
        """Write parts of the text as NAME.s and NAME.t: `toy.write(folder, dev=slice(20))`."""
        for name, part in parts.items():
            for side, suffix in (("source", "s"), ("target", "t")):
                lines = "".join(f"{' '.join(getattr(pair, side))}\n" for pair in self.pairs[part])
                (folder / f"{name}.{suffix}").write_text(lines, encoding="utf-8")

    @property
    def train(self) -> list[object]:
        """The arguments of a training on it."""
        return ["train", "--source", self.source, "--target", self.target, "--tokenised", "--threads", "1"]


@pytest.fixture(scope="session")
def command():
    """The `dragoman` of the environment that the tests run in."""
    return Path(sys.executable).with_name("dragoman")


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    pairs = sentence_pairs(250)
    for name, lines in (
        ("s", [" ".join(pair.source) for pair in pairs]),
        ("t", [" ".join(pair.target) for pair in pairs]),
        ("links", [" ".join(f"{s}-{t}" for s, t in pair.links) for pair in pairs]),
    ):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Toy(folder, pairs)


@pytest.fixture(scope="session")
def model(command, toy, tmp_path_factory):
    """A model trained on the toy corpus with its true links; for looking at only."""
    out = tmp_path_factory.mktemp("trained") / "model"
    done = subprocess.run(
        [command, *map(str, toy.train), "--alignment", toy.links, "--out", out], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture
def dragoman(monkeypatch, capsysbinary):
    """Run a command in this process: `dragoman("model", "show", folder, stdin=b"...")`."""

    def run(*arguments, stdin=b"", environment=None):
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["dragoman", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsysbinary.readouterr()
        code = ended.value.code
        return Result(0 if code is None else code, captured.out.decode(), captured.err.decode())

    return run


@pytest.fixture
def spawn(command):
    """Run a command in a process of its own."""

    def run(*arguments, stdin=b"", environment=None, **settings):
        done = subprocess.run(
            [command, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env={**os.environ, **(environment or {})},
            timeout=60,
            **settings,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def csv_rows():
    """Read a CSV file with a header."""

    def read(path):
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    return read


@pytest.fixture(scope="session")
def without_clocks():
    """The files of an experiment that must be the same whenever it is done: all but times, and the page with them."""

    def read(folder):
        found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for name in [name for name in found if name.endswith("events.jsonl")]:
            events = [json.loads(line) for line in found[name].splitlines()]
            timed = ("seconds", "checksum")  # which is of all of a line
            found[name] = json.dumps([{k: v for k, v in e.items() if k not in timed} for e in events]).encode()
        return {name: text for name, text in found.items() if name != "report.html"}

    return read


@pytest.fixture(scope="session")
def killed_experiment(command):
    """Carry out a plan until a file of some pattern is about to get its name, then kill the command and its workers."""
    killing = Path(__file__).parent.with_name("oracles") / "killing"

    def run(plan, out, pattern):
        arguments = [command, "experiment", plan, "--out", out, "--threads", "1"]
        path = os.pathsep.join([str(killing), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [*map(str, arguments)],
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path, "KILL_BEFORE": f"{out}/{pattern}"},
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert list(out.rglob(".*.partial-*"))
        assert not (out / "report.html").exists()

    return run


@pytest.fixture
def unchanged(tmp_path):
    """Checks at the end of a test that nothing was added to the test's folder or taken from it since it was told to."""
    before: list[list[str]] = []

    def names():
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))

    yield lambda: before.append(names())
    assert before, "call unchanged() when everything is in place"
    assert names() == before[0]
