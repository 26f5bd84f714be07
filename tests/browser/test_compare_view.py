"""Compare: two systems side by side, what differs, and scores."""

import pytest
from playwright.sync_api import expect

import dragoman as dm

pytestmark = pytest.mark.slow

TEXT = "Une femme dort près de la rivière.\nUn homme court dans la rue."
REFERENCE = "A woman sleeps near the river.\nA man runs on the street."


def test_differences_are_marked_and_sentences_scored(at):
    page = at("compare", text=TEXT, weights2="short", reference=REFERENCE)
    cards = page.locator(".compared")
    expect(cards).to_have_count(2)
    first = cards.nth(0).locator(".output").all_inner_texts()
    assert first[0] == "A woman sleeps near the river."
    assert first[1] != first[0]
    marked = cards.nth(0).locator("mark").all_inner_texts()
    assert marked
    assert all(word in f"{first[0]} {first[1]}" for word in marked)
    chips = cards.nth(1).locator(".chips").first.locator(".chip").all_inner_texts()
    line = cards.nth(1).locator(".output").first.inner_text()
    for chip, metric in zip(chips, ("bleu", "chrf"), strict=True):
        expected = dm.score([line], [REFERENCE.split("\n")[1]], metric).sentences[0]
        assert float(chip.removeprefix(f"{metric} ")) == pytest.approx(expected, abs=0.06)
    assert cards.nth(0).locator(".better").first.inner_text() == "bleu 100.0"
    expect(page.get_by_text("lines differ")).to_be_visible()
    expect(page.get_by_text("too few lines").first).to_be_visible()
    signatures = page.locator(".signature").all_inner_texts()
    assert [text.partition("|")[0] for text in signatures] == ["bleu", "tok:13a because the text looks raw", "chrf"]
    assert "|tok:13a|" in signatures[0]


def test_two_kinds_of_models_and_no_reference(at):
    page = at("compare", text=TEXT)
    # Something else is there to begin with: other weights, or another model.
    expect(page.locator(".compared h3").nth(1)).to_have_text("model, short")
    page.get_by_role("combobox", name="Weights").nth(1).select_option("")
    expect(page.get_by_text("0 of 2 lines differ")).to_be_visible()
    page.get_by_role("combobox", name="Weights").first.select_option("short")
    expect(page.locator(".compared h3")).to_have_text(["model, short", "model"] * 2)
    page.get_by_role("combobox", name="Second model").select_option("rules")
    expect(page.locator(".compared h3").nth(1)).to_have_text("rules")
    assert page.locator(".chips").count() == 0
    assert "model2=rules" in page.url


def test_references_of_another_number_are_refused_in_a_sentence(watched):
    page = watched.open("compare", text=TEXT, reference="Only one.")
    expect(page.locator("#view-compare .failure")).to_be_visible()
    watched.excuse("40|42")
