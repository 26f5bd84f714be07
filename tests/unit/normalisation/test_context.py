import itertools
import math
import random

import pytest

from dragoman.normalisation.candidate_lists import NormalisedWord
from dragoman.normalisation.choice import ContextModel
from dragoman.normalisation.examples import Example, Examples

SENTENCES = ["ich sah den mann", "denn er sah den hund", "denn ich kam", "den hund sah er", "zu▁hause sah er den mann"]


@pytest.fixture(scope="module")
def context():
    words = [word.replace("▁", " ") for line in SENTENCES for word in line.split()]
    bounds = [0, *itertools.accumulate(len(line.split()) for line in SENTENCES)]
    return ContextModel.of(Examples(tuple(Example(word, word) for word in words), tuple(bounds)), 0.7)


def test_the_path_is_the_best_of_all(context):
    rng = random.Random(2)
    words = [*sorted({word for line in SENTENCES for word in line.split()}), "niegesehen"]
    for _ in range(20):
        sentence = [[(rng.choice(words), math.log(rng.random())) for _ in range(rng.randint(1, 3))] for _ in range(4)]

        def score(path, sentence=sentence):
            chosen = [options[i] for options, i in zip(sentence, path, strict=True)]
            language = context.bigrams.score(" ".join(word for word, _ in chosen), eos=False)
            return sum(own for _, own in chosen) + 0.7 * math.log(10) * language

        best = max(score(path) for path in itertools.product(*(range(len(options)) for options in sentence)))
        assert score(context.best(sentence)) == pytest.approx(best, abs=1e-4)
    assert context.best([]) == []


def test_neighbours_tell_two_words_apart(context):
    either = NormalisedWord("denn", 0.6, (("den", 0.4),))

    def alone(word):
        return NormalisedWord(word, 1.0)

    assert [one.modern for one in context.choose([alone("sah"), either, alone("hund")])] == ["sah", "den", "hund"]
    assert context.choose([either, alone("er")])[0] == either
