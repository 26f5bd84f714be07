import random
import time
from xml.etree import ElementTree

import pytest

from dragoman.normalisation.markup import Markup
from dragoman.normalisation.running_text import RunningText, WordFinder, change_text

TEI = """<?xml version="1.0" encoding="UTF-8"?>
<?xml-model href="vnd.rng" type="application/xml"?>
<!DOCTYPE TEI [
  <!ENTITY longs "s">
  <!ENTITY vnd "vnd">
]>
<TEI xmlns="http://www.tei-c.org/ns/1.0">
  <teiHeader><fileDesc><title type="vnd">the vnd title</title></fileDesc></teiHeader>
  <!-- vnd <p>vnd</p> -->
  <text xml:lang='de'><body><div
      type="vnd > vnd"
      n="1"><p rend="vnd">Vnd <hi rend="it">er</hi> &amp; vnd<lb n="1"/>vnd ha&longs;s &vnd;</p>
    <p><![CDATA[vnd <vnd> &vnd;]]> <hi>V</hi>nd <w>vnd</w><w>vnd</w> gar<lb break="no"/>ten</p></div></body></text>
</TEI>
"""


def doubled(sentences):
    """Words that are seen to have been changed."""
    return [[word + word for word in words] for words in sentences]


def changed(text, markup="auto"):
    return change_text(text, RunningText(WordFinder(["</p>", 'rend="vnd"']), markup), doubled)


def structure(text):
    return [(element.tag, element.attrib) for element in ElementTree.fromstring(text).iter()]


def test_tei_stays_well_formed_and_only_its_text_changes():
    found = changed(TEI)
    assert structure(found) == structure(TEI)
    assert "<!-- vnd <p>vnd</p> -->" in found
    head = TEI[: TEI.index("<text")]
    assert found.startswith(head)
    assert '<p rend="vnd">VndVnd <hi rend="it">erer</hi> &amp; vndvnd<lb n="1"/>vndvnd ha&longs;s &vnd;</p>' in found
    # In a section of characters all is text; a word with a tag in it stays.
    assert "<![CDATA[vndvnd <vndvnd> &vndvnd;]]> <hi>V</hi>nd <w>vndvnd</w><w>vndvnd</w> gar<lb break" in found


@pytest.mark.parametrize("markup", ["auto", "xml"])
def test_it_does_not_matter_in_which_blocks_a_text_comes(markup):
    rng = random.Random(1)
    whole = RunningText(WordFinder(), markup).lines(TEI)
    lines = TEI.splitlines(keepends=True)
    for _ in range(20):
        running, found, rest = RunningText(WordFinder(), markup), [], lines
        while rest:
            size = rng.randint(1, 4)
            found += running.lines("".join(rest[:size]), last=False)
            rest = rest[size:]
        assert found + running.lines("") == whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < 2 vnd", "11 < 22 vndvnd"),
        ("<p vnd", "<pp vndvnd"),
        ("<p <b>vnd", "<pp <b>vndvnd"),
        ('<p n="vnd>er', '<p n="vnd>erer'),
        ("& vnd &vnd er;", "& vndvnd &vndvnd erer;"),
        ("ha&szlig; &quot;er&quot; l&apos;eau &#118;nd", "ha&szlig; &quot;erer&quot; l&apos;eau &#118;nd"),
        ("<script>var vnd = '<b>'</script>er", "<script>var vnd = '<b>'</script>erer"),
        ("er<br>er <b>er</b>", "erer<br>erer <b>erer</b>"),
        ("<!-- er", "<!-- er"),
        ("</>er<>er<!>er", "</>erer<>erer<!>erer"),
    ],
)
def test_damaged_markup_is_text_where_it_can_be(text, expected):
    assert changed(text, "xml") == expected


def test_what_never_ends_is_known():
    running = RunningText(WordFinder(), "xml")
    running.lines("er <!-- er")
    assert running.unclosed == "comment"


def test_noise_never_fails_and_keeps_what_is_not_a_word():
    rng = random.Random(2)
    parts = [
        "<",
        ">",
        "/",
        "!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "&",
        ";",
        '"',
        "'",
        "a",
        "p",
        " ",
        "\n",
        "[",
        "=",
        "#x",
    ]
    for _ in range(1500):
        text = "".join(rng.choice(parts) for _ in range(rng.randint(0, 25)))
        lines = RunningText(WordFinder(), "xml").lines(text)
        assert "".join(line.joined(line.words) for line in lines) == text


@pytest.mark.parametrize(
    ("text", "recognised"),
    [
        ('<?xml version="1.0"?>\n<a/>', True),
        ("\n  <div\n type='a'>", True),
        ("Vnd <hi>er</hi>", True),
        ("Vnd er<lb/>", True),
        ("Vnd\n" * 10 + "<b>er</b>", True),
        ("Vnd\n" * 30 + "<b>er</b>", False),
        ("Vnd <er> sprach 1 < 2 > 0", False),
        ("", False),
    ],
)
def test_markup_is_recognised_by_tags_that_fit(text, recognised):
    running = RunningText(WordFinder())
    running.lines(text)
    assert running.recognised == recognised


def seconds(text):
    begin = time.process_time()
    Markup(recognised=True).pieces(text, last=False)
    return time.process_time() - begin


@pytest.mark.parametrize(
    "shape",
    [
        "<!--",
        "<",
        "<a",
        "<a '",
        '<a "',
        "&",
        "&a",
        "<![CDATA[",
        "<?",
        "<!D [",
        "<script>",
        "</",
        "<a b=\"'",
        "<a>\n<a\n",
    ],
)
def test_time_grows_with_the_text_and_not_with_its_square(shape):
    small, large = shape * 300, shape * 2400
    least = min(seconds(small) for _ in range(5))
    assert min(seconds(large) for _ in range(5)) < 24 * least + 0.005
