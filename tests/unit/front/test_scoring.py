"""Scores of text as people hand it in: sacreBLEU's numbers, with a signature that says how."""

import pytest

import dragoman as dm
from dragoman.core.errors import DataError, UsageError
from oracles.scored_text import OUTPUTS, REFERENCES, TOKENISERS, sacrebleu_of


@pytest.mark.parametrize("kind", ["raw", "prepared"])
def test_bleu_is_sacrebleus_of_the_same_text(tmp_path, kind):
    for name, lines in (("out", OUTPUTS[kind]), ("ref", REFERENCES[kind])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    for outputs, references in ((OUTPUTS[kind], REFERENCES[kind]), (tmp_path / "out", tmp_path / "ref")):
        found = dm.score(outputs, references, resamples=0)
        assert found.value == pytest.approx(sacrebleu_of(kind))
        assert f"|tok:{TOKENISERS[kind]}|" in found.signature
        assert found.note.startswith(f"tok:{TOKENISERS[kind]} because the text looks ")
        assert found.signature in repr(found)
    compared = dm.compare({"a": OUTPUTS[kind], "b": REFERENCES[kind]}, REFERENCES[kind], trials=10, resamples=10)
    assert compared.systems[0]["score"] == pytest.approx(sacrebleu_of(kind))
    assert compared.note == found.note
    assert f"|tok:{TOKENISERS[kind]}|" in repr(compared)


def test_a_tokeniser_or_a_language_that_is_named_wins():
    raw, references = OUTPUTS["raw"], REFERENCES["raw"]
    named = dm.score(raw, references, "bleu:tokenise=none", resamples=0)
    assert (named.note, "|tok:none|" in named.signature) == (None, True)
    assert named.value < dm.score(raw, references, resamples=0).value
    told = dm.score(OUTPUTS["prepared"], REFERENCES["prepared"], language="en-GB", resamples=0)
    assert told.note == "tok:13a because the language is en-GB"
    assert dm.score(raw, references, "chrf", resamples=0).note is None
    assert "tok:13a" in dm.score(raw, references, "bleu-ter", resamples=0).signature


def test_raw_lists_are_tuned_to_sacrebleus_default():
    lists = [[other, line] for line, other in zip(OUTPUTS["raw"], REFERENCES["raw"], strict=True)]
    features = {"first": [1.0, 0.0] * len(lists), "second": [0.0, 1.0] * len(lists)}
    weights = dm.tune_reranker(lists, REFERENCES["raw"], features=features, progress=False)
    assert dm.rerank(lists, weights, features=features) == REFERENCES["raw"]


REFERENCES_OF_ANIMALS = ["the cat sat", "a dog ran home", "birds fly", "we saw it"]
ANIMALS = {
    "good": ["the cat sat", "a dog ran", "birds fly high", "we saw it"],
    "bad": ["cat", "dog home", "bird flies", "saw us"],
}


def overlap(hypotheses, references):
    return [len({*a.split()} & {*b.split()}) / 4 for a, b in zip(hypotheses, references, strict=True)]


def test_a_function_scores_and_compares_like_the_same_numbers_in_files(tmp_path):
    files = {name: tmp_path / name for name in ANIMALS}
    for name, lines in ANIMALS.items():
        files[name].write_text("".join(f"{line}\n" for line in lines))
        numbers = overlap(lines, REFERENCES_OF_ANIMALS)
        files[name].with_suffix(".numbers").write_text("".join(f"{number}\n" for number in numbers))
        found = dm.score(lines, REFERENCES_OF_ANIMALS, overlap)
        assert found.value == pytest.approx(sum(numbers) / 4)
        assert found.sentences.tolist() == numbers
        assert found.interval[0] <= found.value <= found.interval[1]
        assert str(found).startswith(f"overlap {found.value:.4f} (")
    by_function = dm.compare(ANIMALS, REFERENCES_OF_ANIMALS, overlap, trials=500)
    metric = f"precomputed:path={tmp_path}/{{}}.numbers"
    by_file = dm.compare(ANIMALS, REFERENCES_OF_ANIMALS, metric, trials=500)
    assert by_function.order == "good > bad"
    assert by_function.pairs == by_file.pairs
    assert by_function.signature.startswith("overlap|nrefs:1|")


def test_a_quality_estimate_needs_no_references(tmp_path):
    class Estimate:
        name, needs_source, needs_reference = "estimate", True, False

        def score(self, hypotheses, references, sources):
            return [len(a) - len(b) for a, b in zip(hypotheses, sources, strict=True)]

        def signature(self):
            return "estimate|model:none"

    assert dm.score(["abc", "a"], metric=Estimate(), sources=["ab", "ab"], resamples=0).value == 0.0
    with pytest.raises(UsageError, match="neither references nor sources"):
        dm.score(["a"], metric=Estimate())
    with pytest.raises(UsageError, match="bleu needs at least one reference"):
        dm.score(["a"], sources=["a"])
    with pytest.raises(DataError, match="has 1 lines, but the source has 2"):
        dm.score(["a"], metric=Estimate(), sources=["a", "b"])
