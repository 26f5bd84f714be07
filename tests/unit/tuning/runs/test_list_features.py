"""Features of candidates that are computed: agreement, quality estimates, language models, functions."""

import math

import numpy as np
import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from dragoman.formats.arpa import read_arpa
from dragoman.front.candidate_lists import given_lists
from dragoman.metrics.utility import utility_of
from dragoman.model.language_model import LanguageModel
from dragoman.tuning.runs.list_features import feature_columns, language_model_scores, lengths, utility_scores

LISTS = given_lists([["the cat", "a dog", "the cat", "the cat sat"], ["dogs bark", ""]]).lists
ARPA = r"""\data\
ngram 1=5
ngram 2=2

\1-grams:
-1.0 <unk> 0
-99 <s> -0.5
-0.8 </s> 0
-0.6 the -0.25
-0.9 cat -0.3

\2-grams:
-0.1 <s> the
-0.2 the cat

\end\
"""


class Quality:
    needs_reference = False

    def score(self, hypotheses, references, sources):
        assert set(references) <= {""}
        return [len(text) + len(source) for text, source in zip(hypotheses, sources, strict=True)]


def test_agreement_is_the_mean_over_all_candidates_of_the_sentence():
    chrf, texts = utility_of("chrf"), LISTS.texts()
    found = utility_scores(LISTS, "chrf")
    for begin, end in ((0, 4), (4, 6)):
        for i in range(begin, end):
            scores = chrf.score([texts[i]] * (end - begin), texts[begin:end], [""] * (end - begin))
            assert found[i] == pytest.approx(np.mean(scores))
    assert utility_scores(LISTS, utility_of("chrf")).tobytes() == found.tobytes()


def test_a_utility_without_references_is_a_quality_estimate():
    assert utility_scores(LISTS, Quality()).tolist() == [len(text) for text in LISTS.texts()]


def test_a_language_model_scores_whole_sentences(tmp_path):
    path = tmp_path / "lm.arpa"
    path.write_text(ARPA, encoding="utf-8")
    model = LanguageModel.from_ngrams(read_arpa(path))
    found = language_model_scores(LISTS, path)
    assert found == pytest.approx([model.score(text) for text in LISTS.texts()])
    assert found[0] == pytest.approx(-0.1 - 0.2 - 0.3 - 0.8)
    assert math.isfinite(found[5])  # of the empty text: its end


def test_a_model_prepares_text_for_its_language_model(tmp_path):
    model = dm.example()
    lists = given_lists([["A MAN sleeps.", "a man sleeps ."]]).lists
    model.save(tmp_path / "model")
    found = language_model_scores(lists, tmp_path / "model")
    lm = next(iter(model.model.language_models.values()))
    prepared = [*model.model.preparation().target(lists.texts())]
    assert found == pytest.approx([lm.score(text) for text in prepared])


def test_functions_and_numbers():
    def count(texts):
        return [len(text.split()) for text in texts]

    def with_sources(texts, sources):
        return [len(text) - len(source) for text, source in zip(texts, sources, strict=True)]

    given = {"count": count, "both": with_sources, "given": range(6)}
    found = feature_columns(LISTS, given, in_file_order=True)
    assert found["count"].tolist() == lengths(LISTS).tolist() == [2, 2, 2, 3, 2, 0]
    assert found["both"].tolist() == [len(text) for text in LISTS.texts()]
    assert found["given"].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(UsageError, match="'few' gave 1 numbers for 6 hypotheses; expected one for each"):
        feature_columns(LISTS, {"few": lambda texts: [1.0]}, in_file_order=True)


def test_features_by_name_in_reranking():
    lists = [["dogs", "the cat sat", "a cat sat", "the bat sat"]]
    features = {"agreement": "chrf", "words": lambda texts: [len(text.split()) for text in texts]}
    assert dm.rerank(lists, {"agreement": 1.0, "words": 0.0}, features=features) == dm.mbr(lists, utility="chrf")
    assert dm.rerank(lists, {"agreement": 0.0, "words": -1.0}, features=features) == ["dogs"]


def test_a_folder_without_a_language_model_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError):
        language_model_scores(LISTS, tmp_path / "empty")
