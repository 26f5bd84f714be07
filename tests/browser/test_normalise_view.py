"""Normalise: old spelling in, modern spelling out, marked where it changed, with other forms to choose from."""

import pytest
from playwright.sync_api import expect

import dragoman as dm

pytestmark = pytest.mark.slow


@pytest.fixture
def spelt(at):
    """A page with a text in modern spelling."""
    page = at("normalise", text="Vnd jn,\n<b>haus</b> vnter")
    expect(page.locator("#view-normalise .output")).to_have_text("Und in,\n<b>haus</b> unter")
    return page


def test_what_changed_is_marked(spelt):
    assert spelt.locator(".spelt.changed").all_inner_texts() == ["Und", "in", "unter"]
    expect(spelt.get_by_text("3 of 4 words changed")).to_be_visible()
    expect(spelt.get_by_text("Tags do not change.")).to_be_visible()
    expect(spelt.get_by_role("tab", name="Normalise")).to_have_attribute("aria-selected", "true")


def test_another_form_is_chosen_and_taken_away(spelt):
    spelt.get_by_role("button", name="Und", exact=True).click()
    expect(spelt.get_by_role("heading", name="Modern forms of \u201cVnd\u201d")).to_be_visible()
    spelt.get_by_role("button", name="Vnd unchanged").click()
    expect(spelt.locator("#view-normalise .output")).to_have_text("Vnd in,\n<b>haus</b> unter")
    expect(spelt.get_by_text("2 of 4 words changed")).to_be_visible()
    with spelt.expect_download() as saved:
        spelt.get_by_role("button", name="Download").click()
    assert saved.value.path().read_text(encoding="utf-8") == "Vnd in,\n<b>haus</b> unter"


def test_corrections_stay_and_are_examples_to_train_on(spelt, tmp_path):
    output, source = spelt.locator("#view-normalise .output"), spelt.get_by_label("Text in old spelling")
    expect(spelt.get_by_role("button", name="Save corrections")).to_be_hidden()
    spelt.get_by_role("button", name="in", exact=True).click()
    spelt.get_by_label("Another form").fill(" ihn ")
    spelt.get_by_role("button", name="Correct", exact=True).click()
    expect(output).to_have_text("Und ihn,\n<b>haus</b> unter")
    spelt.get_by_role("button", name="haus", exact=True).click()
    spelt.locator("#view-normalise .probable").first.click()
    source.fill("jn vnd jn haus")
    expect(output).to_have_text("ihn und ihn haus")
    assert spelt.locator(".spelt.by-hand").all_inner_texts() == ["ihn", "ihn", "haus"]
    expect(spelt.get_by_text("Your corrections: 2.")).to_be_visible()
    with spelt.expect_download() as saved:
        spelt.get_by_role("button", name="Save corrections").click()
    assert saved.value.path().read_bytes() == b"jn\tihn\nhaus\thaus\n"
    examples = [("vnd", "und"), ("vns", "uns"), ("jn", "in"), ("vnter", "unter")] * 5
    rows = "".join(f"{old}\t{new}\n" for old, new in examples)
    (tmp_path / "words.tsv").write_text(rows, encoding="utf-8")
    (tmp_path / "corrections.tsv").write_bytes(saved.value.path().read_bytes() * 20)
    files = [tmp_path / "words.tsv", tmp_path / "corrections.tsv"]
    assert dm.normaliser(examples=files, threads=1, progress=False).normalise("jn") == "ihn"
    spelt.locator(".spelt").first.click()
    spelt.get_by_role("button", name="Undo the correction").click()
    expect(output).to_have_text("in und in haus")


def test_words_are_reached_by_arrows(spelt):
    spelt.locator(".spelt").first.focus()
    spelt.keyboard.press("ArrowRight")
    expect(spelt.locator(".spelt").nth(1)).to_be_focused()
    spelt.keyboard.press("Enter")
    expect(spelt.get_by_role("heading", name="Modern forms of \u201cjn\u201d")).to_be_visible()
    spelt.keyboard.press("Home")
    expect(spelt.locator(".spelt").first).to_be_focused()


def test_typing_is_followed_and_too_much_refused(watched):
    page = watched.open("normalise")
    expect(page.get_by_text("Nothing to normalise yet")).to_be_visible()
    page.get_by_label("Text in old spelling").fill("vns")
    expect(page.locator("#view-normalise .output")).to_have_text("uns")
    page.get_by_label("Text in old spelling").fill("vns " * 300)
    expect(page.locator("#view-normalise .failure")).to_contain_text("expected at most 250")
    watched.excuse("413")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(at, watched, scheme):
    watched.page.set_viewport_size({"width": 360, "height": 740})
    watched.page.emulate_media(color_scheme=scheme)
    page = at("normalise", text="vnd " * 30 + "x" * 90)
    page.locator(".spelt").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
