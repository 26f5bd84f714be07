"""Translate: text in, translation out as one types; links, pictures, candidates, unknown words."""

import re

import pytest
from playwright.sync_api import expect

from dragoman.core.feature_rows import Weights

pytestmark = pytest.mark.slow

SENTENCE = "Une femme dort près de la rivière."


def number(text):
    """A number as the page shows it, with a true minus."""
    return float(text.replace("\N{MINUS SIGN}", "-"))


def test_typing_shows_the_translation_and_the_address_keeps_it(at):
    page = at("translate")
    expect(page.get_by_text("Nothing to show yet")).to_be_visible()
    page.get_by_label("Text, French").press_sequentially(SENTENCE)
    output = page.locator("#view-translate .output")
    expect(output).to_have_text("A woman sleeps near the river.")
    expect(output).to_have_attribute("aria-live", "polite")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(output).to_have_text("A woman sleeps near the river.")
    expect(page.get_by_label("Text, French")).to_have_value(SENTENCE)


def test_words_light_up_with_those_they_are_linked_with(at):
    page = at("translate", text=SENTENCE)
    word = page.locator(".output .word", has_text="near")
    lit = page.locator(".behind.lit")
    word.hover()
    expect(lit).to_have_text(["près", "de"])
    expect(page.locator(".derivation .lit")).to_have_text(["près", "de"])
    expect(page.locator(".caption")).to_have_text("near ← près de")
    page.mouse.move(0, 0)
    expect(lit).to_have_count(0)
    # By keyboard: the line is one stop, arrows go along it.
    page.locator(".output .word").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".caption")).to_have_text("woman ← femme")
    # From the source, where the cursor stands.
    page.get_by_label("Text, French").press("Home")
    expect(page.locator(".output .lit")).to_have_text("A")
    expect(page.locator(".caption")).to_have_text("une → a")


def test_the_picture_of_phrases_has_both_sides_of_each(at):
    page = at("translate", text=SENTENCE)
    expect(page.locator(".derivation")).to_be_visible()
    expect(page.locator(".derivation .phrase rect")).to_have_count(2 * page.locator(".derivation .band").count())
    words = page.locator(".derivation .drawn-word").all_text_contents()
    assert sorted(words) == sorted(
        [*SENTENCE.lower()[:-1].split(), ".", "a", "woman", "sleeps", "near", "the", "river", "."]
    )
    assert re.match("The derivation: une femme", page.locator("svg.derivation").get_attribute("aria-label"))


def test_the_contributions_of_a_candidate_add_up_to_its_score(at, folder):
    page = at("translate", text=SENTENCE)
    candidate = page.locator(".candidate").nth(1)
    candidate.click()
    expect(candidate).to_have_attribute("aria-expanded", "true")
    table = page.locator(".contributions:not([hidden])")
    rows = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    weights = Weights.read(folder / "model" / "weights.txt")
    assert {row[0]: number(row[2]) for row in rows} == {row[0]: round(weights[row[0]], 3) for row in rows}
    score = number(candidate.locator(".number").inner_text())
    assert abs(sum(number(row[3]) for row in rows) - score) < 0.001 * (len(rows) + 1)
    assert score < number(page.locator(".candidate .number").first.inner_text())


def test_the_bars_of_losses_are_as_long_as_the_scores_are_low(at):
    page = at("translate", text=SENTENCE)
    expect(page.locator(".candidate").first).to_be_visible()
    bars = page.locator(".loss").evaluate_all(
        """bars => bars.map(bar => [...bar.children]
             .reduce((sum, part) => sum + Number(part.style.getPropertyValue("--share")), 0))"""
    )
    scores = [number(text) for text in page.locator(".candidate .number").all_inner_texts()]
    assert len(bars) == len(scores) > 2
    assert bars == sorted(bars)
    assert max(bars) <= 1.001
    # Their lengths and the scores are on one line.
    slope = (bars[-1] - bars[0]) / (scores[0] - scores[-1])
    assert all(abs(bars[0] + slope * (scores[0] - score) - bar) < 0.01 for bar, score in zip(bars, scores, strict=True))


def test_unknown_words_are_marked_on_both_sides(at):
    page = at("translate", text="Une femme dort près du xylophone.")
    expect(page.locator(".output .unknown").last).to_have_text("xylophone")
    expect(page.locator(".behind.unknown").last).to_have_text("xylophone")
    expect(page.locator(".derivation .is-unknown").last).to_be_visible()
    page.locator(".output .unknown").last.hover()
    expect(page.locator(".caption")).to_have_text("xylophone: unknown to the model, copied")


def test_rules_with_holes_are_drawn_as_a_pair_of_trees(at):
    page = at("translate", text=SENTENCE, model="rules", weights="nested")
    expect(page.locator(".output")).to_have_text("A woman sleeps near the river.")
    holes = page.locator(".derivation .hole").count()
    assert holes > 0
    assert holes % 2 == 0
    # A rule has two sides, which light up together.
    page.locator(".derivation .hole-name").first.hover()
    expect(page.locator(".derivation .rule.lit")).to_have_count(2)


def test_each_sentence_of_a_text_can_be_looked_into(at):
    page = at("translate", text=f"{SENTENCE} Un homme court dans la rue.")
    expect(page.locator(".output")).to_have_text("A woman sleeps near the river. A man runs in the street.")
    expect(page.get_by_role("heading", name="Derivation of sentence 1 of 2")).to_be_visible()
    page.locator(".output .word", has_text="street").click()
    expect(page.get_by_role("heading", name="Derivation of sentence 2 of 2")).to_be_visible()
    assert "rue" in page.locator(".derivation .drawn-word").all_text_contents()
    assert "sentence=1" in page.url


def test_an_answer_that_comes_too_late_is_never_shown(at):
    page = at("translate")
    held = []
    page.route("**/translate", lambda route: held.append(route) if not held else route.continue_())
    area = page.get_by_label("Text, French")
    with page.expect_request("**/translate"):
        area.fill("Un homme dort dans la rue.")
    area.fill(SENTENCE)
    expect(page.locator("#view-translate .output")).to_have_text("A woman sleeps near the river.")
    held[0].abort()
    expect(page.locator("#view-translate .output")).to_have_text("A woman sleeps near the river.")


def test_markup_in_a_text_is_text(at):
    page = at("translate", text="<img src=x onerror=alert(1)> dort")
    expect(page.locator(".output")).to_contain_text("onerror")
    assert page.locator("main img").count() == 0


def test_a_refusal_is_shown_beside_the_text(watched):
    page = watched.open("translate", text="dort " * 300)
    expect(page.locator("#view-translate .failure")).to_contain_text(
        "Translating with model model failed: a sentence has 300 words; expected at most 250"
    )
    page.get_by_label("Text, French").fill(SENTENCE)
    expect(page.locator(".output")).to_have_text("A woman sleeps near the river.")
    expect(page.locator("#view-translate .failure")).to_have_count(0)
    watched.excuse("413")


def test_each_line_goes_in_the_direction_of_its_script(at):
    page = at("translate", text="رجل ينام.\nUn homme dort.")
    boxes = page.locator(".output .word-line")
    expect(boxes).to_have_count(2)
    place = "(element, side) => element.getBoundingClientRect()[side]"
    output = page.locator("#view-translate .output")
    right = [abs(box.evaluate(place, "right") - output.evaluate(place, "right")) for box in boxes.all()]
    assert right[0] < 1 < right[1]
    # What lies behind the field is where the field has it.
    behind = page.locator(".behind").first
    assert abs(behind.evaluate(place, "right") - page.get_by_label("Text, French").evaluate(place, "right")) < 20
