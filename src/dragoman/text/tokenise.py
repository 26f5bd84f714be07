"""Raw text to tokens and back: as Moses tokenises (through sacremoses), and as a person would write.

Punctuation can be made uniform first. URLs, numbers, and file and user names can be protected: they stay whole.

Tokens are joined from left to right. What two tokens are, the language, and the open quotation marks decide whether a
space stands between them. Where text must come back exactly, `mark_joins` marks tokens that these rules would join
otherwise: `￭` for no space and `▁` for a space, on that side of a sign. Ordinary text has few marks.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field

from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.text.segment import Segmentation, segment
from dragoman.text.words import UNSPACED, is_unspaced

#: Lines that are best tokenised together.
CHUNK_LINES = 10_000
# Starting a process takes as long as tokenising some tens of thousands of lines. At most this many lines are read
# before it is known whether there are enough.
_LINES_TO_PAY_FOR_A_PROCESS = 100_000
_MOST_LINES_AHEAD = 4 * _LINES_TO_PAY_FOR_A_PROCESS

#: Control characters, which the tokeniser would drop.
_CONTROLS = {code: " " if chr(code).isspace() else None for code in (*range(32), 127)}
#: At the left or right of a token: nothing stands there, or a space.
JOINED, SPACED = "￭", "▁"
MARKS = JOINED + SPACED

#: Replacements of marks in raw text, so that none is taken for a mark.
WITHOUT_MARKS = str.maketrans({JOINED: "■", SPACED: "_"})

_OPENING = frozenset("([{¿¡<\\#~")
_CLOSING = frozenset(")]},.;:!?>…°") | {"..."}
_INSIDE = frozenset("/_^")
_CURRENCIES = frozenset("$£€¥")
_QUOTES = frozenset("\"'«»„“”‟\u2018\u2019\u201a\u2039\u203a")

_EITHER_WAY = frozenset("\"'“\u2018\u2019")
#: The opening mark of a closing mark, if they differ.
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

#: Common in a model's words, rare in raw text: signs with spaces around them, clitics and marks.
_PERHAPS_WORDS = re.compile(rf"(?<!\S)(?:[.,;:!?()\"]|'\w+|\w+')(?!\S)|[{MARKS}]")


@dataclass(frozen=True)
class Tokeniser(Options):
    """Options of tokenising."""

    lowercase: bool = option(False, "turn all letters into lower case")
    normalise_punctuation: bool = option(False, "make quotes, dashes and spaces uniform first")
    protect: bool = option(False, "keep URLs, addresses, numbers, names of files, tags and names of users whole")
    marks: bool = option(False, "mark where text departs from its language's rules for joining tokens; see tokenise.py")
    split_dashes: bool = option(False, "split words at hyphens, marked by @-@")
    segmenter: Segmentation = option("none", "segmenter for text without spaces between words; see segment.py")
    escape: bool = option(False, "write &, |, <, >, quotes and square brackets as Moses escapes them")


def tokenise_lines(lines: Sequence[str], language: str, options: Tokeniser = Tokeniser()) -> list[str]:
    """Tokenise lines of one language (`en`, `fr`, ...); one space separates two tokens.

    >>> tokenise_lines(["Hello, Mr. World! It's 5,300.", ""], "en")
    ["Hello , Mr. World ! It 's 5,300 .", '']
    """
    if options.normalise_punctuation:
        lines = [normalise_punctuation(line, language) for line in lines]
    if options.protect or options.marks:
        lines = [" ".join(line.translate(_CONTROLS).split()) for line in lines]
    if options.protect and not options.marks:
        lines = [line.translate(WITHOUT_MARKS) for line in lines]
    if options.segmenter != "none":
        tokenised = _tokenise_around(lines, functools.partial(segment, name=options.segmenter))
    else:
        tokenised = _tokenise_words(lines, language, options)
    return [*map(str.lower, tokenised)] if options.lowercase else tokenised


def tokenise_blocks(
    blocks: Iterable[Sequence[str]], language: str, options: Tokeniser = Tokeniser(), *, runtime: Runtime = Runtime()
) -> Iterator[list[str]]:
    """Tokenise lines that come in blocks, which are best of `CHUNK_LINES`; few of them are held.

    More than one thread means processes, if there are enough lines for starting them to pay; a script that asks for
    threads needs the usual `if __name__ == "__main__"`. The result is the same for any number.
    """
    tokenise = functools.partial(tokenise_lines, language=language, options=options)
    blocks = iter(blocks)
    ahead: list[Sequence[str]] = []
    lines = 0
    while runtime.threads > 1 and lines < _MOST_LINES_AHEAD and (block := next(blocks, None)) is not None:
        ahead.append(block)
        lines += len(block)
    paid_for = runtime.threads if lines >= _MOST_LINES_AHEAD else lines // _LINES_TO_PAY_FOR_A_PROCESS
    processes = min(runtime.threads, paid_for)
    blocks = itertools.chain(ahead, blocks)
    if processes < 2:
        yield from map(tokenise, blocks)
        return
    # Not forked: the parent may have threads of its own.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting: deque[Future[list[str]]] = deque()
        for block in blocks:
            waiting.append(pool.submit(tokenise, block))
            if len(waiting) > 2 * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _tokenise_words(lines: Sequence[str], language: str, options: Tokeniser) -> list[str]:
    # Imported when needed: sacremoses takes nearly half a second, which `dragoman --help` should not.
    from dragoman.text import moses_tokeniser

    tokeniser = moses_tokeniser.line_tokeniser(language, options.split_dashes)
    if options.marks:
        tokenised = [_tokenise_with_marks(line, language, tokeniser.tokenise, options.protect) for line in lines]
    elif options.protect:
        tokenised = _tokenise_around(lines, tokeniser.tokenise)
    else:
        tokenised = [tokeniser.tokenise(line) for line in lines]
    return [tokeniser.moses.escape_xml(line) for line in tokenised] if options.escape else tokenised


def _tokenise_around(lines: Sequence[str], tokenise: Callable[[str], str]) -> list[str]:
    """Tokenise lines, but leave URLs, addresses, numbers and the like whole."""
    spans = [protected_spans(line) for line in lines]
    return [
        _tokenise_between(line, whole, tokenise) if whole else tokenise(line)
        for line, whole in zip(lines, spans, strict=True)
    ]


def _tokenise_between(line: str, whole: Sequence[tuple[int, int]], tokenise: Callable[[str], str]) -> str:
    parts, at = [], 0
    for begin, end in whole:
        parts += [tokenise(line[at:begin]), line[begin:end]]
        at = end
    return " ".join(part for part in [*parts, tokenise(line[at:])] if part)


def _tokenise_with_marks(line: str, language: str, tokenise: Callable[[str], str], protect: bool) -> str:
    def tokens(text: str) -> list[str]:
        (found,) = _tokenise_around([text], tokenise) if protect else [tokenise(text)]
        return mark_joins(found.split(), text, language)

    if _PERHAPS_WORDS.search(line):
        words = line.split()
        if tokens(detokenise(words, language)) == words:
            return line  # which is in the model's words already
        line = line.translate(WITHOUT_MARKS)
    return " ".join(tokens(line))


def detokenise_lines(lines: Sequence[str], language: str, *, marks: bool = True, unspaced: bool = False) -> list[str]:
    """Join the tokens of each line; see `detokenise`.

    >>> detokenise_lines(["Hello , Mr. World ! It 's 5,300 ."], "en")
    ["Hello, Mr. World! It's 5,300."]
    """
    return [detokenise(line.split(), language, marks=marks, unspaced=unspaced) for line in lines]


def detokenise(words: Sequence[str], language: str, *, marks: bool = True, unspaced: bool = False) -> str:
    """Join tokens to text; `unspaced` languages write no spaces between words.

    Without `marks`, signs that look like marks are ordinary characters.

    >>> detokenise("It 's a \\" great \\" day ( is n't it ) ?".split(), "en")
    'It\\'s a "great" day (is n\\'t it)?'
    >>> detokenise("C' est l' homme : « oui » !".split(), "fr")
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


def mark_joins(tokens: Sequence[str], text: str, language: str) -> list[str]:
    """Mark the tokens of a text so that `detokenise` restores it; its white space must be single spaces.

    >>> mark_joins(["5", "%", "a", "/", "b"], "5 % a / b", "en")
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


@dataclass
class _State:
    """The state of joining: the token before, and the open quotation marks."""

    language: str
    unspaced: bool
    before: str = ""
    #: Whether the token before is one that the next is joined to.
    holds: bool = False
    open: list[str] = field(default_factory=list)

    def space_before(self, token: str, after: str) -> bool:
        """Tell whether the rules put a space before a token; `after` is the next one."""
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
        """Update the state after a token has been written, with a space before it or without."""
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
        """Tell whether the rules take a quotation mark for an opening one."""
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
        """Tell whether a single stroke is an apostrophe, and not a quotation mark."""
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
        """Tell whether the token after an apostrophe belongs to the same word."""
        if self.language in _ENGLISH:
            return after.lower() in _ENGLISH_CLITICS
        return after[:1].isalpha()


#: Languages that write full-width signs and have quotation marks of their own.
_FULL_WIDTH = frozenset({"ja", "ko", "yue", "zh"})

_SPACES = dict.fromkeys(["\u00a0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u202f", "\u205f", "\u3000"], " ")
# Joiners (U+200C, U+200D) stay: in some scripts they change what is read.
_INVISIBLE = dict.fromkeys("\u00ad\u200b\u200e\u200f\u2060\ufeff", "")
_SIGNS = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc`\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    "\u2026": "...",
}
_ASCII = {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}

# White space has been made single spaces before. A dash between words becomes one with spaces around it; between digits
# it is a range, and an en dash that touches words on both sides a hyphen of compounds: these stay.
_DASH = re.compile(r"((?<=\d)[\u2014\u2015](?=\d))| ?[\u2014\u2015]+ ?| \u2013+ ?|\u2013+ ")
_TWO_STROKES = re.compile(r"(?<!')''(?!')")


def normalise_punctuation(line: str, language: str) -> str:
    """Write a line with uniform punctuation and single spaces, in linear time.

    Guillemets stay, and so do the signs of languages that write full-width ones.

    >>> normalise_punctuation("It\\u2019s a \\u201cgreat\\u201d day, isn\\u2019t it\\u2026", "en")
    'It\\'s a "great" day, isn\\'t it...'
    """
    line = " ".join(line.translate(_table(language in _FULL_WIDTH)).split())
    if language not in _FULL_WIDTH and "''" in line:
        line = _TWO_STROKES.sub('"', line)
    if line.isascii():
        return line
    return " ".join(_DASH.sub(lambda found: "\u2013" if found[1] else " \u2013 ", line).split())


@functools.cache
def _table(full_width: bool) -> dict[int, str]:
    signs = _SPACES | _INVISIBLE
    return str.maketrans(signs if full_width else signs | _SIGNS | _ASCII)


#: Letters and digits of scripts with spaces between words: no number or address goes on into other scripts.
_SPACED = rf"[^\W{UNSPACED}]"
#: Characters that are in no URL: brackets and quotation marks around it, and scripts without spaces.
_OUTSIDE = rf"\s<>\"\u00ab\u00bb\u201c\u201d\u3000-\u303f\uff00-\uffef{UNSPACED}"

# Each alternative begins where a run of its characters does and reads it once, so that time is proportional to length.
_PROTECTED = re.compile(
    rf"""
    (?<!{_SPACED}) (?: [A-Za-z][A-Za-z0-9+.-]{{1,15}}:// | www\. )
                [^{_OUTSIDE}]* [^{_OUTSIDE}.,;:!?)\]}}'\u2019*_|]                       # a URL
  | (?<![A-Za-z0-9_.+-]) [A-Za-z0-9_+-][A-Za-z0-9_.+-]* @ [A-Za-z0-9-]+ (?: \.[A-Za-z0-9-]+ )+  # an e-mail address
  | (?<!{_SPACED}) (?<![.,:/]) \d+ (?: [.,:/] \d+ )+ {_SPACED}*                         # 3,000.50 10:30 1/2
  | (?<![A-Za-z0-9./~-]) [A-Za-z0-9-]+ (?: \.[A-Za-z0-9-]+ )+
                (?: / [A-Za-z0-9_.%~+-]* [A-Za-z0-9_/] )+                               # example.org/x
  | (?<![\w./]) [~.]{{0,2}} (?: / [\w.+-]* \w ){{2,}} /?                                # /usr/share/doc
  | (?<![\w&]) [\#@] \w [\w-]*                                                          # #tag @name
  | (?<![\w-]) (?!_) \w+ _ \w+ (?: \. \w+ )*                                            # file_name.txt
  | \.{{2,}}                                                                            # dots
    """,
    re.VERBOSE,
)

# A quick test: each of these has one of these signs; most words have none.
_POSSIBLE = re.compile(r"[/@#_]|\d[.,:]\d|www\.|\.\.")


def protected_spans(line: str) -> list[tuple[int, int]]:
    """Find the spans that stay whole, from left to right.

    >>> [line[a:b] for line in ["See http://example.org/x?y=1, or 3,000.50 of them."] for a, b in protected_spans(line)]
    ['http://example.org/x?y=1', '3,000.50']
    """
    if not _POSSIBLE.search(line):
        return []
    return [found.span() for found in _PROTECTED.finditer(line)]


def is_protected(word: str) -> bool:
    """Tell whether a word is an address, a name or a tag, whose case matters.

    >>> is_protected("example.org/Path"), is_protected("and/or"), is_protected("3,000")
    (True, False, True)
    """
    return protected_spans(word) == [(0, len(word))]
