"""Raw text to tokens and back, as Moses does it (through sacremoses), fast enough for whole corpora."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from dragoman.core.options import Options, option
from dragoman.core.progress import SILENT, Progress

CHUNK_LINES = 10_000
# Starting a process takes as long as tokenising some tens of thousands of lines. So many are read before it is known
# whether there are enough.
_LINES_TO_PAY_FOR_A_PROCESS = 100_000
_MOST_LINES_AHEAD = 4 * _LINES_TO_PAY_FOR_A_PROCESS


@dataclass(frozen=True)
class Tokeniser(Options):
    """How raw text becomes tokens."""

    lowercase: bool = option(False, "turn all letters into lower case")
    normalise_punctuation: bool = option(False, "make quotes, dashes and spaces uniform first")
    split_dashes: bool = option(False, "split words at hyphens, marked by @-@")
    escape: bool = option(False, "write &, |, <, >, quotes and square brackets as Moses escapes them")


def tokenise_lines(
    lines: Sequence[str],
    language: str,
    options: Tokeniser | None = None,
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> list[str]:
    """Tokenise lines of one language (`en`, `fr`, ...); one space between tokens.

    More than one thread means processes, from so many lines on that starting them pays; a script that asks for them
    needs the usual `if __name__ == "__main__"`. The result is the same for any number.

    >>> tokenise_lines(["Hello, Mr. World! It's 5,300.", ""], "en")
    ["Hello , Mr. World ! It 's 5,300 .", '']
    """
    chunks = [lines[start : start + CHUNK_LINES] for start in range(0, len(lines), CHUNK_LINES)]
    tokenised: list[str] = []
    with progress.stage(f"tokenising {language}") as done:
        for block in tokenised_blocks(chunks, language, options, threads=threads):
            tokenised += block
            done(len(tokenised) / len(lines))
    return tokenised


def tokenised_blocks(
    blocks: Iterable[Sequence[str]], language: str, options: Tokeniser | None = None, *, threads: int = 1
) -> Iterator[list[str]]:
    """Do the same for lines that come in blocks, which are best of `CHUNK_LINES`; few of them are held."""
    tokenise = functools.partial(_tokenise_chunk, language=language, options=options or Tokeniser())
    blocks = iter(blocks)
    ahead: list[Sequence[str]] = []
    lines = 0
    while threads > 1 and lines < _MOST_LINES_AHEAD and (block := next(blocks, None)) is not None:
        ahead.append(block)
        lines += len(block)
    workers = threads if lines >= _MOST_LINES_AHEAD else min(threads, lines // _LINES_TO_PAY_FOR_A_PROCESS)
    blocks = itertools.chain(ahead, blocks)
    if workers < 2:
        yield from map(tokenise, blocks)
        return
    # Not forked: the parent may have threads of its own.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        waiting: deque[Future[list[str]]] = deque()
        for block in blocks:
            waiting.append(pool.submit(tokenise, block))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def detokenise_lines(lines: Sequence[str], language: str) -> list[str]:
    """Join tokens to text that a person would write.

    >>> detokenise_lines(["Hello , Mr. World ! It 's 5,300 ."], "en")
    ["Hello, Mr. World! It's 5,300."]
    """
    from sacremoses import MosesDetokenizer

    detokeniser = MosesDetokenizer(lang=language)
    return [detokeniser.detokenize(line.split(), unescape=False) for line in lines]


def _tokenise_chunk(lines: Sequence[str], language: str, options: Tokeniser) -> list[str]:
    # Imported when needed: sacremoses takes nearly half a second, which `dragoman --help` should not.
    from dragoman.text import moses_tokeniser

    if options.normalise_punctuation:
        normaliser = moses_tokeniser.normaliser(language)
        lines = [normaliser.normalise(line) for line in lines]
    line_tokeniser = moses_tokeniser.line_tokeniser(language, options.split_dashes)
    lines = [line_tokeniser.tokenise(line) for line in lines]
    if options.lowercase:
        lines = [line.lower() for line in lines]
    if options.escape:
        lines = [line_tokeniser.moses.escape_xml(line) for line in lines]
    return list(lines)
