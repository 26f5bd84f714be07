import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from dragoman.evaluation.figures.derivations import draw_alignment
from dragoman.evaluation.reports.report import Report

NASTY = '<script>alert("&")</script>'


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def written(tmp_path):
    def write(report):
        report.write(tmp_path / "report.html")
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return write


def test_every_text_is_escaped(written):
    report = Report(NASTY)
    report.heading(NASTY)
    report.paragraph(NASTY)
    report.table([NASTY], [(NASTY,)])
    report.figure(draw_alignment([NASTY], [NASTY], []), NASTY)
    text = written(report)
    page = Page(text)
    assert page.tags.count("script") == 1  # the one that sorts tables
    assert page.text.count(NASTY) == 7  # title and heading, heading, paragraph, column, cell, caption
    assert unescape(text).count(NASTY) >= 7


def test_numbers_are_set_to_the_right_and_words_are_not(written):
    report = Report("t")
    report.table(["a", "b", "c", "d"], [(1234567, 0.123456, "x", True)])
    text = written(report)
    assert '<td class="number">1,234,567</td><td class="number">0.1235</td><td>x</td><td>yes</td>' in text


def test_a_folded_table_shows_what_it_is(written):
    report = Report("title")
    report.table(["a"], [(1,)], folded=NASTY)
    text = written(report)
    assert NASTY not in text
    page = Page(text)
    assert page.tags[page.tags.index("details") :][:3] == ["details", "summary", "table"]
    assert NASTY in page.text


def test_parts_stand_in_order_and_the_page_is_whole(written):
    report = Report("Title")
    report.heading("One")
    report.paragraph("Two")
    report.heading("Three")
    text = written(report)
    assert text.startswith('<!doctype html><html lang="en">')
    assert text.endswith("</html>\n")
    assert text.index("One") < text.index("Two") < text.index("Three")
    assert '<meta charset="utf-8">' in text


def test_nothing_is_fetched_from_elsewhere(written):
    report = Report("t")
    report.figure(draw_alignment(["a"], ["b"], [(0, 0)]), "c")
    text = written(report)
    assert "<svg" in text
    assert "src=" not in text
    assert "<link" not in text
    assert "@import" not in text


def test_pages_fit_narrow_screens(written):
    report = Report("t")
    report.table(["a"], [(1,)])
    text = written(report)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert re.search(r"table \{[^}]*overflow-x: auto", text)


def test_values_are_written_for_people(written):
    report = Report("t")
    report.table(["a"], [(None,), (["b", "c"],), ({"d": None, "e": (1, 2)},), (np.float64(2.5),), (np.bool_(False),)])
    report.table(["a"], [(np.array([1.5, 2.0]),), ([],), (Path("x"),)])
    text = written(report)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", text)
    assert cells == ["-", "b, c", "d -, e 1, 2", "2.5", "no", "1.5, 2", "-", "x"]
    assert '<td class="number">2.5</td>' in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_a_click_on_a_header_sorts_the_table(written, tmp_path):
    report = Report("t")
    report.table(["n", "word"], [(1234, "b"), (5, ""), (77.5, "a"), ("10^8.2", "C")])
    clicks = "<script>for (const i of PLACES) document.querySelectorAll('th')[i].click()</script></body>"
    page = written(report)
    for places, expected in [
        ("[0]", ["5", "77.5", "1,234", "10^8.2"]),
        ("[0, 0]", ["10^8.2", "1,234", "77.5", "5"]),
        ("[1]", ["77.5", "1,234", "10^8.2", "5"]),
        ("[1, 1]", ["10^8.2", "1,234", "77.5", "5"]),
    ]:
        (tmp_path / "clicked.html").write_text(page.replace("</body>", clicks.replace("PLACES", places)))
        dumped = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}",
             "--dump-dom", tmp_path / "clicked.html"],
            capture_output=True, text=True, timeout=60, check=True,
        ).stdout  # fmt: skip
        assert re.findall(r"<tr><td[^>]*>(.*?)</td>", dumped) == expected
