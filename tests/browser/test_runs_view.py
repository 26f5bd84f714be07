"""Runs: curves of all runs, live while they go on, weights of one, and reports."""

import shutil

import pytest
from playwright.sync_api import expect

from dragoman.tuning.runs.run import Run

pytestmark = pytest.mark.slow


def test_curves_of_all_runs_and_weights_of_one(at, folder):
    page = at("runs", run="done")
    expect(page.get_by_role("img", name="bleu by iteration of done, going")).to_be_visible()
    going = len(Run(folder / "runs" / "going").events())
    expect(page.locator(".chart").first.locator(".point")).to_have_count(3 + going)
    expect(page.locator(".run-list")).to_contain_text("best 45.50 · the weights do not change any more")
    expect(page.get_by_role("heading", name="Weights of done by iteration")).to_be_visible()
    page.locator(".as-table summary").last.click()
    rows = page.locator(".as-table table").last.locator("tbody tr")
    expect(rows).to_have_count(3)
    assert [row.split("\t")[1] for row in rows.all_inner_texts()] == ["0.500", "0.500", "0.800"]
    page.get_by_role("checkbox", name="draw going").uncheck()
    expect(page.locator(".chart").first.locator(".point")).to_have_count(3)


def test_a_run_that_goes_on_is_drawn_as_it_goes(at, folder, add_iteration):
    page = at("runs", run="going")
    chart = page.locator(".chart").first
    run = Run(folder / "runs" / "going")
    expect(chart.locator(".point")).to_have_count(3 + len(run.events()))
    before = chart.locator(".point").count()
    add_iteration(run, 43.0, 0.9)
    expect(chart.locator(".point")).to_have_count(before + 1)
    expect(page.locator(".run-list")).to_contain_text("best 43.00")
    expect(page.locator(".live")).to_have_count(1)


def test_a_damaged_run_is_listed_as_such(at, folder):
    broken = folder / "runs" / "broken"
    broken.mkdir()
    (broken / "run.toml").symlink_to("/etc/hostname")
    try:
        page = at("runs", run="broken")
        entry = page.locator(".run-list li", has_text="broken")
        expect(entry).to_contain_text("damaged: run.toml: is a link; expected a regular file")
        expect(page.get_by_role("img", name="bleu by iteration of done, going")).to_be_visible()
    finally:
        shutil.rmtree(broken)


def test_the_report_of_an_experiment_is_a_link(at):
    page = at("runs")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="report").click()
    expect(opened.value.get_by_role("heading", name="A report")).to_be_visible()
