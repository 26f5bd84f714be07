import pytest

from dragoman.core.errors import DataError, UsageError
from dragoman.decision.settings import Decision
from dragoman.normalisation.examples import match_case
from dragoman.normalisation.normaliser import SpellingNormaliser, suggestions
from oracles.spelling import MODERN, historical


def test_words_that_were_never_seen_are_normalised(normaliser):
    unseen = [word for word in MODERN if historical(word) not in normaliser.memory.counts]
    assert len(unseen) > 5
    assert normaliser.normalise([historical(word) for word in unseen]) == unseen


def test_case_and_digits_are_the_words_own(normaliser):
    assert normaliser.normalise(["Vnther", "THAL", "vnther"]) == ["Unter", "TAL", "unter"]
    assert normaliser.written("Thal12", "tal00") == "Tal12"
    assert normaliser.written("thal12", "tal") == "thal12"
    assert match_case("ẞE", "ss") == "SS"


def test_what_is_no_word_or_too_long_stays(normaliser):
    odd = ["", ",;", "—", "th" * 101]
    assert normaliser.normalise(odd) == odd


def test_modern_words_are_left_alone_and_unknown_letters_pass(normaliser):
    assert normaliser.normalise(["haus", "winter"]) == ["haus", "winter"]
    assert normaliser.normalise(["日本", "thaл"])[0] == "日本"


def test_confidence_is_a_probability_and_alternatives_are_less(normaliser):
    (found,) = normaliser.explain(["vnthe"])
    sure = [found.confidence, *(share for _, share in found.alternatives)]
    assert sure == sorted(sure, reverse=True)
    assert 0 < sum(sure) <= 1 + 1e-9
    assert len({found.modern, *(form for form, _ in found.alternatives)}) == len(sure)


def test_any_rule_that_takes_lists_may_choose(normaliser):
    rule = Decision.of("mbr", ["metric=cer"], "nbest").rule
    assert normaliser.normalise(["vnther", "haus"], rule=rule) == ["unter", "haus"]
    with pytest.raises(UsageError, match="decides by"):
        normaliser.normalise(["haus"], rule=Decision.of("lattice-mbr").rule)


def test_a_folder_gives_the_same_back(normaliser, tmp_path):
    normaliser.save(tmp_path / "n")
    words = [historical(word) for word in MODERN] + ["niegesehen"]
    loaded = SpellingNormaliser.load(tmp_path / "n")
    assert loaded.explain(words) == normaliser.explain(words)
    assert loaded.spelling == normaliser.spelling


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("format = 2\n", "has the format 2; expected 1"),
        ("format = 1\n", "is damaged"),
        (None, "has no normaliser.toml"),
    ],
)
def test_folders_that_are_none_are_refused(normaliser, tmp_path, text, complaint):
    normaliser.save(tmp_path / "n")
    (tmp_path / "n" / "normaliser.toml").unlink()
    if text is not None:
        (tmp_path / "n" / "normaliser.toml").write_text(text)
    with pytest.raises(DataError, match=complaint):
        SpellingNormaliser.load(tmp_path / "n")


def test_frequent_and_uncertain_forms_are_suggested_first(normaliser):
    seen = next(iter(normaliser.memory.counts))
    found = suggestions(normaliser, ["Vntheren", "vntheren", "qthx", "qthx", seen, ","])
    assert {one.form for one in found} == {"vntheren", "qthx"}
    assert [one.expected_errors for one in found] == sorted((one.expected_errors for one in found), reverse=True)
    assert all(one.occurrences == 2 for one in found)
    assert seen in {one.form for one in suggestions(normaliser, [seen], memorised=True)}
    assert len(suggestions(normaliser, ["vntheren", "qthx"], limit=1)) == 1
