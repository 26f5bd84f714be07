"""Pages are made from claims, plans and raw results, the same every time, and stale verdicts are noticed."""

import pytest

from dragoman.core.errors import DataError
from reproduction import pages, tables
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
    assert "Criterion: pro is above mira." in page
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


def test_differences_have_standard_errors(paper, results):
    rows = [
        {"label": "pro", "a": {"method": "pro"}, "b": {"method": "mira"}},
        {"label": "none", "a": {"method": "pro"}, "b": {"method": "other"}},
    ]
    asked = {"title": "Differences", "from": "both", "test set": "test", "rows": rows}
    # 22 and 22 beside 20 and 21: the standard error is the root of 0.5 / 2.
    assert "| pro | +1.50 | 0.50 | +3.0 |" in (found := tables.comparison(asked, Results(paper)))
    assert "none" not in found


def test_one_test_pools_experiments(paper, results):
    for i, difference in enumerate((1.0, 2.0, 0.5, 3.0)):
        folder = paper.results(f"cell-{i}")
        folder.mkdir(parents=True)
        rows = f"method,test set,score\na,test,{20 + difference}\nb,test,20\n"
        (folder / "runs.csv").write_text(rows, encoding="utf-8")
    asked = {"title": "All", "from": [f"cell-{i}" for i in range(5)], "test set": "test", "pairs": [["a", "b"]]}
    # All four have one sign: of 16 changes of signs two are as extreme. The fifth was not run.
    assert "| a | b | +1.62 | 4 of 4 | 0.1250 |" in tables.pooled(asked, Results(paper))


def test_recipes_are_expanded_for_each_combination(root):
    recipe = {"name": "{pair}-{n}", "each": {"pair": ["en-fr"], "n": [1, 2]}, "files": ["{source}.{english}", "{out}"]}
    found = list(expanded(recipe, root))
    assert found == [{"name": f"en-fr-{n}", "files": ["en.fr-en", "{out}"]} for n in (1, 2)]
