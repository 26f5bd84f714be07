"""Broken links are found in every kind of page."""

import pytest
from check_links import faults

PAGE = '<html><link rel="stylesheet" href="site.css"><h1 id="first">One</h1>{}</html>'


def site_with(folder, body):
    (folder / "deep").mkdir()
    (folder / "site.css").write_text("")
    (folder / "one.html").write_text(PAGE.format(body))
    (folder / "deep/two.html").write_text(
        '<p id="here"><a href="../one.html#first">back</a><a href="/one.html">up</a></p>'
    )
    return folder


@pytest.mark.parametrize(
    "body",
    [
        '<a href="deep/two.html#here">',
        '<a href="#first">',
        '<a href="#">',
        '<a href="https://example.org/page">',
        '<a href="mailto:someone@example.org">',
        '<img src="data:image/png;base64,AA==">',
    ],
)
def test_good_links(tmp_path, body):
    assert list(faults(site_with(tmp_path, body))) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('<a href="deep/three.html">', "one.html links to deep/three.html; there is no such file"),
        ('<a href="deep/two.html#there">', "one.html links to deep/two.html#there; the page has no such anchor"),
        ('<a href="#second">', "one.html links to #second; the page has no such anchor"),
        ('<a href="../outside.html">', "one.html links to ../outside.html; there is no such file"),
        ('<img src="picture.svg">', "one.html links to picture.svg; there is no such file"),
        ('<script src="https://example.org/a.js">', "one.html loads https://example.org/a.js; expected a file of the"),
        ('<img src="//example.org/a.png">', "one.html loads //example.org/a.png; expected a file of the site"),
    ],
)
def test_bad_links(tmp_path, body, found):
    (fault,) = faults(site_with(tmp_path, body))
    assert fault.startswith(found)
