"""Raw text to tokens, as Moses does it (through sacremoses), and back, fast enough for whole corpora."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.text.detokenise import MARKS, WITHOUT_MARKS, joined, marked
from dragoman.text.normalise import normalise_punctuation
from dragoman.text.segment import Segmentation, segment

CHUNK_LINES = 10_000
# Starting a process takes as long as tokenising some tens of thousands of lines. So many are read before it is known
# whether there are enough.
_LINES_TO_PAY_FOR_A_PROCESS = 100_000
_MOST_LINES_AHEAD = 4 * _LINES_TO_PAY_FOR_A_PROCESS

#: Control characters, which the tokeniser would drop.
_CONTROLS = {code: " " if chr(code).isspace() else None for code in (*range(32), 127)}
#: What words of a model have and few raw texts: signs with spaces around them, clitics and marks.
_PERHAPS_WORDS = re.compile(rf"(?<!\S)(?:[.,;:!?()\"]|'\w+|\w+')(?!\S)|[{MARKS}]")


@dataclass(frozen=True)
class Tokeniser(Options):
    """How raw text becomes tokens."""

    lowercase: bool = option(False, "turn all letters into lower case")
    normalise_punctuation: bool = option(False, "make quotes, dashes and spaces uniform first")
    protect: bool = option(False, "keep URLs, addresses, numbers, names of files, tags and names of users whole")
    marks: bool = option(False, "mark where text is joined otherwise than its language's rules say; see detokenise.py")
    split_dashes: bool = option(False, "split words at hyphens, marked by @-@")
    segmenter: Segmentation = option("none", "what cuts text without spaces between words; see segment.py")
    escape: bool = option(False, "write &, |, <, >, quotes and square brackets as Moses escapes them")


def tokenise_lines(
    lines: Sequence[str], language: str, options: Tokeniser | None = None, *, runtime: Runtime = Runtime()
) -> list[str]:
    """Tokenise lines of one language (`en`, `fr`, ...); one space between tokens.

    More than one thread means processes, from so many lines on that starting them pays; a script that asks for them
    needs the usual `if __name__ == "__main__"`. The result is the same for any number.

    >>> tokenise_lines(["Hello, Mr. World! It's 5,300.", ""], "en")
    ["Hello , Mr. World ! It 's 5,300 .", '']
    """
    chunks = [lines[start : start + CHUNK_LINES] for start in range(0, len(lines), CHUNK_LINES)]
    tokenised: list[str] = []
    with runtime.stage(f"tokenising {language}") as progress_callback:
        for block in tokenised_blocks(chunks, language, options, runtime=runtime):
            tokenised += block
            progress_callback(len(tokenised) / len(lines))
    return tokenised


def tokenised_blocks(
    blocks: Iterable[Sequence[str]], language: str, options: Tokeniser | None = None, *, runtime: Runtime = Runtime()
) -> Iterator[list[str]]:
    """Do the same for lines that come in blocks, which are best of `CHUNK_LINES`; few of them are held."""
    tokenise = functools.partial(_tokenise_chunk, language=language, options=options or Tokeniser())
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


def detokenise_lines(lines: Sequence[str], language: str, *, marks: bool = True, unspaced: bool = False) -> list[str]:
    """Join tokens to text that a person would write, of which `marks` may say where to join them.

    `unspaced` says that the language writes no spaces between words.

    >>> detokenise_lines(["Hello , Mr. World ! It 's 5,300 ."], "en")
    ["Hello, Mr. World! It's 5,300."]
    """
    return [joined(line.split(), language, marks=marks, unspaced=unspaced) for line in lines]


def _tokenise_chunk(lines: Sequence[str], language: str, options: Tokeniser) -> list[str]:
    if options.normalise_punctuation:
        lines = [normalise_punctuation(line, language) for line in lines]
    if options.protect or options.marks:
        lines = [" ".join(line.translate(_CONTROLS).split()) for line in lines]
    if options.protect and not options.marks:
        lines = [line.translate(WITHOUT_MARKS) for line in lines]
    if options.segmenter != "none":
        tokenised = [segment(line, options.segmenter) for line in lines]
    else:
        tokenised = _tokenise_words(lines, language, options)
    if options.lowercase:
        tokenised = [line.lower() for line in tokenised]
    return tokenised


def _tokenise_words(lines: Sequence[str], language: str, options: Tokeniser) -> list[str]:
    # Imported when needed: sacremoses takes nearly half a second, which `dragoman --help` should not.
    from dragoman.text import moses_tokeniser

    tokeniser = moses_tokeniser.line_tokeniser(language, options.split_dashes)
    tokenise: Callable[[str], str] = tokeniser.tokenise_around if options.protect else tokeniser.tokenise
    if options.marks:
        tokenise = functools.partial(_tokenise_with_marks, language=language, tokenise=tokenise)
    tokenised = [tokenise(line) for line in lines]
    return [tokeniser.moses.escape_xml(line) for line in tokenised] if options.escape else tokenised


def _tokenise_with_marks(line: str, language: str, tokenise: Callable[[str], str]) -> str:
    if _PERHAPS_WORDS.search(line):
        words = line.split()
        if _marked_tokens(joined(words, language), language, tokenise) == words:
            return line  # which is in the model's words already
        line = line.translate(WITHOUT_MARKS)
    return " ".join(_marked_tokens(line, language, tokenise))


def _marked_tokens(text: str, language: str, tokenise: Callable[[str], str]) -> list[str]:
    return marked(tokenise(text).split(), text, language)
