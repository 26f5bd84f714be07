"""BLEU of counts that tests draw at random, without any text."""

import numpy as np

from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import bleu_scores
from dragoman.metrics.metric import Scorer


class CountedBleu(Scorer):
    """BLEU up to order 2 of [match 1, match 2, total 1, total 2, length, reference length]."""

    bleu_columns = np.arange(6)

    def statistics(self, hypotheses, sentences=None, *, runtime=Runtime()):
        raise NotImplementedError

    def score(self, statistics):
        return bleu_scores(statistics[..., [4, 5, 0, 1, 2, 3]])

    def sentence_scores(self, statistics):
        return bleu_scores(statistics[..., [4, 5, 0, 1, 2, 3]], "add-k", 1.0)
