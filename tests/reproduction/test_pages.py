"""Pages are made from claims, plans and raw results, the same every time, and stale verdicts are noticed."""

import pytest

from dragoman.core.errors import DataError
from reproduction import pages
from reproduction.claims import confirm, read_claims, stale
from reproduction.layout import Paper, expanded
from reproduction.results import Results


@pytest.fixture
def paper(root):
    return Paper("tuning", root / "papers" / "tuning")


def test_a_page_shows_the_papers_numbers_and_ours(paper, results):
    files = pages.page_files(paper)
    page = files[paper.folder / "page.md"]
    assert "| test | 1.0 | 2.0 |" in page
    assert "| test | 20.50 (0.71) | 22.00 (0.00) |" in page
    assert "**Cannot be told here.** There are only two." in page
    assert files[paper.folder / "figure-1.svg"].startswith("<svg")
    assert pages.page_files(paper) == files


def test_without_results_a_page_says_so(paper):
    files = pages.page_files(paper)
    assert list(files) == [paper.folder / "page.md"]
    assert "Not run yet: both." in files[paper.folder / "page.md"]


def test_new_results_ask_for_a_verdict_and_changed_ones_for_another(paper, results):
    assert [text.partition(":")[0] for text in stale(paper)] == ["tuning/first"]
    file = paper.folder / "claims.toml"
    text = file.read_text(encoding="utf-8").replace('"not run yet"', '"holds"\nreason = "22 is more than 20.5."', 1)
    file.write_text(text, encoding="utf-8")
    confirm(paper, ["first"])
    assert list(stale(paper)) == []
    assert [claim.verdict for claim in read_claims(paper)] == ["holds", "cannot be told here"]
    runs = results / "runs.csv"
    runs.write_text(runs.read_text(encoding="utf-8").replace("22.0", "19.0"), encoding="utf-8")
    (found,) = stale(paper)
    assert found.startswith("tuning/first: was judged on other results")
    confirm(paper, [])
    assert list(stale(paper)) == []


def test_faults_are_old_pages_and_pictures_without_a_plan(root, paper, results):
    confirm(paper, [])
    papers, folder = [paper], root / "papers"
    pages.write(pages.all_files(papers, folder))
    assert list(pages.faults(papers, folder)) == []
    page = paper.folder / "page.md"
    page.write_text(page.read_text(encoding="utf-8").replace("22.00", "23.00"), encoding="utf-8")
    (paper.folder / "figure-9.svg").write_text("<svg/>", encoding="utf-8")
    assert [fault.partition(":")[0] for fault in pages.faults(papers, folder)] == [
        "tuning/page.md",
        "tuning/figure-9.svg",
    ]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"not run yet"', '"perhaps"', "verdict 'perhaps'"),
        ('"not run yet"', '"holds"', "verdict without a reason"),
        ('"table-1"', '"table-2"', "for which there is no plan"),
        ('id = "second"', 'id = "first"', "two claims of the same id"),
    ],
)
def test_wrong_claims_are_refused(paper, old, new, found):
    file = paper.folder / "claims.toml"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=found):
        read_claims(paper)


def test_cells_are_selected_by_columns(paper, results):
    found = Results(paper)
    cell = {"from": "both", "test set": "test"}
    assert found.numbers({**cell, "method": ["mira", "pro"]}) == [20.0, 21.0, 22.0, 22.0]
    assert found.show({**cell, "method": "pro", "show": "change", "base": {"method": "mira"}}) == "+1.50"
    assert found.show({**cell, "method": "other"}) == "\u2013"


def test_recipes_are_expanded_for_each_combination(root):
    recipe = {"name": "{pair}-{n}", "each": {"pair": ["en-fr"], "n": [1, 2]}, "files": ["{source}.{english}", "{out}"]}
    found = list(expanded(recipe, root))
    assert found == [{"name": f"en-fr-{n}", "files": ["en.fr-en", "{out}"]} for n in (1, 2)]
