"""`dragoman lm`: estimate, perplexity, interpolate."""

import kenlm
import pytest

from dragoman.formats.arpa import read_arpa
from dragoman.model.language_model import LanguageModel


def figures(out):
    """The row of the perplexity table: perplexity, without OOVs, OOVs, tokens."""
    return [float(cell.replace(",", "")) for cell in out.splitlines()[2].split()[1:]]


@pytest.fixture
def arpa(dragoman, toy, tmp_path):
    file = tmp_path / "lm.arpa"
    assert dragoman("lm", "estimate", toy.target, "--out", file).code == 0
    return file


def test_the_model_is_what_other_programs_read(toy, arpa):
    theirs = kenlm.Model(str(arpa))
    ours = LanguageModel.from_ngrams(read_arpa(arpa))
    assert theirs.order == ours.order == 3
    for line in [*toy.target.read_text(encoding="utf-8").split("\n")[:20], "the zebra sees", ""]:
        assert ours.score(line) == pytest.approx(theirs.score(line), abs=1e-4)


def test_standard_streams_and_compression_give_the_same(dragoman, toy, arpa, tmp_path):
    text = arpa.read_text(encoding="utf-8")
    assert dragoman("lm", "estimate", stdin=toy.target.read_bytes()).out == text
    assert dragoman("lm", "estimate", "-", "--out", "-", stdin=toy.target.read_bytes()).out == text
    dragoman("lm", "estimate", toy.target, "--out", tmp_path / "lm.arpa.zst")
    assert (tmp_path / "lm.arpa.zst").read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    result = dragoman("lm", "perplexity", tmp_path / "lm.arpa.zst", toy.target)
    assert figures(result.out) == figures(dragoman("lm", "perplexity", arpa, toy.target).out)


def test_options_of_estimation(dragoman, toy, tmp_path):
    (tmp_path / "words").write_text("the\na\n")
    options = ["--order", "2", "--prune", "0,2", "--word-list", tmp_path / "words", "--vocabulary", "closed"]
    ngrams = read_arpa_text(dragoman("lm", "estimate", toy.target, *options).out, tmp_path)
    assert ngrams.order == 2
    assert list(ngrams.vocab) == ["<unk>", "<s>", "</s>", "the", "a"]


def read_arpa_text(text, folder):
    (folder / "read.arpa").write_text(text, encoding="utf-8")
    return read_arpa(folder / "read.arpa")


def test_perplexity_is_that_of_other_programs(dragoman, toy, arpa, tmp_path):
    (tmp_path / "text").write_text("the house sees a zebra\n\nthe old car\n")
    result = dragoman("lm", "perplexity", arpa, tmp_path / "text")
    theirs = kenlm.Model(str(arpa))
    scores = [score for line in ("the house sees a zebra", "", "the old car") for score in theirs.full_scores(line)]
    logprob = sum(score for score, _, _ in scores)
    known = [score for score, _, oov in scores if not oov]
    assert figures(result.out) == [
        pytest.approx(10 ** (-logprob / len(scores)), rel=1e-3),
        pytest.approx(10 ** (-sum(known) / len(known)), rel=1e-3),
        1,
        len(scores),
    ]


def test_perplexity_of_a_model_folder_and_of_standard_input(dragoman, toy, arpa, model):
    from_file = figures(dragoman("lm", "perplexity", arpa, toy.target).out)
    assert figures(dragoman("lm", "perplexity", model, stdin=toy.target.read_bytes()).out) == from_file


def test_perplexity_of_nothing(dragoman, arpa):
    result = dragoman("lm", "perplexity", arpa, stdin=b"")
    assert (result.code, result.error) == (1, "-: is empty; expected text, one sentence per line")


def test_the_weights_of_a_mixture_are_found_on_held_out_text(dragoman, toy, arpa, tmp_path):
    (tmp_path / "other").write_text("zebra yak gnu\nyak zebra the\n" * 5)
    (tmp_path / "held-out").write_text("the house sees a zebra\nzebra yak gnu\n")
    dragoman("lm", "estimate", tmp_path / "other", "--out", tmp_path / "other.arpa")
    models = [arpa, tmp_path / "other.arpa"]
    mixed = tmp_path / "mixed.arpa.gz"
    result = dragoman("lm", "interpolate", *models, "--held-out", tmp_path / "held-out", "--out", mixed)
    assert result.code == 0
    weights = [float(line.split()[-1]) for line in result.err.splitlines() if ": weight " in line]
    assert sum(weights) == pytest.approx(1, abs=2e-4)
    assert all(0 < weight < 1 for weight in weights)
    best = figures(dragoman("lm", "perplexity", mixed, tmp_path / "held-out").out)[0]
    for share in ("0.02", "0.98"):
        shares = ["--weight", share, "--weight", str(1 - float(share))]
        dragoman("lm", "interpolate", *models, *shares, "--out", tmp_path / "worse.arpa")
        assert figures(dragoman("lm", "perplexity", tmp_path / "worse.arpa", tmp_path / "held-out").out)[0] > best
    kenlm.Model(str(mixed))  # which reads it


def test_a_mixture_of_given_weights(dragoman, arpa, tmp_path):
    arguments = ["lm", "interpolate", arpa, arpa, "--weight", "3", "--weight", "1"]
    mixed = LanguageModel.from_ngrams(read_arpa_text(dragoman(*arguments).out, tmp_path))
    whole = LanguageModel.from_ngrams(read_arpa(arpa))
    assert mixed.score("the old car") == pytest.approx(whole.score("the old car"), abs=1e-4)


@pytest.mark.parametrize("options", [[], ["--weight", "1"], ["--held-out", "x", "--weight", "1", "--weight", "1"]])
def test_weights_must_be_given_or_found(dragoman, options, tmp_path):
    """Before the models are read: they are not even there."""
    result = dragoman("lm", "interpolate", tmp_path / "a", tmp_path / "b", *options)
    assert (result.code, result.error) == (2, "give either --held-out or a --weight for each model")


def test_negative_weights(dragoman, arpa):
    result = dragoman("lm", "interpolate", arpa, arpa, "--weight", "-1", "--weight", "1")
    assert result.code == 2
    assert result.error.startswith("the weights are [-1.0, 1.0]")
    assert result.out == ""
