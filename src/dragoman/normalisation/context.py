"""Context: which spelling of each word is meant, by its neighbours; `den` may be `den` or `denn`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel
from dragoman.normalisation.characters import Calm
from dragoman.normalisation.examples import Examples
from dragoman.normalisation.normalised import Normalised
from dragoman.training.lm.kneser_ney import KneserNey, estimate_model

#: A word with its log-probability, of several that a form may become.
Options = Sequence[tuple[str, float]]

#: The weights of the language model that are tried on a development set.
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)


@dataclass(frozen=True, eq=False)
class Context:
    """A language model of pairs of modern words, and how much it weighs against the choice for single words."""

    bigrams: LanguageModel
    weight: float = 0.3

    @classmethod
    def of(cls, examples: Examples, weight: float = 0.3, *, runtime: Runtime = Runtime()) -> Context:
        """Learn from the modern side of examples, sentence by sentence."""
        # A form of two words is one token here: no space may cut it.
        words = [_token(example.modern) for example in examples.tokens]
        lines = [" ".join(words[begin:end]) for begin, end in pairwise(examples.bounds)]
        text = Corpus.from_lines(line for line in lines if line)
        calm = replace(runtime, progress=Calm())
        return cls(estimate_model(text, KneserNey(order=2), runtime=calm), weight)

    def chosen(self, sentence: Sequence[Normalised]) -> list[Normalised]:
        """Return the words of a sentence with those of their forms first that are most probable together."""
        path = self.best([one.log_probabilities() for one in sentence])
        return [one.preferring(place) for one, place in zip(sentence, path, strict=True)]

    def best(self, sentence: Sequence[Options]) -> list[int]:
        """Return which of its options each word of a sentence gets: those that are most probable together."""
        if not sentence:
            return []
        ids = [np.array([self.bigrams.vocab.id(_token(word)) for word, _ in options], np.int32) for options in sentence]
        own = [np.array([score for _, score in options]) for options in sentence]
        first = Ragged(ids[0], np.arange(len(ids[0]) + 1, dtype=np.int64))
        best = own[0] + self._weighted(self.bigrams.logprobs(first, eos=False))
        back: list[NDArray[np.intp]] = []
        for before, after, scores in zip(ids, ids[1:], own[1:], strict=False):
            pairs = np.stack([np.repeat(before, len(after)), np.tile(after, len(before))], axis=1)
            ragged = Ragged(pairs.reshape(-1), np.arange(0, pairs.size + 1, 2, dtype=np.int64))
            steps = self.bigrams.logprobs(ragged, bos=False, eos=False)[1::2].reshape(len(before), len(after))
            through = best[:, None] + self._weighted(steps)
            back.append(through.argmax(axis=0))
            best = through.max(axis=0) + scores
        path = [int(best.argmax())]
        for pointers in reversed(back):
            path.append(int(pointers[path[-1]]))
        return path[::-1]

    def _weighted(self, log10: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.asarray(self.weight * np.log(10.0) * log10, np.float64)


def _token(word: str) -> str:
    return word.replace(" ", "▁")
