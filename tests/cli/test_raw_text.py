"""Raw, cased text from end to end: what a newcomer has, by the commands as their help shows them."""

import subprocess
import sys

import pytest

from dragoman.model.bundle import Model
from dragoman.tuning.runs.run import Run
from oracles.raw_text import write_raw_text

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Raw texts of a small language: names, capitals and punctuation."""
    return write_raw_text(tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="module")
def model(command, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("raw-model") / "model"
    files = ["--source", texts / "train.fr", "--target", texts / "train.en"]
    subprocess.run([command, "train", *files, "--out", out], check=True, capture_output=True)
    return out


def bleu(result):
    return float(result.out.splitlines()[2].split()[2])


def test_translations_are_text_as_a_person_would_write_it(dragoman, model, texts):
    result = dragoman("translate", "--model", model, texts / "test.fr")
    assert result.out == (texts / "test.en").read_text()
    words = dragoman("translate", "--model", model, "--words", texts / "test.fr")
    assert words.out.splitlines()[0] == result.out.splitlines()[0].lower().replace(",", " ,").replace(".", " .")
    both = dragoman("translate", "--model", model, "--words", "--detokenise", texts / "test.fr")
    assert (both.code, "--words keeps tokens" in both.error) == (2, True)


def test_forced_translations_are_raw_text_as_well(dragoman, model, texts):
    result = dragoman("translate", "--model", model, "--force", texts / "test.en", texts / "test.fr")
    wanted = (texts / "test.en").read_text()
    assert result.out == wanted
    assert f"{len(wanted.splitlines())} of {len(wanted.splitlines())} translations can be reached" in result.err


def test_words_that_pass_through_keep_their_case(dragoman, model, tmp_path):
    (tmp_path / "text").write_text("Zanzibar regarde la mer avec McDougal.\n")
    assert dragoman("translate", "--model", model, tmp_path / "text").out.startswith("Zanzibar")
    assert "McDougal" in dragoman("translate", "--model", model, tmp_path / "text").out
    assert "McDougal" in dragoman("translate", "--model", model, "--decision", "mbr", tmp_path / "text").out


def test_markup_in_raw_text(dragoman, model, texts):
    """What stands between tags and in them is prepared; tags stay, and names in translations keep their case."""
    line = (texts / "test.fr").read_text(encoding="utf-8").splitlines()[0]
    plain = dragoman("translate", "--model", model, stdin=f"{line}\n".encode())
    first, rest = line.split(" ", 1)
    marked = f'<x translation="McDougal\'s dog, &quot;Rex&quot;">{first}</x> {rest}\n'
    result = dragoman("translate", "--model", model, "--markup", stdin=marked.encode())
    assert result.code == 0, result.err
    assert result.out.startswith('McDougal\'s dog, "Rex"')
    assert result.out.split()[-1] == plain.out.split()[-1]
    words = dragoman("translate", "--model", model, "--markup", "--words", stdin=marked.encode())
    assert words.out.startswith('mcdougal \'s dog , " rex " ')
    bad = dragoman("translate", "--model", model, "--markup", stdin=b"<x>Bonjour</x>, Anna !\n")
    assert bad.code == 1
    assert "without a translation" in bad.error


def test_tuning_compares_with_prepared_references(dragoman, model, texts, tmp_path):
    options = ["--model", model, "--source", texts / "dev.fr", "--reference", texts / "dev.en", "--method", "mira"]
    result = dragoman("tune", *options, "--iterations", 1, "--out", tmp_path / "run")
    assert result.code == 0, result.err
    assert Run(tmp_path / "run").events()[0]["score"] > 90
    raw = dragoman("tune", *options, "--iterations", 1, "--prepared", "--out", tmp_path / "as-if")
    assert raw.code == 0, raw.err
    assert Run(tmp_path / "as-if").events()[0]["score"] < Run(tmp_path / "run").events()[0]["score"] - 5


def test_scores_of_raw_text_and_in_the_words_of_a_model(dragoman, model, texts, tmp_path):
    out = tmp_path / "out"
    out.write_text(dragoman("translate", "--model", model, texts / "test.fr").out)
    words = tmp_path / "words"
    words.write_text(dragoman("translate", "--model", model, "--words", texts / "test.fr").out)
    raw = dragoman("score", "--reference", texts / "test.en", out)
    assert (bleu(raw), raw.warnings) == (100.0, [])
    odd = dragoman("score", "--reference", texts / "test.en", words)
    assert bleu(odd) < bleu(raw)
    assert "look tokenised and lower-cased, the references do not" in odd.warnings[0]
    for file in (out, words):
        prepared = dragoman("score", "--model", model, "--reference", texts / "test.en", file)
        assert (bleu(prepared), prepared.warnings) == (100.0, [])
        assert "|text:prepared|" in prepared.out
    assert "text:" not in raw.out
    compared = dragoman("compare", "--model", model, "--reference", texts / "test.en", f"a={out}", f"b={words}")
    assert compared.code == 0
    assert "|text:prepared|" in compared.out


def test_preparing_and_undoing(dragoman, model, texts):
    prepared = dragoman("prepare", "--model", model, "--side", "target", texts / "test.en").out
    assert prepared == dragoman("translate", "--model", model, "--words", texts / "test.fr").out
    process = subprocess.run(
        [sys.executable, "-m", "dragoman.cli.main", "prepare", "--model", model, "--undo"],
        input=prepared, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert process.stdout == (texts / "test.en").read_text()


def test_decomposed_letters_are_the_same_letters(dragoman, model, tmp_path):
    (tmp_path / "text").write_text("Pre\u0301s de la rivie\u0300re.\nPr\u00e9s de la rivi\u00e8re.\n")
    result = dragoman("translate", "--model", model, tmp_path / "text")
    assert len(set(result.out.splitlines())) == 1
    assert "letters were composed (Unicode NFC) in 1 lines" in result.err
    assert Model.load(model).settings.unicode == "NFC"


@pytest.mark.parametrize("changed", ["source", "reference", "model"])
def test_a_run_whose_texts_have_changed_is_refused_or_begun_anew(dragoman, command, model, texts, tmp_path, changed):
    places = {"source": tmp_path / "dev.fr", "reference": tmp_path / "dev.en", "model": tmp_path / "model"}
    for name in ("source", "reference"):
        places[name].write_text((texts / places[name].name).read_text())
    trained = [command, "train", "--source", texts / "train.fr", "--target", texts / "train.en", "--out"]
    subprocess.run([*trained, places["model"]], check=True, capture_output=True)
    options = [part for name, path in places.items() for part in (f"--{name}", path)]
    tune = ["tune", *options, "--method", "mira", "--iterations", 1, "--out", tmp_path / "run"]
    assert dragoman(*tune).code == 0
    assert dragoman(*tune).code == 0
    if changed == "model":
        subprocess.run([*trained, places["model"], "--force", "--lm-order", "2"], check=True, capture_output=True)
    else:
        places[changed].write_text(places[changed].read_text().replace(".", "!"))
    refused = dragoman(*tune)
    assert refused.code == 1
    assert f"was begun when {changed} had another content; expected the same to resume, --restart" in refused.error
    before = Run(tmp_path / "run").options
    assert dragoman(*tune, "--restart").code == 0
    assert Run(tmp_path / "run").options["content"] != before["content"]


def test_an_experiment_whose_test_set_has_changed_is_refused_or_begun_anew(dragoman, model, texts, tmp_path):
    for name in ("dev", "test"):
        for language in ("fr", "en"):
            (tmp_path / f"{name}.{language}").write_text((texts / f"{name}.{language}").read_text())
    (tmp_path / "plan.toml").write_text(
        f'model = "{model}"\nsource = "dev.fr"\nreference = ["dev.en"]\nruns = 1\ncurves = false\n'
        'loop = { iterations = 1 }\n[[method]]\nname = "mira"\n'
        '[[test]]\nname = "test"\nsource = "test.fr"\nreference = ["test.en"]\n'
    )
    command = ["experiment", tmp_path / "plan.toml", "--out", tmp_path / "out"]
    done = dragoman(*command)
    assert done.code == 0, done.err
    assert "100.0" in done.out  # raw references, prepared like the translations
    (tmp_path / "test.en").write_text((texts / "test.en").read_text().replace("man", "person"))
    refused = dragoman(*command)
    assert (refused.code, "was begun when test test had another content" in refused.error) == (1, True)
    again = dragoman(*command, "--restart")
    assert again.code == 0
    assert again.out != done.out


def test_a_pipe_that_stays_open_is_answered(command, model):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([command, "translate", "--model", model], text=True, **pipes) as process:
        for line in ("Anne dort.", "Paul court."):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(20) == 0


def test_addresses_pass_through_as_they_are(dragoman, model):
    text = "http://Example.org/X?y=1 Anne@Example.org 3,000.50 #Tag\n"
    assert dragoman("translate", "--model", model, stdin=text.encode()).out == text


def test_typographic_signs_are_the_same_words(dragoman, model):
    typed = "L\u2019homme \u2014 \u201cAnne\u201d \u2026\n".encode()
    plain = 'L\'homme \u2013 "Anne" ...\n'.encode()
    prepared = [dragoman("prepare", "--model", model, stdin=text).out for text in (typed, plain)]
    assert prepared[0] == prepared[1] == 'l\' homme \u2013 " anne " ...\n'


def test_raw_text_without_spaces(dragoman, tmp_path):
    """It is recognised, segmented, which is said, and written without spaces again."""
    pairs = [
        ("a small dog", "小さな犬"),
        ("a big cat", "大きな猫"),
        ("a small cat", "小さな猫"),
        ("a big dog", "大きな犬"),
    ]
    sentences = [(f"He sees {en} .", f"彼は{ja}を見ます。") for en, ja in pairs] * 5
    for name, side in (("train.en", 0), ("train.x", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in sentences), encoding="utf-8")
    files = ["--source", tmp_path / "train.en", "--target", tmp_path / "train.x"]
    trained = dragoman("train", *files, "--target-segmenter", "characters", "--out", tmp_path / "model")
    assert trained.code == 0, trained.err
    found = dragoman("translate", "--model", tmp_path / "model", stdin=b"He sees a small cat .\n")
    assert found.out == "彼は小さな猫を見ます。\n"
    words = dragoman("prepare", "--model", tmp_path / "model", "--side", "target", stdin="猫を見ます。\n".encode())
    assert words.out == "猫 を 見 ま す 。\n"
    note = dragoman("train", *files, "--out", tmp_path / "auto").err
    assert "train.x: there are no spaces between words, so the text is segmented by" in note
    assert "use the option target-segmenter" in note
    assert Model.load(tmp_path / "auto").settings.target_segmenter != "none"
