"""Tokens to text as a person would write it, and marks where text is written otherwise than its language's rules say.

Tokens are joined from left to right: whether a space stands between two is decided by what they are, by the language,
and by which quotation marks are open. Where text is to come back as it was, `marked` puts marks at tokens that
the rules would join otherwise: `￭` for no space and `▁` for one, at that side of a sign. Ordinary text has few.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.text.words import is_unspaced

#: At the left or right of a token: nothing stands there, or a space.
JOINED, SPACED = "￭", "▁"
MARKS = JOINED + SPACED

#: What raw text has in place of the marks, so that none is taken for one.
WITHOUT_MARKS = str.maketrans({JOINED: "■", SPACED: "_"})

_OPENING = frozenset("([{¿¡<\\#~")
_CLOSING = frozenset(")]},.;:!?>…°") | {"..."}
_INSIDE = frozenset("/_^")
_CURRENCIES = frozenset("$£€¥")
_QUOTES = frozenset("\"'«»„“”‟\u2018\u2019\u201a\u2039\u203a")

_EITHER_WAY = frozenset("\"'“\u2018\u2019")
#: What a closing mark belongs to, if not to its like.
_PAIRS = {"“": "„", "”": "“", "\u2019": "\u2018", "\u2018": "\u201a", "»": "«", "«": "»"}

_ENGLISH_CLITICS = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})
#: Languages that cut an article or pronoun off with an apostrophe (l'homme, dell'arte), as the tokeniser does.
_ELIDING = frozenset({"ca", "fr", "ga", "it"})
#: Languages whose tokeniser knows clitics that begin with an apostrophe.
_ENGLISH = frozenset({"en"})
#: Languages that write a number and a percent sign together.
_TIGHT_PERCENT = frozenset({"en", "es", "it", "pt", "nl", "pl", "ja", "zh", "tr"})
#: Languages that write » before quoted words and « behind them.
_POINTING_IN = frozenset({"da", "de", "hr", "hu", "sl"})
_SPACED_SIGNS = frozenset(";:!?»%")


@dataclass
class _State:
    """What has been written so far: the token before, and the quotation marks that are open."""

    language: str
    unspaced: bool
    before: str = ""
    #: Whether the token before is one that the next is joined to.
    holds: bool = False
    open: list[str] = field(default_factory=list)

    def space_before(self, token: str, after: str) -> bool:
        """Whether the rules have a space before a token; `after` is the next one."""
        before = self.before
        if not before:
            return False
        if token[0].isalnum() and before[-1].isalnum():
            return not (self.unspaced and (is_unspaced(before[-1]) or is_unspaced(token[0])))
        if self.unspaced and (is_unspaced(before[-1]) or is_unspaced(token[0])):
            return False
        if token == "@-@" or before == "@-@" or token in _INSIDE or before in _INSIDE:
            return False
        if self.language == "fr" and (token in _SPACED_SIGNS or (before == "«" and self.holds)):
            return True
        if token in _QUOTES:
            return self._opens(token, after) and not self.holds
        if self.holds:
            return False
        if token in _CLOSING:
            return False
        if token == "%":
            return self.language not in _TIGHT_PERCENT or not before[-1].isdigit()
        if token == "\u2014" or before == "\u2014":
            return self.language not in _ENGLISH
        return not (token[0] in "'\u2019" and len(token) > 1 and self.language in _ENGLISH)

    def write(self, token: str, after: str, space: bool) -> None:
        """Take note of a token that has been written, with a space before it or not."""
        before = self.before
        if token in _QUOTES:
            self._quote(token, after, space)
        elif token in _OPENING:
            self.holds = True
        elif token in _CURRENCIES:
            self.holds = after[:1].isdigit() and not before[-1:].isdigit()
        else:
            self.holds = token[-1] in "'\u2019" and len(token) > 1 and self.language in _ELIDING
        self.before = token

    def _opens(self, token: str, after: str) -> bool:
        """Whether the rules take a quotation mark for an opening one."""
        if token in "„\u201a‟":
            return True
        if token in "”":
            return False
        if token == "“":
            return "„" not in self.open
        if token in "«»\u2039\u203a":
            return (token in "»\u203a") == (self.language in _POINTING_IN)
        if token == "\u2018":
            return "\u201a" not in self.open
        if token == "\u2019" or (token == "'" and self._is_apostrophe(after)):
            return False
        if token in self.open:
            return False
        return (
            bool(after) and (after not in _CLOSING or after == "...") and not (after in _QUOTES and after in self.open)
        )

    def _is_apostrophe(self, after: str) -> bool:
        """Whether a single stroke stands for letters that are left out, and not for a quotation mark."""
        before = self.before
        if "'" in self.open or not before[-1:].isalpha():
            return False
        if self.language in _ENGLISH:
            return before[-1] in "sS" and before[0].isalnum()
        return after[:1].isalpha()

    def _quote(self, token: str, after: str, space: bool) -> None:
        before = self.before
        opens = self._opens(token, after)
        if before and token in _EITHER_WAY and space != opens and not self.holds:  # the text knows better than rules
            opens = space
        apostrophe = not opens and token in "'\u2019" and token not in self.open and before[-1:].isalpha()
        other = _PAIRS.get(token)
        if opens:
            self.open.append(token)
        elif token in self.open:
            self.open.remove(token)
        elif other in self.open:
            self.open.remove(other)
        self.holds = opens or (apostrophe and self._goes_on(after))

    def _goes_on(self, after: str) -> bool:
        """Whether what follows an apostrophe belongs to the same word."""
        if self.language in _ENGLISH:
            return after.lower() in _ENGLISH_CLITICS
        return after[:1].isalpha()


def joined(words: Sequence[str], language: str, *, marks: bool = True, unspaced: bool = False) -> str:
    """Join tokens to text; `unspaced` says that the language writes no spaces between words.

    Without `marks`, signs that look like marks are taken as they are.

    >>> joined("It 's a \\" great \\" day ( is n't it ) ?".split(), "en")
    'It\\'s a "great" day (is n\\'t it)?'
    >>> joined("C' est l' homme : « oui » !".split(), "fr")
    "C'est l'homme : « oui » !"
    """
    state = _State(language, unspaced)
    parts: list[str] = []
    bare = [_bare(word) for word in words] if marks else words
    told: str = ""
    for i, token in enumerate(bare):
        word, after = words[i], bare[i + 1] if i + 1 < len(bare) else ""
        marked = word is not token
        left = word[0] if marked and word[0] in MARKS else told
        space = left == SPACED if left and i else state.space_before(token, after)
        parts += (" ", token) if space else (token,)
        state.write(token, after, space)
        told = word[-1] if marked and word[-1] in MARKS else ""
    text = "".join(parts)
    return text.replace("@-@", "-") if "@-@" in text else text


def marked(tokens: Sequence[str], text: str, language: str) -> list[str]:
    """Put marks at tokens of a text so that `joined` gives it back; its white space must be single spaces.

    >>> marked(["5", "%", "a", "/", "b"], "5 % a / b", "en")
    ['5', '▁%', 'a', '▁/▁', 'b']
    """
    state = _State(language, False)
    found: list[str] = []
    at = 0
    for i, token in enumerate(tokens):
        after = tokens[i + 1] if i + 1 < len(tokens) else ""
        space = text[at : at + 1] == " "
        at += space
        if not text.startswith(token, at):  # not the tokens of this text: leave them
            return list(tokens)
        at += len(token)
        if space != state.space_before(token, after):
            mark = SPACED if space else JOINED
            # At the sign of the two, so that words stay the words they are.
            if token[0].isalnum() and not tokens[i - 1][-1].isalnum():
                found[-1] += mark
                found.append(token)
            else:
                found.append(mark + token)
        else:
            found.append(token)
        state.write(token, after, space)
    return found


@functools.lru_cache(1 << 16)
def _bare(word: str) -> str:
    return word.strip(MARKS) or word if word[0] in MARKS or word[-1] in MARKS else word
