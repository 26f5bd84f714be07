"""Commands as a user types them: in this process where that is enough, in one of their own where it is not."""

import io
import os
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


@pytest.fixture(scope="session")
def write_plan(toy, model):
    """Write a plan for an experiment with the model, and beside it texts: `dev.s`, `dev.t`, `test.s` and `test.t`."""

    def write(folder, plan):
        for name, part in (("dev", toy.pairs[:20]), ("test", toy.pairs[20:35])):
            for side, suffix in (("source", "s"), ("target", "t")):
                lines = [" ".join(getattr(pair, side)) for pair in part]
                (folder / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        path = folder / "plan.toml"
        path.write_text(plan.format(model=model), encoding="utf-8")
        return path

    return write


@pytest.fixture
def dragoman(monkeypatch, capsysbinary):
    """Run a command in this process: `dragoman("model", "show", folder, stdin=b"...")`."""

    def run(*arguments, stdin=b""):
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


@pytest.fixture
def unchanged(tmp_path):
    """Checks at the end of a test that nothing was added to the test's folder or taken from it since it was told to."""
    before: list[list[str]] = []

    def names():
        return sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))

    yield lambda: before.append(names())
    assert before, "call unchanged() when everything is in place"
    assert names() == before[0]
