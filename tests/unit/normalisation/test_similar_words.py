import itertools
import random

from dragoman.normalisation.edit_costs import SimilarWords, skeleton


def left_out(word):
    bare = skeleton(word)
    return {bare, *(bare[:i] + bare[i + 1 :] for i in range(len(bare)))}


def test_words_meet_as_their_skeletons_do_with_a_letter_left_out():
    rng = random.Random(3)
    words = sorted({"".join(rng.choices("abcu\u00fc\u00df", k=rng.randint(1, 6))) for _ in range(150)})
    forms = ["".join(rng.choices("abcu\u0364s", k=rng.randint(1, 6))) for _ in range(40)]
    near = SimilarWords(words)
    found = {(int(form), near.words[word]) for form, word in zip(*near.find(forms), strict=True)}
    expected = {
        (i, word) for (i, form), word in itertools.product(enumerate(forms), words) if left_out(form) & left_out(word)
    }
    assert found == expected


def test_nothing_is_near_where_nothing_is():
    assert [len(side) for side in SimilarWords([]).find(["vnd"])] == [0, 0]
    assert [len(side) for side in SimilarWords(["und"]).find([])] == [0, 0]
