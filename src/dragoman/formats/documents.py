"""Which lines of a text belong together: a file with a label for each line."""

from __future__ import annotations

from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, read_lines


def read_documents(path: PathLike, lines: int) -> list[str]:
    """Read the label of each of a text's `lines`; lines in a row with the same label are a document."""
    labels = list(read_lines(path))
    if len(labels) != lines:
        raise DataError(f"has {len(labels)} labels of documents", path=path, expected=f"{lines}, one for each sentence")
    return labels
