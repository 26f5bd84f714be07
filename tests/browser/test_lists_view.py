"""Lists: any n-best file, its candidates, sliders that rerank, and files to take away."""

import pytest
from playwright.sync_api import expect

import dragoman as dm

pytestmark = pytest.mark.slow

LISTS = (
    "0 ||| the house ||| lm= -2 tm= -1 ||| -3\n0 ||| a house ||| lm= -1 tm= -3 ||| -4\n"
    "1 ||| a cat ||| lm= -2 tm= -2 ||| -4\n1 ||| the cat ||| lm= -5 tm= -2.5 ||| -7.5\n"
)


@pytest.fixture
def lists(at, tmp_path):
    """A page with a file of lists in it."""
    (tmp_path / "some.nbest").write_text(LISTS, encoding="utf-8")
    page = at("lists")
    expect(page.get_by_text("N-best lists of any system")).to_be_visible()
    page.get_by_label("Choose a file").set_input_files(tmp_path / "some.nbest")
    expect(page.locator(".candidate-text").first).to_have_text("the house")
    return page


def test_candidates_are_reranked_by_sliders(lists):
    assert lists.locator(".candidate-text").all_inner_texts() == ["the house", "a house"]
    assert lists.get_by_label("lm, exactly").input_value() == "1"  # the weights behind the scores are found
    lists.get_by_label("tm, exactly").fill("0.1")
    expect(lists.locator(".candidate-text").first).to_have_text("a house")
    expect(lists.get_by_text("moses: 2 lists; these weights choose another best candidate in 1.")).to_be_visible()
    lists.get_by_role("button", name="Next").click()
    expect(lists.locator(".candidate-text")).to_have_text(["a cat", "the cat"])


def test_what_was_reranked_can_be_taken_away(lists):
    lists.get_by_label("tm, exactly").fill("0.1")
    with lists.expect_download() as best:
        lists.get_by_role("button", name="Download the best").click()
    assert best.value.suggested_filename == "some.nbest.best.txt"
    assert best.value.path().read_text(encoding="utf-8") == "a house\na cat\n"
    with lists.expect_download() as whole:
        lists.get_by_role("button", name="Download the lists").click()
    rows = [line.split(" ||| ") for line in whole.value.path().read_text(encoding="utf-8").splitlines()]
    assert [row[1] for row in rows] == ["a house", "the house", "a cat", "the cat"]


def test_a_file_is_dropped(at):
    page = at("lists")
    expect(page.locator(".drop")).to_be_visible()
    page.evaluate(
        """lists => {
          const data = new DataTransfer();
          data.items.add(new File([lists], "dropped.nbest"));
          document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        LISTS,
    )
    expect(page.locator(".candidate-text").first).to_have_text("the house")


def test_what_is_no_list_is_refused_beside_the_file(watched, tmp_path):
    (tmp_path / "bad.txt").write_text("0 ||| the house ||| lm= x ||| -3\n", encoding="utf-8")
    page = watched.open("lists")
    page.get_by_label("Choose a file").set_input_files(tmp_path / "bad.txt")
    expect(page.locator(".drop .failure")).to_be_visible()
    watched.excuse("400|422")


def test_a_file_that_cannot_be_read_takes_the_place_of_the_one_before(lists, watched, tmp_path):
    (tmp_path / "bad.txt").write_text("0 ||| the house ||| lm= x ||| -3\n", encoding="utf-8")
    lists.get_by_label("Choose a file").set_input_files(tmp_path / "bad.txt")
    expect(lists.locator(".drop .failure")).to_contain_text("Reading bad.txt failed: ")
    expect(lists.locator(".candidate-text")).to_have_count(0)
    watched.excuse("400|422")


def test_candidates_are_chosen_by_mbr(at):
    texts = ["dogs", "the cat sat", "a cat sat", "the cat sat down"]
    page = at("lists")
    page.get_by_label("Or paste lists here").fill(
        "".join(f"0 ||| {text} ||| lm= -{i} ||| -{i}\n" for i, text in enumerate(texts)) + "1 ||| so ||| lm= 0 ||| 0\n"
    )
    expect(page.locator(".candidate-text").first).to_have_text("dogs")
    page.get_by_label("Metric").select_option("chrf")
    page.get_by_label("Weight candidates").select_option("equally (samples)")
    page.get_by_role("button", name="Choose by MBR").click()
    expect(page.get_by_text("MBR with chrf chooses another candidate than the first in 1 of 2 lists")).to_be_visible()
    (wanted,) = dm.mbr([texts], utility="chrf")
    chosen = page.locator("li", has=page.get_by_role("img", name="chosen by MBR"))
    expect(chosen.locator(".candidate-text")).to_have_text([wanted])
    with page.expect_download() as choices:
        page.get_by_role("button", name="Download the choices").click()
    assert choices.value.path().read_text(encoding="utf-8") == f"{wanted}\nso\n"
    page.get_by_label("Metric").select_option("bleu")  # which has chosen nothing yet
    expect(chosen).to_have_count(0)


def test_the_example_teaches(at):
    page = at("lists")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".candidate-text").first).to_have_text("the house is blue")
    expect(page.locator(".moved", has_text="▲")).to_have_count(0)


def test_of_a_long_list_all_can_be_seen(at, tmp_path):
    rows = "".join(f"0 ||| candidate {k} ||| lm= -{k} ||| -{k}\n" for k in range(120))
    (tmp_path / "long.nbest").write_text(rows, encoding="utf-8")
    page = at("lists")
    page.get_by_label("Choose a file").set_input_files(tmp_path / "long.nbest")
    expect(page.locator(".candidate")).to_have_count(50)
    page.get_by_role("button", name="Show 70 more").click()
    expect(page.locator(".candidate")).to_have_count(120)
    expect(page.locator(".candidate").nth(50)).to_be_focused()
