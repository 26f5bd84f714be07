"""Every opening, write, new folder and rename of every command that writes fails in turn.

Each time there is one sentence that names what was to be written, nothing temporary is left, and what was there before
is as it was, or what was to be written is there whole. Each test asks for `monkeypatch`, by which it is run in a
process of its own, whose disk fails for nobody else.
"""

import errno
import io
import json
import os
import shutil
from pathlib import Path

import pytest

from dragoman.core.errors import DragomanError
from dragoman.core.own_files import is_leftover
from dragoman.core.runtime import ThreadWorkers

pytestmark = pytest.mark.slow


class FailingDisk:
    """Lets a call that changes files below a folder fail, and those after it as well if it is for want of room."""

    def __init__(self, monkeypatch, folder):
        self._folder, self._open = str(folder), io.open
        self._left, self._numbers, self.failed = 0, (), None
        monkeypatch.setattr(io, "open", self._opened)
        monkeypatch.setattr(os, "mkdir", self._counted(os.mkdir, errno.ENOSPC))
        for name in ("rename", "replace"):
            monkeypatch.setattr(os, name, self._counted(getattr(os, name), errno.EIO))

    def fail(self, call, numbers=()):
        """From now on, let the call of this number fail, counting those that fail with one of these errors."""
        self._left, self._numbers, self.failed = call, numbers, None

    def count(self, path, number):
        """Count a call on a path that may fail with an error of some number."""
        if number not in self._numbers or not os.fspath(path).startswith(self._folder):
            return
        self._left -= 1
        if self._left == 0 or self.failed == number == errno.ENOSPC:
            self.failed = number
            raise OSError(number, os.strerror(number))

    def _counted(self, function, number):
        def call(path, *arguments, **more):
            if not (function.__name__ == "mkdir" and Path(path).is_dir()):  # which fails for another reason
                self.count(path, number)
            return function(path, *arguments, **more)

        return call

    def _opened(self, file, mode="r", *arguments, **more):
        if isinstance(file, int) or mode in ("r", "rb"):
            return self._open(file, mode, *arguments, **more)
        self.count(file, errno.ENOSPC)
        stream = io.BufferedWriter(CountedFile(self, file, mode[0]))
        return stream if "b" in mode else io.TextIOWrapper(stream, "utf-8")


class CountedFile(io.FileIO):
    """A file whose writes count."""

    def __init__(self, disk, path, mode):
        super().__init__(path, mode)
        self._disk, self._path = disk, path

    def write(self, data):
        self._disk.count(self._path, errno.ENOSPC)
        return super().write(data)


def draw_quickly(monkeypatch):
    """Let pictures be empty: to draw one takes longer than all else."""
    for place in ("figures.svg", "reports.report"):
        monkeypatch.setattr(f"dragoman.evaluation.{place}.figure_svg", lambda figure: "<svg></svg>")


