"""Weights: sliders under which the translation and the order of candidates change without a search."""

import pytest
from playwright.sync_api import expect

from dragoman.core.feature_rows import Weights

pytestmark = pytest.mark.slow

SENTENCE = "Une femme dort près de la rivière."


@pytest.fixture
def heard(watched):
    """What the service answers to requests for other weights, as they come."""
    found = []

    def hear(response):
        if "reweight" in response.url:
            found.append(response)

    watched.page.on("response", hear)
    yield found
    watched.page.remove_listener("response", hear)


def test_a_slider_changes_the_translation_by_weighting_anew(at, heard):
    page = at("weights", text=SENTENCE)
    output = page.locator("#view-weights .output")
    expect(output).to_have_text("A woman sleeps near the river.")
    assert page.get_by_role("slider").count() == 15
    slider = page.get_by_role("slider", name="lm")
    slider.fill("0")
    expect(output).not_to_have_text("A woman sleeps near the river.")
    expect(page.locator("#view-weights .moved", has_text="▲").first).to_be_visible()
    expect(output.locator("mark").first).to_be_visible()
    assert "w.lm=" in page.url
    assert [response.json()["searched"] for response in heard[1:]] == [False] * (len(heard) - 1)
    # What is shown is what the service says under these weights.
    shown = heard[-1].json()
    assert output.inner_text() == shown["text"]
    assert page.locator(".candidate-text").all_inner_texts() == [one["text"] for one in shown["nbest"]]
    page.get_by_role("button", name="Reset").click()
    expect(output).to_have_text("A woman sleeps near the river.")
    assert "w.lm" not in page.url


def test_weights_are_copied_as_a_file_that_can_be_read(at, tmp_path, folder):
    page = at("weights", text=SENTENCE, **{"w.lm": "0.75"})
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("distortion, exactly").fill("-2.5")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    (tmp_path / "weights.txt").write_text(page.evaluate("navigator.clipboard.readText()"), encoding="utf-8")
    own = Weights.read(folder / "model" / "weights.txt")
    assert Weights.read(tmp_path / "weights.txt") == {**own, "lm": 0.75, "distortion": -2.5}


def test_sliders_begin_at_the_chosen_set_of_weights(at):
    page = at("weights", text=SENTENCE, weights="short")
    expect(page.get_by_label("word_penalty, exactly")).to_have_value("1")
    page.get_by_role("combobox", name="Weights").select_option("")
    expect(page.get_by_label("word_penalty, exactly")).to_have_value("-1")


def test_a_hierarchical_model_has_its_own_sliders_and_trees(at):
    page = at("weights", text=SENTENCE, model="rules")
    expect(page.locator("#view-weights .output")).to_have_text("A woman sleeps near the river.")
    assert page.locator(".derivation .hole").count() == 0
    page.get_by_label("glue, exactly").fill("-3")
    expect(page.locator(".derivation .hole").first).to_be_attached()
