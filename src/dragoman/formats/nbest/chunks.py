"""Lines of files in chunks that end where a sentence ends, for formats that are read in blocks of sentences.

Chunks come as soon as their lines: a complete sentence from an open pipe does not wait for the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dragoman.core.files import Chunk, PathLike, read_chunks
from dragoman.core.progress import ProgressCallback

#: Bytes read at a time: thousands of hypotheses, so that the overhead is small.
BLOCK_BYTES = 1 << 22


def prompt_chunks(path: PathLike, progress_callback: ProgressCallback | None) -> Iterator[Chunk]:
    """Yield lines as they come; `progress_callback` gets the fraction of the file that has been read."""
    for chunk in read_chunks(path, BLOCK_BYTES, prompt=True):
        yield chunk
        if progress_callback is not None:
            progress_callback(chunk.share)


def chunks_by_number(path: PathLike, ends: bytes, progress_callback: ProgressCallback | None) -> Iterator[Chunk]:
    """Yield lines of complete sentences, whose number precedes `ends`; a line of another sentence ends one."""
    held: list[bytes] = []
    of_held, line = b"", 1
    for chunk in prompt_chunks(path, progress_callback):
        number, start = _last_sentence(chunk.data, ends)
        if start or (held and number != of_held):
            data = b"".join([*held, chunk.data[:start]])
            yield replace(chunk, data=data, first_line=line)
            line += data.count(b"\n")
            held = []
        held.append(chunk.data[start:])
        of_held = number
    if held:
        yield Chunk(b"".join(held), line, share=1.0)


def _last_sentence(data: bytes, ends: bytes) -> tuple[bytes, int]:
    """Return the sentence number of the last line, and the position where the lines with that number begin."""
    start = data.rfind(b"\n", 0, -1) + 1
    number = _number(data[start:], ends)
    while start:
        before = data.rfind(b"\n", 0, start - 1) + 1
        if _number(data[before:start], ends) != number:
            break
        start = before
    return number, start


def _number(line: bytes, ends: bytes) -> bytes:
    return line.partition(ends)[0].strip().lstrip(b"0")


def chunks_by_size(path: PathLike, size: int, progress_callback: ProgressCallback | None) -> Iterator[Chunk]:
    """Yield lines of complete sentences, `size` for each; the last chunk has the remaining lines."""
    held: list[bytes] = []
    count, line = 0, 1
    for chunk in prompt_chunks(path, progress_callback):
        held.append(chunk.data)
        count += chunk.data.count(b"\n")
        rest = count % size
        # At the end of a file, surplus lines stay with the sentences before them, so that all are refused before use.
        if count >= size and not (rest and chunk.share >= 1):
            data = b"".join(held)
            cut = len(data)
            for _ in range(rest):
                cut = data.rfind(b"\n", 0, cut - 1) + 1
            yield replace(chunk, data=data[:cut], first_line=line)
            held, line, count = [data[cut:]], line + count - rest, rest
    if count:
        yield Chunk(b"".join(held), line, share=1.0)
