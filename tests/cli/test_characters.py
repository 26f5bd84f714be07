"""Models of characters, as a user trains, tunes and uses them."""

import pytest

from oracles.spelling import pairs


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("characters")
    for name, rows in {"train": pairs(80), "dev": pairs(20, seed=2)}.items():
        for side, ending in enumerate(("old", "new")):
            (folder / f"{name}.{ending}").write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    return folder


def trained(dragoman, texts):
    model = texts / "model"
    if not model.exists():
        sides = ["--source", texts / "train.old", "--target", texts / "train.new"]
        options = ["--units", "characters", "--boundaries", "--no-reordering", "--lm-order", "8"]
        result = dragoman("train", *sides, *options, "--lm-text", texts / "dev.new", "--out", model)
        assert result.code == 0, result.err
    return model


def test_text_goes_in_and_out(dragoman, texts):
    model = trained(dragoman, texts)
    assert dragoman("translate", "--model", model, stdin=b"weynes\nvnd thag\n\n").out == "weines\nund tag\n\n"
    assert dragoman("translate", "--model", model, "--words", stdin=b"thag\n").out == "▁ t a g ▁\n"
    units = dragoman("prepare", "--model", model, stdin="a ▁\tb\n".encode()).out
    assert units == "▁ a ▁ ▁▁ ▁t b ▁\n"
    assert dragoman("prepare", "--model", model, "--undo", stdin=units.encode()).out == "a ▁\tb\n"


def test_tuning_and_scores_are_in_characters(dragoman, texts):
    model = trained(dragoman, texts)
    files = ["--source", texts / "dev.old", "--reference", texts / "dev.new"]
    tuned = dragoman(
        "tune",
        "--model",
        model,
        *files,
        "--method",
        "mira",
        "--metric",
        "cer",
        "--iterations",
        "1",
        "--out",
        texts / "run",
    )
    assert tuned.code == 0, tuned.err
    out = dragoman("translate", "--model", model, "--weights", texts / "run", texts / "dev.old").out
    (texts / "out").write_text(out, encoding="utf-8")
    metrics = ["--metric", "cer", "--metric", "accuracy", "--reference", texts / "dev.new", "--json"]
    scored = dragoman("score", *metrics, texts / "out")
    assert scored.code == 0, scored.err
    assert '"score": 0.0' in scored.out
    assert '"score": 100.0' in scored.out


def test_markup_is_refused(dragoman, texts):
    result = dragoman("translate", "--model", trained(dragoman, texts), "--markup", stdin=b"thag\n")
    assert (result.code, "words are characters" in result.error) == (2, True)
