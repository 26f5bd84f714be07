"""Documents name files, names and versions that exist and agree, and have the form that CONTRIBUTING asks for."""

import re
import tomllib
from pathlib import Path

import pytest

from dragoman import kernels

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dragoman"
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")]
)


def paths_in(text):
    """Return the names in backticks that look like files of the project, without patterns and placeholders."""
    return re.findall(r"`([a-z_/.]+\.(?:py|pyi|hpp|cpp))`", text)


def is_there(name):
    if name == "_kernels.pyi":  # made with the kernels
        return (Path(kernels.__path__[0]) / name).exists()
    if "/" in name:
        return any((base / name).exists() for base in (ROOT, PACKAGE))
    return any(
        next(folder.rglob(name), None) for folder in (PACKAGE, ROOT / "tests", ROOT / "benchmarks", ROOT / "docs")
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page):
    assert [name for name in paths_in(page.read_text(encoding="utf-8")) if not is_there(name)] == []


def opening(page):
    """Return the first paragraph below the title of a page."""
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.S)
    return text.split("\n\n")[1].replace("\n", " ")


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_document_opens_with_the_question_that_it_answers(page):
    assert "?" in opening(page)


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/how-to/*.md")), ids=lambda page: page.stem)
def test_a_how_to_begins_with_an_example_and_ends_with_what_can_go_wrong(page):
    headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.M)
    assert headings[0] == "Example"
    assert headings[-1] == "When it goes wrong"


def test_names_in_the_glossary_are_where_it_says():
    entries = re.findall(r"`(\w+)` in `([\w/.]+)`", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"))
    assert len(entries) > 50
    for name, path in entries:
        assert re.search(rf"\b{name}\b", (PACKAGE / path).read_text(encoding="utf-8")), f"{name} in {path}"


def test_every_benchmark_of_the_results_exists():
    text = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("benchmarks/**/*.md"))
    scripts = set(re.findall(r"benchmarks/(\w+\.py)", text))
    assert len(scripts) > 15
    assert [name for name in scripts if not (ROOT / "benchmarks" / name).exists()] == []


def test_every_page_of_results_is_in_the_index():
    index = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    for page in (ROOT / "benchmarks/results").glob("*.md"):
        assert f"](results/{page.name})" in index


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changes, re.M)
    assert headings[0] == ("Unreleased", "")
    version, date = headings[1]
    assert version == project["version"]
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {date}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
