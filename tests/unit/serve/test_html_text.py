import pytest

from dragoman.serve.html_text import html_text


@pytest.mark.parametrize(
    ("html", "shouted"),
    [
        ("a<b>c</b> d", "A<b>C</b> D"),
        ("<style>a {}</style> ", "<style>a {}</style> "),
        ("<SCRIPT>a</script >b", "<SCRIPT>a</script >B"),
        ("a<!-- b --> c -->", "A<!-- b --> C --&gt;"),
        ("a<!-- b", "A&lt;!-- B"),
        ("<script>a", "<script>A"),
        ("<scripts>a", "<scripts>A"),
        ("1 &lt; 2 a", "1 &lt; 2 A"),
        ("a < b", "A &lt; B"),
        ("<" * 2000, "&lt;" * 2000),
        ("&nbsp;", "\xa0"),
        ("&#" + 5000 * "9" + "; &#65;", "\ufffd A"),
    ],
)
def test_only_text_between_tags_is_changed(html, shouted):
    found = html_text(html)
    assert found.joined([text.upper() for text in found.texts]) == shouted


def test_who_waits_no_more_ends_it():
    class OverError(Exception):
        pass

    def over():
        raise OverError

    for html in ("<" * 5000, "<b>" * 5000, "a" * 5000):
        with pytest.raises(OverError):
            html_text(html, over)
