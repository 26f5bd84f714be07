"""Without the packages of the extras: everything else works, and one sentence says what to install."""

import sys

import pytest

PLOTS = "drawing needs matplotlib; install it with: pip install 'dragoman[plots]'"
SVM = "the method svm-rank needs scikit-learn; install it with: pip install 'dragoman[svm]'"


@pytest.fixture
def bare(monkeypatch, dragoman):
    """Run commands as if only the packages that Dragoman cannot do without were installed."""
    for name in [*sys.modules, "matplotlib", "sklearn"]:
        if name.partition(".")[0] in ("matplotlib", "sklearn"):
            monkeypatch.setitem(sys.modules, name, None)
    return dragoman


def test_training_tuning_and_translating_need_neither(bare, monkeypatch, toy, tmp_path):
    toy.write(tmp_path, dev=slice(20))
    source, reference = tmp_path / "dev.s", tmp_path / "dev.t"
    assert bare(*toy.train, "--out", tmp_path / "model").code == 0
    run = ["tune", "--model", tmp_path / "model", "--source", source, "--reference", reference]
    result = bare(*run, "--iterations", 1, "--method", "mira", "--out", tmp_path / "run")
    assert result.code == 0, result.err
    result = bare("translate", "--model", tmp_path / "model", "--weights", tmp_path / "run", stdin=source.read_bytes())
    assert (result.code, len(result.out.splitlines())) == (0, 20)
    assert bare("methods", "show", "svm-rank").code == 0
    assert bare("experiment", "--help").code == 0


def test_the_sentence_comes_before_the_work(bare, monkeypatch, model, toy, tmp_path):
    out = tmp_path / "out"
    text = ["--model", model, "--source", toy.source]
    commands = [
        (["experiment", tmp_path / "plan.toml", "--out", out], PLOTS),
        (["demo", "--out", out], PLOTS),
        (["diagnose", *text, "--out", out], PLOTS),
        (["translate", "--model", model, "--picture", out], PLOTS),
        (["tune", *text, "--reference", toy.target, "--method", "svm-rank", "--out", out], SVM),
    ]
    for command, sentence in commands:
        result = bare(*command)
        assert (result.code, result.error) == (2, sentence), command
    assert list(tmp_path.iterdir()) == []
