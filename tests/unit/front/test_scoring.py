"""Scores of text as people hand it in: sacreBLEU's numbers, with a signature that says how."""

import pytest

import dragoman as dm
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
