"""No text makes what requests reach take longer than its length does: shapes are doubled, and so may the time be."""

import itertools
import time

import pytest

from dragoman.serve.json_bodies import has_more_values
from dragoman.serve.segmentation import html_text, lines, split
from dragoman.text.preparation import Casing, TextPreparation
from dragoman.text.words import characters_of, join_characters

pytestmark = pytest.mark.slow

SHAPES = {
    "dots": ".",
    "dots and a letter": "...x",
    "marks and quotes": "?!”",
    "quotes": '"',
    "apostrophes": "'",
    "elisions": "l'a",
    "open tags": "<",
    "open comments": "<!--",
    "open scripts": "<script>",
    "half-closed scripts": "<style></style ",
    "ampersands": "&",
    "numbers of characters": "&#1",
    "newlines": "\n",
    "spaces": " ",
    "tabs": "\t ",
    "brackets": "([{",
    "closing brackets": ").",
    "hyphens": "-",
    "compounds": "a-",
    "digits with commas": "1,",
    "addresses": "http://a.b/c?",
    "mail": "a@b.",
    "combining marks": "e\u0301",
    "abbreviations": "A.B.",
    "initials": "A. ",
    "ideographs": "他睡了。",
    "control characters": "\x01a.",
    "backslashes": '\\"',
    "mixed": 'a. "B"! <i>(c)\'s</i> 3,5 … ',
}

RAW = TextPreparation("en", "en", tokenise=True, lowercase=True, nfc=True, casing=Casing.learn(["He met Ann ."]))

FUNCTIONS = {
    "split": lambda text: split(text, "en"),
    "lines": lines,
    "html": html_text,
    "prepare": lambda text: list(RAW.source([text.replace("\n", " ")])),
    "restore": lambda text: RAW.restore([text.replace("\n", " ").lower()]),
    "characters": lambda text: join_characters(characters_of(text)),
    "values": lambda text: has_more_values(text.encode(), 10**9),
}

#: Time below which a ratio says little, in seconds of the processor.
_LEAST = 0.005

#: Twice the text takes twice the time, or four times where every character is looked at from every other.
_MOST = 3.0

_numbers = itertools.count()


def seconds(function, shape, length):
    """The least time of the processor for a text of a length, which nobody can remember from the time before."""
    found = []
    for _ in range(3):
        text = (shape * length)[:length] + f"x{next(_numbers)}"
        begin = time.thread_time()
        function(text)
        found.append(time.thread_time() - begin)
    return min(found)


def grows_faster(function, shape):
    """Whether twice the text takes more than thrice the time, once it can be told, and again for twice as much."""
    length, once, faster = 4000, 0.0, 0
    while length < 500_000 and faster < 2:
        before, once = once, seconds(function, shape, length)
        if before >= _LEAST:
            if once / before < _MOST:
                return False
            faster += 1
        length *= 2
    return faster == 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_text_and_not_faster(name):
    assert [shape for shape in SHAPES if grows_faster(FUNCTIONS[name], SHAPES[shape])] == []


def test_the_shapes_would_be_found():
    def from_every_place(text):
        return [text.count("x", place) for place in range(0, len(text), 8)]

    assert grows_faster(from_every_place, ".")
    assert not grows_faster(lambda text: [character.upper() for character in text], ".")
