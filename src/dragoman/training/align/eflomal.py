"""The eflomal aligner (Östling & Tiedemann 2016), if its package is installed: Gibbs sampling with fertilities."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from dragoman.core.corpus import Bitext, Corpus, Links
from dragoman.core.errors import DragomanError, UsageError, write_error
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.training.align.base import Aligner, Directions

_LONGEST = 1023  # eflomal skips longer sentences


@dataclass(frozen=True)
class Eflomal(Aligner):
    """The eflomal package. Its sampler takes its seed from the clock: two runs give slightly different alignments."""

    name: ClassVar[str] = "eflomal"

    samplers: int = option(3, "independent samplers, whose samples are combined", minimum=1)
    relative_iterations: float = option(1.0, "number of iterations, relative to eflomal's default", minimum=0.001)
    null_prior: float = option(0.2, "prior probability of an unaligned word", minimum=0.001, maximum=0.99)

    def align(self, bitext: Bitext, *, runtime: Runtime = Runtime()) -> Directions:
        """Align the words of each sentence pair; an empty sentence has no links."""
        try:
            import eflomal
        except ImportError:
            raise UsageError("the eflomal aligner needs a package: pip install 'dragoman[eflomal]'") from None
        if too_long := _too_long(bitext):
            runtime.warn(f"{too_long} sentence pairs are longer than {_LONGEST} words; eflomal does not align them")
        with tempfile.TemporaryDirectory() as folder, runtime.stage("aligning, both directions"):
            source, target, forward, reverse = (str(Path(folder) / name) for name in ("s", "t", "forward", "reverse"))
            for path, corpus in ((source, bitext.source), (target, bitext.target)):
                try:
                    with Path(path).open("wb") as stream:
                        eflomal.write_text(stream, tuple(_sentences(corpus)), len(corpus.vocab))
                except OSError as error:
                    raise write_error(path, error) from None
            eflomal.align(
                source,
                target,
                links_filename_fwd=forward,
                links_filename_rev=reverse,
                n_samplers=self.samplers,
                rel_iterations=self.relative_iterations,
                null_prior=self.null_prior,
            )
            return Directions(_read_links(Path(forward), len(bitext)), _read_links(Path(reverse), len(bitext)))


def _sentences(corpus: Corpus) -> Ragged[np.uint32]:
    return Ragged(corpus.sentences.values.astype(np.uint32), corpus.sentences.offsets)


def _too_long(bitext: Bitext) -> int:
    lengths = np.maximum(bitext.source.sentences.lengths, bitext.target.sentences.lengths)
    return int(np.count_nonzero(lengths > _LONGEST))


def _read_links(path: Path, rows: int) -> Links:
    """Read lines of `source-target` and sort each."""
    text = path.read_bytes() if path.exists() else b""
    if text.count(b"\n") != rows:
        raise DragomanError(f"eflomal wrote {text.count(10)} lines of word alignment for {rows} sentence pairs")
    characters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(characters == ord("-"), dtype=np.int64)[ends]])
    positions = np.array(text.replace(b"-", b" ").split(), np.uint32).reshape(-1, 2)
    links = positions[:, 0] << np.uint32(16) | positions[:, 1]
    row = np.repeat(np.arange(rows), np.diff(offsets))
    return Ragged(links[np.lexsort((links, row))], offsets)
