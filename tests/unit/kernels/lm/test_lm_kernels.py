import numpy as np
import pytest

from dragoman import kernels

VOCAB = 12


def random_model(random, order):
    """Random n-grams, none closed under prefixes or suffixes: {n-gram: (logprob, back-off)}."""
    model = {(w,): random.normal(-2, 1, 2).astype(np.float32) for w in range(VOCAB)}
    for n in range(2, order + 1):
        for row in random.integers(0, VOCAB, (60, n)):
            model[tuple(row.tolist())] = random.normal(-2, 1, 2).astype(np.float32) * (1, random.integers(0, 2))
    return model


def indexed(model, order):
    rows = sorted(model, key=lambda ngram: (len(ngram), ngram))
    bounds = np.cumsum([0, *(sum(len(row) == n for row in rows) for n in range(1, order + 1))])
    words = np.array([w for row in rows for w in row], np.int32)
    logprobs, backoffs = (np.array([model[row][i] for row in rows], np.float32) for i in (0, 1))
    return kernels.lm_index(words, logprobs, backoffs, bounds, VOCAB, -100.0)


def logprob(model, context, word):
    if (*context, word) in model:
        return float(model[(*context, word)][0])
    backoff = float(model[context][1]) if context in model else 0.0
    return backoff + logprob(model, context[1:], word)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_queries_equal_the_definition(order):
    random = np.random.default_rng(order)
    model = random_model(random, order)
    slots, states, unigrams, bounds, *_, duplicate = indexed(model, order)
    assert duplicate == -1
    assert bounds[-1] == len(states)
    lengths = random.integers(0, 15, 3000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = random.integers(0, VOCAB, offsets[-1]).astype(np.int32)
    automaton = kernels.Automaton(slots=slots, states=states, unigrams=unigrams, bounds=bounds)
    sentences = kernels.Rows(values=words, offsets=offsets)
    found, matched = kernels.lm_score(automaton, sentences, True, True, True, 2, None)
    plain, _ = kernels.lm_score(automaton, sentences, True, True, False, 1, None)
    assert found.tobytes() == plain.tobytes()
    at = 0
    for row in range(300):
        text = (1, *words[offsets[row] : offsets[row + 1]].tolist(), 2)
        for i in range(1, len(text)):
            context = text[max(0, i - order + 1) : i]
            assert found[at] == pytest.approx(logprob(model, context, text[i]), abs=1e-5)
            longest = max(n for n in range(1, len(context) + 2) if n == 1 or (*context, text[i])[-n:] in model)
            assert longest <= matched[at] <= order
            at += 1


def test_duplicates_are_pointed_out():
    words = np.array([0, 1, 2, 0, 1, 1, 2, 0, 1], np.int32)
    zeros = np.zeros(6, np.float32)
    *_, duplicate = kernels.lm_index(words, zeros, zeros, np.array([0, 3, 6]), 3, -100.0)
    assert duplicate == 5
