"""Word alignments in the Pharaoh format: `0-0 1-1 2-4`, positions from 0, one sentence pair per line."""

from __future__ import annotations

import numpy as np

from dragoman import kernels
from dragoman.core.corpus import Bitext, Links
from dragoman.core.errors import DataError
from dragoman.core.files import PathLike, open_output, read_chunks
from dragoman.core.ragged import Ragged
from dragoman.formats.faults import check_fault

_ROWS_A_BLOCK = 1 << 16

# In step with LinkFault in kernels/text/links.cpp.
_FAULTS = {
    1: ("found {}", "links such as 0-1"),
    2: ("the link {} lies outside its sentence pair", "positions below the sentences' lengths, from 0"),
    3: ("found another line of links", "one line for each sentence pair"),
}


def read_links(path: PathLike, bitext: Bitext | None = None) -> Links:
    """Read word alignments; with `bitext`, check that they belong to it.

    Possible links (`0p1`) count as links, and probabilities (`0-1:0.9`) are ignored. The links of each sentence pair
    are returned sorted, without repetitions.
    """
    parts: list[Links] = [Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))]
    empty = np.empty(0, np.int64)
    source_lengths = empty if bitext is None else bitext.source.sentences.lengths
    target_lengths = empty if bitext is None else bitext.target.sentences.lengths
    for chunk in read_chunks(path):
        rest = slice(chunk.first_line - 1, None)
        links, offsets, fault = kernels.parse_links(
            np.frombuffer(chunk.data, np.uint8), source_lengths[rest], target_lengths[rest], bitext is not None
        )
        check_fault(fault, chunk.data, _FAULTS, path, chunk.first_line)
        parts.append(Ragged(links, offsets))
    rows = Ragged.concatenate(parts)
    if bitext is not None and len(rows) != len(bitext):
        raise DataError(f"has {len(rows)} lines", path=path, expected=f"{len(bitext)}, one for each sentence pair")
    return rows


def write_links(path: PathLike, links: Links) -> None:
    """Write word alignments, one sentence pair per line."""
    with open_output(path) as stream:
        for start in range(0, len(links), _ROWS_A_BLOCK):
            stream.write(kernels.format_links(links.values, links.offsets[start : start + _ROWS_A_BLOCK + 1]).tobytes())
