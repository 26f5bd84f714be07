"""TER: translation edit rate, with shifts of word sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.options import option
from dragoman.core.runtime import Runtime
from dragoman.metrics.error_rate import ErrorRate
from dragoman.metrics.metric import SACREBLEU, signature
from dragoman.metrics.references import HypothesisReferenceIds, Preparation, change_lines, words_as_in_sacrebleu


@dataclass(frozen=True)
class Ter(ErrorRate):
    """Translation edit rate (Snover et al. 2006), equal to sacreBLEU's, which follows Tercom.

    Finding the fewest edits is NP-hard; Tercom greedily takes the shift that lowers the edit distance most, as long as
    there is one. The kernel does the same search under the same limits (beam 25, shifts of at most 10 words over at
    most 50, 1,000 shifts tried).
    """

    name: ClassVar[str] = "ter"

    normalised: bool = option(False, "tokenise punctuation as Tercom does")
    no_punctuation: bool = option(False, "remove punctuation")
    asian_support: bool = option(False, "let these two treat Asian characters and punctuation as well")
    case_sensitive: bool = option(False, "keep case")

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(
            self.name,
            case="mixed" if self.case_sensitive else "lc",
            tok="tercom",
            norm=self.normalised,
            punct=not self.no_punctuation,
            asian=self.asian_support,
            equals=SACREBLEU,
        )

    def preparation(self) -> Preparation:
        """Tokenise as Tercom, and lower-case."""
        if not self.normalised and not self.no_punctuation:
            return lambda corpus: words_as_in_sacrebleu(corpus, lowercase=not self.case_sensitive)
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer  # slow to import, and rarely needed

        tokeniser = TercomTokenizer(self.normalised, self.no_punctuation, self.asian_support, self.case_sensitive)
        return lambda corpus: change_lines(corpus, lambda line: str(tokeniser(line.rstrip())))

    def edits(self, compared: HypothesisReferenceIds, *, runtime: Runtime = Runtime()) -> NDArray[np.int64]:
        """Count shifts, insertions, deletions and substitutions."""
        return kernels.translation_edits(compared.for_kernels(), runtime.threads)
