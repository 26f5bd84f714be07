"""METEOR: F-score of matched words, with a penalty for matches in many pieces.

Snowball's `porter` is three times as slow and keeps cc and kk where the paper has one letter: trekk for trekking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.options import option
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.metrics.metric import Metric, signature
from dragoman.metrics.references import HypothesisReferenceIds, References, ReferenceScorer, change_words

# A word is [C](VC){m}[V] where C and V are runs of consonants and vowels; y is a vowel after a consonant.
_CONSONANT = "(?:[^aeiouy]|(?<![^aeiou])y)"
_VOWEL = "(?:[aeiou]|(?<=[^aeiou])y)"
_MEASURE_1 = re.compile(f"^{_CONSONANT}*{_VOWEL}+{_CONSONANT}")
_MEASURE_ONLY_1 = re.compile(f"^{_CONSONANT}*{_VOWEL}+{_CONSONANT}+{_VOWEL}*$")
_MEASURE_2 = re.compile(f"^{_CONSONANT}*{_VOWEL}+{_CONSONANT}+{_VOWEL}+{_CONSONANT}")
_HAS_VOWEL = re.compile(_VOWEL)
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")
_SHORT = re.compile(f"{_CONSONANT}{_VOWEL}[^aeiouwxy]$")  # *o: consonant, vowel, consonant other than w, x, y

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = {
    **dict.fromkeys(["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism"], ""),
    **dict.fromkeys(["ate", "iti", "ous", "ive", "ize"], ""),
    "sion": "s",
    "tion": "t",
}


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word; words with other characters do not change.

    >>> [stem(word) for word in ("relational", "hopping", "ponies", "probate", "sky", "naïve")]
    ['relat', 'hop', 'poni', 'probat', 'sky', 'naïve']
    """
    if len(word) <= 2 or not (word.isascii() and word.isalpha() and word.islower()):
        return word
    word = _step_1(word)
    word = _replace(word, _STEP_2, _MEASURE_1)
    word = _replace(word, _STEP_3, _MEASURE_1)
    word = _replace(word, _STEP_4, _MEASURE_2)
    if word.endswith("e"):
        rest = word[:-1]
        if _MEASURE_2.match(rest) or (_MEASURE_ONLY_1.match(rest) and not _SHORT.search(rest)):
            word = rest
    if word.endswith("ll") and _MEASURE_2.match(word[:-1]):
        word = word[:-1]
    return word


def _step_1(word: str) -> str:
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _MEASURE_1.match(word[:-3]):
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            rest = word.removesuffix(ending)
            if rest != word and _HAS_VOWEL.search(rest):
                word = _repaired(rest)
                break
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    return word


def _repaired(rest: str) -> str:
    """Give back what -ed and -ing took: conflat(e), siz(e), fil(e); but hopp becomes hop."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _DOUBLE.search(rest):
        return rest[:-1]
    if _MEASURE_ONLY_1.match(rest) and _SHORT.search(rest):
        return rest + "e"
    return rest


def _replace(word: str, endings: dict[str, str], condition: re.Pattern[str]) -> str:
    """Replace the longest ending that the word has, if what is before it (or is left) fulfils the condition."""
    ending = max((ending for ending in endings if word.endswith(ending)), key=len, default=None)
    if ending is None:
        return word
    kept = endings[ending]
    before = word[: len(word) - len(ending)]
    measured = before + kept if ending in ("sion", "tion") else before
    return before + kept if condition.match(measured) else word


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR with exact and stem matching, in the parameters of Banerjee & Lavie (2005); from 0 to 100.

    Words are aligned one to one: first as many equal words, then as many words of equal Porter stems as possible, in
    the fewest chunks (runs that are adjacent on both sides) that a beam search finds; the paper has the fewest
    crossings, later versions of METEOR the fewest chunks. With precision P and recall R of the matches, the score is (1
    - gamma (chunks / matches)^beta) P R / (alpha P + (1 - alpha) R). There are no synonyms, paraphrases or function
    words, so it is not the number of the later METEOR programs. With several references, a sentence counts against the
    one that gives it the best score.
    """

    name: ClassVar[str] = "meteor"

    stemmer: Literal["porter", "none"] = option("porter", "porter for English; none matches equal words only")
    alpha: float = option(0.9, "weight of recall against precision", minimum=0, maximum=1)
    beta: float = option(3.0, "exponent of fragmentation in the penalty", minimum=0)
    gamma: float = option(0.5, "the largest penalty", minimum=0, maximum=1)
    stem_weight: float = option(1.0, "weight of a stem match", minimum=0, maximum=1)
    lowercase: bool = option(True, "ignore case")
    beam: int = option(40, "beam of the search for the fewest chunks", minimum=1)

    def scorer(self, references: Sequence[Corpus]) -> MeteorScorer:
        """Bind references."""
        return MeteorScorer(self, references)

    def signature(self) -> str:
        """Return the settings that reproduce the score."""
        return signature(
            self.name,
            case="lc" if self.lowercase else "mixed",
            modules="exact+porter" if self.stemmer == "porter" else "exact",
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
            stem=self.stem_weight if self.stemmer == "porter" else None,
            beam=self.beam,
        )


class MeteorScorer(ReferenceScorer):
    """METEOR with its references."""

    def __init__(self, metric: Meteor, references: Sequence[Corpus]):
        self.metric = metric
        super().__init__(References(references, metric.name, lambda corpus: change_words(corpus, self._words)))
        self.stems = (
            References(references, metric.name, lambda corpus: change_words(corpus, self._stems))
            if metric.stemmer == "porter"
            else self.references
        )

    def counts(
        self, hypotheses: Corpus, sentences: NDArray[np.int64], *, runtime: Runtime = Runtime()
    ) -> NDArray[np.float64]:
        """Return for each hypothesis: length, reference length, exact matches, stem matches, chunks."""
        words, stems = self.references.encode(hypotheses), self.stems.encode(hypotheses)

        def against(reference: Ragged[np.int32], reference_stems: Ragged[np.int32]) -> NDArray[np.float64]:
            matches = kernels.meteor_matches(
                HypothesisReferenceIds(words, sentences, reference).for_kernels(),
                HypothesisReferenceIds(stems, sentences, reference_stems).for_kernels(),
                self.metric.beam,
                runtime.threads,
            )
            return np.column_stack([words.lengths, reference.lengths[sentences], matches]).astype(np.float64)

        return self.best_counts(map(against, self.references.rows, self.stems.rows))

    def score(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score sums of statistics; one sentence that equals its reference has no penalty."""
        metric = self.metric
        length, reference_length, exact, stems, chunks = np.moveaxis(statistics, -1, 0)
        matches, weighted = exact + stems, exact + metric.stem_weight * stems
        precision = weighted / np.maximum(length, 1)
        recall = weighted / np.maximum(reference_length, 1)
        mixed = metric.alpha * precision + (1 - metric.alpha) * recall
        f_score = precision * recall / np.where(mixed > 0, mixed, 1.0)
        whole = (chunks == 1) & (exact == length) & (exact == reference_length)
        penalty = np.where(whole, 0.0, metric.gamma * (chunks / np.maximum(matches, 1)) ** metric.beta)
        return np.asarray(100 * (1 - penalty) * f_score)

    def _words(self, text: str) -> str:
        return text.lower() if self.metric.lowercase else text

    def _stems(self, text: str) -> str:
        return "\n".join(" ".join(map(stem, line.split())) for line in self._words(text).split("\n"))
