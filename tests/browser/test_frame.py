"""What all views share: tabs, colours, small screens, a service that goes away or asks for a key."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

SENTENCE = "Une femme dort près de la rivière."
VIEWS = ("translate", "weights", "decide", "compare", "runs", "lists", "normalise")
_PAPER = "getComputedStyle(document.body).backgroundColor"


def lightness(page):
    return sum(map(int, re.findall(r"\d+", page.evaluate(_PAPER))[:3])) / 3


def test_tabs_by_keyboard_alone(at):
    page = at("translate", text=SENTENCE)
    expect(page.locator(".output")).to_have_text("A woman sleeps near the river.")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("tab", name="Translate")).to_be_focused()
    seen = []
    for _ in VIEWS:
        page.keyboard.press("ArrowRight")
        name = page.evaluate("document.activeElement.textContent")
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        assert page.get_by_role("tabpanel").count() == 1
        seen.append(name.lower())
    assert seen == [*VIEWS[1:], VIEWS[0]]
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Normalise")).to_be_focused()
    page.keyboard.press("Home")
    # One more stop is the switch, then the panel; the tabs in between are none.
    page.keyboard.press("Tab")
    expect(page.locator("#theme")).to_be_focused()
    # The sentence went along, and the way back is open.
    page.get_by_role("tab", name="Weights").click()
    expect(page.locator("#view-weights").get_by_label("Sentence")).to_have_value(SENTENCE)
    page.go_back()
    expect(page.get_by_role("tab", name="Translate")).to_have_attribute("aria-selected", "true")


def test_every_control_has_a_name(at):
    page = at("translate", text=SENTENCE)
    for view in VIEWS:
        page.get_by_role("tab", name=view.capitalize()).click()
        expect(page.locator(f"#view-{view} :is(button, input, select, textarea)").first).to_be_attached()
        nameless = page.locator(f"#view-{view} :is(button, input, select, textarea)").evaluate_all(
            """controls => controls.filter(control => !(
                 control.getAttribute("aria-label") || control.textContent.trim()
                 || [...(control.labels ?? [])].some(label => label.textContent.trim())
               )).map(control => control.outerHTML)"""
        )
        assert nameless == []


def test_dark_as_the_system_says_and_by_the_switch(watched):
    watched.page.emulate_media(color_scheme="dark")
    page = watched.open("translate")
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    assert lightness(page) < 60
    page.locator("#theme").click()
    assert lightness(page) > 220
    page.reload()
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "false")
    assert lightness(page) > 220
    page.evaluate("localStorage.clear()")


def test_nothing_is_wider_than_a_phone(at):
    page = at("translate", text=f"{SENTENCE} {'x' * 60}", reference=SENTENCE)
    page.set_viewport_size({"width": 360, "height": 740})
    for view in VIEWS:
        page.get_by_role("tab", name=view.capitalize()).click()
        expect(page.locator(f"#view-{view}")).to_be_visible()
        if view == "lists":
            page.get_by_role("button", name="Try it").click()
        if view == "normalise":
            page.locator(".spelt").first.click()
        expect(page.locator(f"#view-{view} :is(.candidate, .probable, .compared, .chart)").first).to_be_visible()
        if view in ("translate", "weights", "lists"):
            page.locator(f"#view-{view} .candidate").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") == 360, view


def test_the_tab_of_a_view_can_be_seen_on_a_phone(at):
    page = at("translate", text=SENTENCE)
    page.set_viewport_size({"width": 360, "height": 740})
    for view in (VIEWS[-1], VIEWS[0]):
        page.evaluate(f"location.hash = '#{view}'")
        expect(page.locator(f"#tab-{view}")).to_have_attribute("aria-selected", "true")
        box = page.locator(f"#tab-{view}").bounding_box()
        assert box["x"] >= 0, view
        assert box["x"] + box["width"] <= 360, view


def test_a_service_with_a_key_that_goes_away_and_comes_back(visit, serve):
    service = serve("--api-key", "sesame")
    watched = visit(service.url)
    page = watched.open("translate", text=SENTENCE)
    key = page.get_by_label("no valid key")
    expect(key).to_be_focused()
    key.fill("sesame")
    page.keyboard.press("Enter")
    expect(page.locator(".output")).to_have_text("A woman sleeps near the river.")
    watched.excuse("401")
    service.stop()
    area = page.get_by_label("Text, French")
    area.fill("Un homme court dans la rue.")
    expect(page.locator("#view-translate .failure")).to_contain_text("The service does not answer.")
    # The page is alive: views change, and say it too.
    page.get_by_role("tab", name="Runs").click()
    expect(page.locator("#view-runs .failure")).to_contain_text("The service does not answer.")
    page.get_by_role("tab", name="Translate").click()
    back = serve("--api-key", "sesame", port=int(service.url.rpartition(":")[2]))
    try:
        area.fill("Un homme dort dans la rue.")
        expect(page.locator(".output")).to_have_text("A man sleeps in the street.")
        expect(page.locator("#view-translate .failure")).to_have_count(0)
        page.reload()  # the key is kept for as long as the tab is open
        expect(page.locator(".output")).to_have_text("A man sleeps in the street.")
    finally:
        page.close()  # the browser asks for the icon when it likes, also of a service that is gone
        back.stop()
    watched.excuse("ERR_CONNECTION_REFUSED")


def test_normalisers_are_not_offered_for_translation(at):
    page = at("translate", text=SENTENCE, model="old-to-new")
    for view in ("translate", "weights", "decide", "compare"):
        page.get_by_role("tab", name=view.capitalize()).click()
        choices = page.locator(f"#view-{view} select").first.locator("option")
        expect(choices).to_have_text([re.compile("^model "), re.compile("^rules ")])
    page.get_by_role("tab", name="Normalise").click()
    expect(page.locator("#view-normalise select").first.locator("option")).to_have_text([re.compile("^old-to-new ")])


@pytest.mark.parametrize(
    ("view", "route", "work", "shown"),
    [
        ("translate", "translate", "Translating with model model", ".output .sentence, .candidate, .phrase"),
        ("weights", "reweight", "Rescoring with model model", ".output, .candidate"),
        ("decide", "posterior", "Deciding with model model, weights short", ".probable"),
        ("compare", "translate", "Translating with model model", ".compared"),
        ("compare", "score", "Scoring against the reference", ".compared"),
    ],
)
def test_what_went_wrong_is_named_and_old_results_go(watched, view, route, work, shown):
    weights = {"weights": "short"} if "short" in work else {}
    page = watched.open(view, text=SENTENCE, reference="A woman sleeps.", model="model", **weights)
    expect(page.locator(f"#view-{view}").locator(shown).first).to_be_visible()
    said = {"error": {"status": 400, "message": "it is too hot"}}
    page.route(f"**/api/v1/{route}", lambda asked: asked.fulfill(status=400, json=said))
    page.locator(f"#view-{view} textarea").first.fill("Un homme court.")
    expect(page.locator(f"#view-{view} .failure")).to_have_text(f"{work} failed: it is too hot")
    expect(page.locator(f"#view-{view}").locator(shown)).to_have_count(0)
    watched.excuse("400")


def test_odd_addresses_are_no_trouble(watched):
    page = watched.page
    for address in ("#nonsense", "#weights?w.lm=x&model=none", "#decide?evidence=tea&scale=-1&text=dort"):
        page.goto(f"{watched.url}/{address}")
        expect(page.locator("[role=tabpanel]:visible :is(.empty, .probable)").first).to_be_visible()
