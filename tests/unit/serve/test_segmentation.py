import pytest
from hypothesis import given, settings, strategies as st

from dragoman.serve.segmentation import html_text, lines, split


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        ("", "en", ()),
        (" \n ", "en", ()),
        ("One", "en", ("One",)),
        ("One. Two! Three? Four", "en", ("One.", "Two!", "Three?", "Four")),
        ("He said “Go.” She went.", "en", ("He said “Go.”", "She went.")),
        ("Mr. Smith met J. Doe, e.g. here.", "en", ("Mr. Smith met J. Doe, e.g. here.",)),
        ("No. 5 is alive. No. It is not.", "en", ("No. 5 is alive.", "No.", "It is not.")),
        ("It costs 3.50 euros. Really?", "en", ("It costs 3.50 euros.", "Really?")),
        ("Wait... what? Yes... No.", "en", ("Wait... what?", "Yes...", "No.")),
        ("M. Dupont dort. Il rêve.", "fr", ("M. Dupont dort.", "Il rêve.")),
        ("他睡了。她跑了！", "zh", ("他睡了。", "她跑了！")),  # noqa: RUF001
        ("One.\nTwo.\n\nThree.", "en", ("One.", "Two.", "Three.")),
    ],
)
def test_texts_fall_into_sentences(text, language, sentences):
    assert split(text, language).sentences == sentences


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=" \n\t.!?…\"'()AbC1é。", max_size=60))
def test_what_is_put_back_is_the_text(text):
    for parts in (split(text), lines(text)):
        assert parts.joined(parts.sentences) == text
        assert all(sentence and sentence == sentence.strip() for sentence in parts.sentences)
        assert not any("\n" in sentence for sentence in parts.sentences)


def test_lines_are_sentences_as_on_the_command_line():
    parts = lines("One. Two.\n\n  Three ")
    assert parts.sentences == ("One. Two.", "Three")
    assert parts.joined(["Un.", "Trois"]) == "Un.\n\n  Trois "


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
