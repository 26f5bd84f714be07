"""Decide: the posterior by each kind of evidence, and what rules choose."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

SENTENCE = "Une femme dort près de la rivière."


def percents(page):
    texts = page.locator(".probable .number").all_inner_texts()
    return [0.0 if text.startswith("<") else float(text.removesuffix(" %")) for text in texts]


def test_candidates_have_probabilities_and_rules_choose_among_them(at):
    page = at("decide", text=SENTENCE)
    for evidence in ("Lists", "Forest", "Samples"):
        page.get_by_role("radio", name=evidence).check()
        expect(page.locator(".choices-made dt").first).to_contain_text(f"by {evidence.lower()}")
        expect(page.locator(".probable").first).to_contain_text("A woman sleeps near the river.")
        shares = percents(page)
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 101
        expect(page.locator(".probable .chip").first).to_be_visible()
        rules = page.locator(".choices-made dt").all_inner_texts()
        assert any(rule.startswith(("mbr", "lattice-mbr")) for rule in rules)
        assert all(f"by {evidence.lower()}" in rule for rule in rules)


def test_a_larger_scale_makes_the_best_more_probable(at):
    page = at("decide", text=SENTENCE, scale="0.3")
    expect(page.locator(".probable").first).to_be_visible()
    flat = percents(page)[0]
    with page.expect_response("**/posterior"):
        page.get_by_role("slider", name="Scale").press("End")
    expect(page.locator("#view-decide .result")).not_to_have_attribute("aria-busy", "true")
    assert percents(page)[0] > flat + 10
    assert "scale=10" in page.url
