import pytest

from dragoman.normalisation.candidate_lists import CandidateGenerator, CandidateLists
from dragoman.normalisation.characters import LIMITS
from dragoman.normalisation.lexicon import Lexicon
from dragoman.search.translator import Translator


@pytest.fixture(scope="module")
def lists(normaliser):
    lexicon = Lexicon.of([*normaliser.lexicon.words, "zwergh\u00fchner"])
    generator = CandidateGenerator(Translator.of(normaliser.model, limits=LIMITS), normaliser.memory, lexicon)
    return CandidateLists.concatenate([*generator.lists(["zwerghu\u0364ner", next(iter(normaliser.memory.counts))])])


def column(lists, name):
    return lists.features[:, lists.names.index(name)]


def test_words_that_are_near_are_candidates(lists):
    row = lists.texts.index("zwergh\u00fchner")
    assert row < lists.offsets[1]
    assert [column(lists, name)[row] for name in ("known", "outside", "near", "edits")] == [1, 1, 1, 2]
    assert column(lists, "letters")[row] < 0


def test_what_the_model_does_not_write_has_scores_of_the_language_models(lists, normaliser):
    rows = [row for row in range(len(lists.texts)) if column(lists, "outside")[row]]
    assert rows
    for name, model in normaliser.model.language_models.items():
        for row in rows:
            units = " ".join(["\u2581", *lists.texts[row], "\u2581"])
            assert column(lists, name)[row] == pytest.approx(model.score(units) * 2.302585093, rel=1e-4)
