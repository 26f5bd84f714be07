"""Slow twins of language-model estimation and queries: dictionaries of tuples of words, one formula a line."""

from __future__ import annotations

import math
from collections import Counter

from dragoman.core.corpus import Corpus
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.model.language_model import LanguageModel
from dragoman.training.lm.kneser_ney import KneserNey, estimate

BOS, EOS, UNK = "<s>", "</s>", "<unk>"


def kneser_ney(sentences, order, thresholds=None, fallback=(0.5, 1.0, 1.5)):
    """Interpolated modified Kneser-Ney: {n-gram: (log10 probability, log10 back-off)}."""
    thresholds = thresholds or [0] * order
    occurrences = Counter()
    for sentence in sentences:
        text = [BOS, *sentence, EOS]
        for n in range(1, order + 1):
            occurrences.update(tuple(text[i : i + n]) for i in range(len(text) - n + 1))
    adjusted = {}
    for ngram, count in occurrences.items():
        if len(ngram) == order or ngram[0] == BOS:
            adjusted[ngram] = count
        else:
            adjusted[ngram] = sum(1 for longer in occurrences if len(longer) == len(ngram) + 1 and longer[1:] == ngram)
    adjusted[(BOS,)] = 0
    adjusted.setdefault((UNK,), 0)

    discounts = {
        n: discounts_of([c for g, c in adjusted.items() if len(g) == n], fallback) for n in range(1, order + 1)
    }

    def kept(ngram):
        return len(ngram) == 1 or occurrences[ngram] > thresholds[len(ngram) - 1]

    children = {}
    for ngram in adjusted:
        children.setdefault(ngram[:-1], []).append(ngram)

    def gamma(context):
        saved = sum(discounts[len(g)][min(adjusted[g], 3)] if kept(g) else adjusted[g] for g in children[context])
        return saved / sum(adjusted[g] for g in children[context])

    uniform = 1 / (sum(len(g) == 1 for g in adjusted) - 1)

    def probability(ngram):
        lower = probability(ngram[1:]) if len(ngram) > 1 else uniform
        context = ngram[:-1]
        total = sum(adjusted[g] for g in children[context])
        seen = (adjusted[ngram] - discounts[len(ngram)][min(adjusted[ngram], 3)]) / total
        return seen + gamma(context) * lower

    model = {}
    for ngram in adjusted:
        if kept(ngram):
            logprob = 0.0 if ngram == (BOS,) else math.log10(probability(ngram))
            model[ngram] = (logprob, math.log10(gamma(ngram)) if ngram in children else 0.0)
    return model


def discounts_of(counts, fallback):
    n = [sum(c == k for c in counts) for k in range(5)]
    if n[1] and n[2] and n[3]:
        y = n[1] / (n[1] + 2 * n[2])
        estimated = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        if min(estimated) > 0:
            return [0.0, *estimated]
    return [0.0, *fallback]


def backoff_logprob(model, context, word, missing_unknown=-100.0):
    """log10 p(word | context) by the definition of back-off models; `model` as `kneser_ney` returns it."""
    ngram = (*context, word)
    if ngram in model:
        return model[ngram][0]
    if not context:
        return model.get((UNK,), (missing_unknown, 0.0))[0]
    return model.get(tuple(context), (0.0, 0.0))[1] + backoff_logprob(model, context[1:], word, missing_unknown)


def score(model, order, sentence, bos=True, eos=True):
    """log10 probability of each word, and of the end."""
    known = [word if (word,) in model and word not in (BOS, EOS) else UNK for word in sentence]
    text = [BOS] * bos + known + [EOS] * eos
    return [backoff_logprob(model, tuple(text[max(0, i - order + 1) : i]), text[i]) for i in range(int(bos), len(text))]


class _Silent(Progress):
    def note(self, text):
        pass

    def warn(self, text):
        """Say nothing of texts that are too small for discounts."""


def lm_of(lines, order):
    """Our own language model of a few lines."""
    runtime = Runtime(progress=_Silent())
    return LanguageModel.from_ngrams(estimate(Corpus.from_lines(lines), KneserNey(order=order), runtime=runtime))
