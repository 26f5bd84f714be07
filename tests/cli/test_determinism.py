"""The same command gives the same bytes, whatever the threads, the hash seed, the locale or the working folder."""

import os
import subprocess

import pytest

pytestmark = pytest.mark.slow

SETTINGS = {
    "two threads": (2, {}),
    "three threads": (3, {}),
    "hash seed": (1, {"PYTHONHASHSEED": "12345"}),
    "C locale": (1, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}),
    # Where this locale is installed, I is lower-cased to a dotless i and numbers have commas.
    "Turkish locale": (2, {"LC_ALL": "tr_TR.UTF-8", "LANGUAGE": "tr"}),
}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def raw(tmp_path_factory, toy):
    """The toy corpus as a person would write it, with letters beyond ASCII and capital I."""
    folder = tmp_path_factory.mktemp("raw")
    for side, ending in ((toy.source, "fr"), (toy.target, "en")):
        lines = side.read_text(encoding="utf-8").split("\n")[:-1]
        text = "".join(f"{line.title()}, dit IL: « \u0130I\u0131 ».\n" for line in lines)
        (folder / f"text.{ending}").write_text(text, encoding="utf-8")
    return folder


def train(command, raw, out, threads, environment):
    arguments = ["--source", raw / "text.fr", "--target", raw / "text.en", "--prune-significance", "a-e"]
    subprocess.run(
        [command, "train", *arguments, "--threads", str(threads), "--out", out],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    return contents(out)


@pytest.fixture(scope="module")
def expected(command, raw, tmp_path_factory):
    return train(command, raw, tmp_path_factory.mktemp("expected") / "m", 1, {"PYTHONHASHSEED": "0"})


@pytest.mark.parametrize("name", SETTINGS)
def test_models_are_the_same_to_the_byte(command, raw, expected, tmp_path, name):
    assert train(command, raw, tmp_path / "m", *SETTINGS[name]) == expected


@pytest.mark.parametrize("aligner", ["diagonal", "model1", "hmm"])
def test_links_do_not_depend_on_threads(dragoman, toy, aligner):
    first, *others = (
        dragoman("align", "--source", toy.source, "--target", toy.target, "--aligner", aligner, "--threads", threads)
        for threads in (1, 2, 3)
    )
    assert first.out.count("\n") == len(toy.pairs)
    assert [other.out for other in others] == [first.out, first.out]


def test_language_models_do_not_depend_on_threads(dragoman, toy):
    first, *others = (dragoman("lm", "estimate", toy.target, "--threads", threads) for threads in (1, 2, 3))
    assert first.out.startswith("\\data\\")
    assert [other.out for other in others] == [first.out, first.out]


def test_exports_are_the_same_to_the_byte(spawn, model, tmp_path):
    for name, environment in (("one", {"PYTHONHASHSEED": "1"}), ("two", {"PYTHONHASHSEED": "2", "LC_ALL": "C"})):
        assert spawn("export", "moses", model, "--out", tmp_path / name, environment=environment).code == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
