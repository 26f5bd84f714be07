"""Translations given in the input: `<x translation="the dog">der hund</x> bellt` fixes the translation of a span.

As in Moses, several translations are separated by `||`, and `prob` may give each a probability. Other tags are refused;
`&lt;` and `&amp;` stand for the characters. Raw text is prepared around the tags, and given translations
like other text of the target language.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass, replace

from dragoman.core.errors import DataError, UsageError
from dragoman.text.preparation import TextPreparation

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)((?:\s+[\w-]+\s*=\s*\"[^\"]*\")*)\s*(/?)>")
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*\"([^\"]*)\"")


@dataclass(frozen=True)
class FixedTranslation:
    """A given translation of source words `begin` to `end`, with its log-probability."""

    begin: int
    end: int
    target: str
    log_probability: float


def parse_markup(line: str) -> tuple[str, list[FixedTranslation]]:
    """Split a marked-up sentence into its words and the given translations.

    >>> parse_markup('<x translation="the dog||a dog" prob="0.8||0.2">der hund</x> bellt')[0]
    'der hund bellt'
    """
    words: list[str] = []
    given: list[FixedTranslation] = []
    opened: tuple[str, int, dict[str, str]] | None = None
    at = 0
    for tag in _TAG.finditer(line):
        words += html.unescape(line[at : tag.start()]).split()
        at = tag.end()
        closing, name, attributes, empty = tag.groups()
        if closing:
            if opened is None or opened[0] != name:
                raise DataError(
                    f"found </{name}>", expected=f"</{opened[0]}>" if opened else "an opening tag before it"
                )
            given += _given(opened[1], len(words), opened[2])
            opened = None
        elif opened is not None or empty:
            raise DataError(f"found {tag.group()}", expected="tags around words, not inside each other")
        else:
            opened = (name, len(words), dict(_ATTRIBUTE.findall(attributes)))
    if opened is not None:
        raise DataError(f"found <{opened[0]}> without its end", expected=f"</{opened[0]}>")
    words += html.unescape(line[at:]).split()
    if re.search(r"<\s*/?\s*\w[^>]*translation\s*=", line[at:]):
        raise DataError(f"found '{line[at:]}'", expected='<x translation="...">words</x>')
    return " ".join(words), given


def prepare_markup(line: str, text: TextPreparation) -> str:
    """Prepare a marked-up sentence: the words between tags as source text, given translations as target text.

    >>> text = TextPreparation("de", "en", tokenise=True, lowercase=True)
    >>> prepare_markup('Wo ist <x translation="A dog">ein Hund</x>?', text)
    'wo ist <x translation="a dog"> ein hund </x> ?'
    """
    if text.units == "characters":
        raise UsageError("markup fixes what words become, and this model's words are characters; expected no markup")
    parse_markup(line)  # which refuses what is wrong with it as it was written
    parts, at = [], 0
    for tag in _TAG.finditer(line):
        parts.append(_prepared_words(line[at : tag.start()], text))
        parts.append(_ATTRIBUTE.sub(lambda found: _prepared_attribute(found, text), tag.group()))
        at = tag.end()
    parts.append(_prepared_words(line[at:], text))
    return " ".join(part for part in parts if part)


def without_markup(line: str, text: TextPreparation) -> str:
    """Return the words of a marked-up sentence, followed by those of the fixed translations, in their case."""
    words, given = parse_markup(line)
    cased = replace(text, lowercase=False)
    return " ".join([words, *cased.target(translation.target for translation in given)])


def _prepared_words(words: str, text: TextPreparation) -> str:
    (prepared,) = text.source([html.unescape(words).strip()])
    return html.escape(prepared, quote=False)


def _prepared_attribute(found: re.Match[str], text: TextPreparation) -> str:
    if found.group(1) != "translation":
        return found.group()
    targets = text.target(html.unescape(target).strip() for target in found.group(2).split("||"))
    return f'translation="{"||".join(html.escape(target) for target in targets)}"'


def _given(begin: int, end: int, attributes: dict[str, str]) -> list[FixedTranslation]:
    if begin == end:
        raise DataError("found a tag around nothing", expected="words inside it")
    if "translation" not in attributes:
        raise DataError("found a tag without a translation", expected='translation="..."')
    targets = [html.unescape(target).strip() for target in attributes["translation"].split("||")]
    shares = attributes["prob"].split("||") if "prob" in attributes else ["1"] * len(targets)
    if len(shares) != len(targets):
        raise DataError(f"found {len(targets)} translations and {len(shares)} probabilities", expected="one for each")
    found = []
    for target, share in zip(targets, shares, strict=True):
        try:
            probability = float(share)
        except ValueError:
            probability = math.nan
        if not 0 < probability <= 1:
            raise DataError(f"found the probability '{share}'", expected="a number above 0, at most 1")
        found.append(FixedTranslation(begin, end, " ".join(target.split()), math.log(probability)))
    return found
