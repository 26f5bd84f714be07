from html import unescape
from html.parser import HTMLParser

import pytest

from dragoman.evaluation.figures.alignment_plot import draw_alignment
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
    assert "script" not in page.tags
    assert page.text.count(NASTY) == 7  # title and heading, heading, paragraph, column, cell, caption
    assert unescape(text).count(NASTY) >= 7


def test_numbers_are_set_to_the_right_and_words_are_not(written):
    report = Report("t")
    report.table(["a", "b", "c", "d"], [(1234567, 0.123456, "x", True)])
    text = written(report)
    assert '<td class="number">1,234,567</td><td class="number">0.1235</td><td>x</td><td>True</td>' in text


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