@pytest.fixture
def failures(dragoman, monkeypatch, tmp_path):
    """Run a command with its first call failing, then the second, until none fails; yields what it said each time.

    Renames are tried for themselves, and then all else; where there are many that are alike, later ones of `rarely`
    are tried more and more rarely.
    """

    def run(*arguments, rarely=()):
        draw_quickly(monkeypatch)
        disk = FailingDisk(monkeypatch, tmp_path)
        for number in (errno.EIO, errno.ENOSPC):
            call = 1
            while True:
                disk.fail(call, [number])
                result = dragoman(*arguments)
                failed = disk.failed
                disk.fail(0)
                if failed is None:
                    break
                assert result.code == 1, f"call {call} failed, and the command did not"
                reason = "the disk is full" if failed == errno.ENOSPC else os.strerror(failed)
                assert f": could not be written: {reason}; nothing was changed" in result.error
                assert not result.error.startswith("standard output")
                yield result
                call += 1 + (call // 2 if number in rarely else 0)
            assert result.code == 0, result.err
            assert call > 1
            yield None

    return run


def content(folder):
    """All that is in a folder: bytes of files, None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def dev(toy, tmp_path_factory):
    """A folder with a few sentences, `dev.s` and `dev.t`."""
    folder = tmp_path_factory.mktemp("dev")
    toy.write(folder, dev=slice(4))
    return folder


FOLDERS = {
    "train": ["--alignment", "{toy}/links", "--max-phrase-length", "2"],
    "filter": ["model", "filter", "{model}", "--source", "{dev}/dev.s"],
    "add features": ["model", "add-features", "{model}", "--feature", "phrase-length"],
    "export": ["export", "moses", "{model}"],
    "import": ["import", "moses", "{dev}/moses/moses.ini"],
    "diagnose": [
        *("diagnose", "--model", "{model}", "--source", "{dev}/dev.s", "--prepared", "--sentences", "1"),
        *("--samples", "10", "--nbest", "5", "--table-limit", "2"),
    ],
}


@pytest.mark.parametrize("name", FOLDERS)
def test_folders(dragoman, failures, toy, model, dev, tmp_path, name, monkeypatch):
    if name == "import":
        assert dragoman("model", "filter", model, "--source", dev / "dev.s", "--out", dev / "part").code == 0
        assert dragoman("export", "moses", dev / "part", "--out", dev / "moses").code == 0
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.toml").write_text("old", encoding="utf-8")
    before = content(tmp_path)
    shutil.copytree(out, dev / "old")
    arguments = [text.format(toy=toy.folder, model=model, dev=dev) for text in FOLDERS[name]]
    words = [*toy.train, *arguments] if name == "train" else arguments
    for result in failures(*words, "--out", out, "--force", rarely=[errno.ENOSPC]):
        if result is None:
            assert (out / "model.toml").exists() == (name not in ("export", "diagnose"))
            assert {path.name for path in tmp_path.iterdir()} == {"out"}
            shutil.rmtree(out)
            shutil.copytree(dev / "old", out)
            continue
        assert content(tmp_path) == before
        assert result.error.startswith(str(out))


@pytest.mark.parametrize("more", [[], ["--hierarchical", "--rule-max-span", "3"]])
def test_training_in_parts(dragoman, failures, toy, tmp_path, more, monkeypatch):
    (tmp_path / "temporary").mkdir()
    options = ["--max-phrase-length", "2", "--memory", "1500K", *(more or ["--alignment", toy.links])]
    arguments = [*toy.train, *options, "--temporary", tmp_path / "temporary", "--out", tmp_path / "out"]
    for result in failures(*arguments, rarely=[errno.EIO, errno.ENOSPC]):
        if result is None:
            shutil.rmtree(tmp_path / "out")
        assert content(tmp_path) == {"temporary": None}
        assert result is None or result.error.startswith(str(tmp_path))


FILES = {
    "align": "align --source {dev}/dev.s --target {dev}/dev.t --out {out}/a",
    "estimate": "lm estimate {toy}/t --order 2 --out {out}/a.gz",
    "interpolate": "lm interpolate {dev}/lm {dev}/lm --weight 0.5 --weight 0.5 --out {out}/a.zst",
    "tag": "tag --text {dev}/dev.t --tagger most-frequent --tagger-option model={dev}/tagged --out {out}/a.xz",
    "sample": "sample --model {model} --source {dev}/dev.s --prepared --samples 2 --burn-in 0 --out {out}/a.bz2",
    "mbr": "mbr --candidates {dev}/lists --out {out}/a --utility-matrix {out}/b.npz --picture {out}/c.svg",
    "rerank tune": "rerank tune --candidates {dev}/lists --reference {dev}/two --out {out}/a",
    "rerank apply": "rerank apply --candidates {dev}/lists --weights {dev}/weights --out {out}/a",
    "tune decision": "tune-decision --model {model} --source {dev}/dev.s --reference {dev}/dev.t --prepared"
    " --decision mbr --nbest-size 5 --grid scale=1,2 --out {out}/a --plot {out}/b.svg",
    "score": "score {dev}/dev.t --reference {dev}/dev.t --sentences {out}/a",
    "translate": "translate --model {model} {dev}/dev.s --prepared --details {out}/a --alignment-out {out}/b.gz"
    " --nbest 2 --nbest-out {out}/c --hypergraphs {out}/d --picture {out}/e",
}


@pytest.mark.parametrize("name", FILES)
def test_files(dragoman, failures, toy, model, dev, tmp_path, name, monkeypatch):
    """Files that a command writes beside each other are old or new, each for itself."""
    draw_quickly(monkeypatch)
    (dev / "lm").write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <s>\n-1 </s>\n-1 a\n\n\\end\\\n")
    (dev / "tagged").write_text("a|N\n", encoding="utf-8")
    (dev / "lists").write_text("0 ||| a b ||| f= 1 ||| 1\n0 ||| a ||| f= 0 ||| 0\n1 ||| c ||| f= 0 ||| 0\n")
    (dev / "two").write_text("a\nc\n", encoding="utf-8")
    (dev / "weights").write_text("f 1\n", encoding="utf-8")
    arguments = FILES[name].format(toy=toy.folder, model=model, dev=dev, out=tmp_path).split()
    assert dragoman(*arguments).code == 0
    new = content(tmp_path)
    old = dict.fromkeys(new, b"old")
    for result in failures(*arguments):
        found = content(tmp_path)
        assert found.keys() <= new.keys()
        assert all(found[file] in (old.get(file), new[file]) for file in found)
        assert found == new if result is None else any(result.error.startswith(str(tmp_path / file)) for file in new)
        for file, text in old.items():
            (tmp_path / file).write_bytes(text)


@pytest.mark.parametrize("method", ["mert", "samplerank"])
def test_a_run_goes_on_after_each_failure(dragoman, failures, model, dev, tmp_path, method, monkeypatch):
    arguments = ["tune", "--model", model, "--source", dev / "dev.s", "--reference", dev / "dev.t", "--prepared"]
    arguments += ["--method", method, "--iterations", "2", "--threads", "1"]
    arguments += ["--nbest", "5"] if method == "mert" else []
    assert dragoman(*arguments, "--out", dev / "whole").code == 0
    for result in failures(*arguments, "--out", tmp_path / "run", rarely=[errno.EIO, errno.ENOSPC]):
        assert not any(map(is_leftover, tmp_path.rglob("*")))
        if result is not None:
            assert result.error.startswith(str(tmp_path))
            assert dragoman(*arguments, "--out", tmp_path / "run").code == 0
        assert without_times(tmp_path / "run") == without_times(dev / "whole")
        shutil.rmtree(tmp_path / "run")


def without_times(folder):
    found = content(folder)
    events = [json.loads(line) for line in found["events.jsonl"].splitlines()]
    return {**found, "events.jsonl": [{**event, "seconds": None, "checksum": None} for event in events]}


def test_an_experiment_goes_on_after_each_failure(dragoman, failures, model, dev, tmp_path, monkeypatch):
    def one_by_one(workers, jobs, watch, *, threads):
        failed = {}
        for name, job in jobs.items():
            try:
                job()
            except DragomanError as error:
                failed[name] = error
            watch()
        return failed

    monkeypatch.setattr(ThreadWorkers, "run_all", one_by_one)
    (dev / "plan.toml").write_text(
        f"""model = "{model}"\nsource = "dev.s"\nreference = "dev.t"\nprepared = true\ncurves = false
        runs = 1\nmetrics = ["bleu"]
        loop.iterations = 1\ndecoding.nbest = 5\nmethod = [{{ name = "mert", options = {{ restarts = 1 }} }}]
        test = [{{ name = "test", source = "dev.s", reference = "dev.t" }}]""",
        encoding="utf-8",
    )
    arguments = ["experiment", dev / "plan.toml", "--threads", "1"]
    assert dragoman(*arguments, "--out", dev / "whole").code == 0
    for result in failures(*arguments, "--out", tmp_path / "out", rarely=[errno.EIO, errno.ENOSPC]):
        assert not any(map(is_leftover, tmp_path.rglob("*")))
        if result is not None:
            assert str(tmp_path / "out") in result.error
            assert dragoman(*arguments, "--out", tmp_path / "out").code == 0
        assert content(tmp_path / "out").keys() == content(dev / "whole").keys()
        shutil.rmtree(tmp_path / "out")


def test_a_demo_that_cannot_begin(dragoman, monkeypatch, tmp_path):
    FailingDisk(monkeypatch, tmp_path).fail(1, [errno.ENOSPC])
    out = tmp_path / "demo"
    assert dragoman("demo", "--out", out).error == f"{out}: could not be written: the disk is full; nothing was changed"
    assert content(tmp_path) == {}
