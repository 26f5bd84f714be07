"""Whatever is wrong with the input: one sentence that says where, the right exit code, and nothing half-written."""

import gzip
import os
import re

import pytest

TABLE = "la maison ||| the house ||| 0.5 0.25 1 0.5 ||| 0-0 1-1 ||| 2 1 1\n"


def train(dragoman, folder, *more, source="s", target="t", tokenised=True):
    how = ["--tokenised"] if tokenised else []
    arguments = ["--source", folder / source, "--target", folder / target, *how, "--out", folder / "m"]
    return dragoman("train", *arguments, "--threads", "1", *more)


def copy(toy, folder, lines=None):
    """The toy corpus in a folder, some of its source lines (from 1) replaced."""
    rows = toy.source.read_text(encoding="utf-8").split("\n")[:-1]
    for number, text in (lines or {}).items():
        rows[number - 1] = text
    data = "".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape")
    (folder / "s").write_bytes(data)
    (folder / "t").write_bytes(toy.target.read_bytes())
    (folder / "links").write_bytes(toy.links.read_bytes())


@pytest.mark.parametrize("tokenised", [True, False])
def test_sides_of_different_lengths(dragoman, toy, tmp_path, unchanged, tokenised):
    copy(toy, tmp_path)
    (tmp_path / "t").write_text("one line\n")
    unchanged()
    result = train(dragoman, tmp_path, tokenised=tokenised)
    expected = f"{tmp_path}/t: has 1 lines, but {tmp_path}/s has 250; expected as many as the source"
    assert (result.code, result.error) == (1, expected)


@pytest.mark.parametrize("tokenised", [True, False])
def test_an_empty_corpus(dragoman, tmp_path, unchanged, tokenised):
    (tmp_path / "s").touch()
    (tmp_path / "t").touch()
    unchanged()
    result = train(dragoman, tmp_path, tokenised=tokenised)
    assert (result.code, result.error) == (1, "there are no sentence pairs")


def test_one_empty_side(dragoman, toy, tmp_path, unchanged):
    copy(toy, tmp_path)
    (tmp_path / "t").write_text("")
    unchanged()
    result = train(dragoman, tmp_path)
    assert result.code == 1
    assert result.error.startswith(f"{tmp_path}/t: has 0 lines, but ")


def test_only_empty_lines(dragoman, tmp_path, unchanged):
    (tmp_path / "s").write_text("\n\n")
    (tmp_path / "t").write_text("\n \n")
    unchanged()
    result = train(dragoman, tmp_path)
    assert (result.code, result.error) == (1, "none of the 2 sentence pairs can be used: 2 with an empty side")


def test_lines_that_cannot_be_used_are_skipped_and_counted(dragoman, toy, tmp_path):
    long = " ".join(["mot"] * 10_000)
    copy(toy, tmp_path, {3: "", 9: "  ", 20: long, 30: "la ||| maison", 40: "</s> maison"})
    result = train(dragoman, tmp_path, "--alignment", tmp_path / "links")
    # The true links of these lines lie outside them now.
    assert (result.code, result.error.split(":")[1]) == (1, "3")
    result = train(dragoman, tmp_path)
    assert result.code == 0
    assert result.warnings[0] == (
        "skipped 5 of 250 pairs: 2 with an empty side, 1 longer than 80 words, "
        "2 with a reserved word (||| <unk> <s> </s>)"
    )


def test_marks_in_the_target_do_not_stop_the_language_model(dragoman, tmp_path):
    (tmp_path / "s").write_text("la maison\nla fleur\nune fleur\n")
    (tmp_path / "t").write_text("the house\n<s> the flower </s>\na flower\n")
    result = train(dragoman, tmp_path)
    assert result.code == 0
    assert result.warnings[0].startswith("skipped 1 of 3 pairs: 1 with a reserved word")


def test_raw_text_may_hold_anything(dragoman, tmp_path):
    (tmp_path / "s").write_text("la ||| maison <s>\nla [fleur] &amp; co\nune fleur\n")
    (tmp_path / "t").write_text("the ||| house <s>\nthe [flower] &amp; co\na flower\n")
    assert train(dragoman, tmp_path, tokenised=False).code == 0


@pytest.mark.parametrize("tokenised", [True, False])
def test_three_sentences_are_enough(dragoman, tmp_path, tokenised):
    (tmp_path / "s").write_text("la maison\nla fleur\nune fleur\n")
    (tmp_path / "t").write_text("the house\nthe flower\na flower\n")
    assert train(dragoman, tmp_path, tokenised=tokenised).code == 0
    assert "the house" in dragoman("model", "show", tmp_path / "m", "la maison").out


@pytest.mark.parametrize("tokenised", [True, False])
def test_bytes_that_are_not_utf8(dragoman, toy, tmp_path, unchanged, tokenised):
    copy(toy, tmp_path, {7: "la maison \udcff"})
    unchanged()
    result = train(dragoman, tmp_path, tokenised=tokenised)
    assert (result.code, result.error) == (1, f"{tmp_path}/s:7: byte 0xff is not UTF-8; expected UTF-8 text")


@pytest.mark.parametrize("tokenised", [True, False])
def test_gzip_that_was_cut_off(dragoman, toy, tmp_path, unchanged, tokenised):
    copy(toy, tmp_path)
    (tmp_path / "s").write_bytes(gzip.compress(toy.source.read_bytes())[:-300])
    unchanged()
    result = train(dragoman, tmp_path, tokenised=tokenised)
    assert result.code == 1
    assert re.fullmatch(f"{tmp_path}/s:[0-9]+: the compressed data is damaged or cut off .*", result.error)


def test_files_that_are_not_there(dragoman, toy, tmp_path, unchanged):
    copy(toy, tmp_path)
    (tmp_path / "folder").mkdir()
    unchanged()
    nothing, folder = tmp_path / "nothing", tmp_path / "folder"
    missing, is_folder = "cannot be read (No such file or directory)", "cannot be read (Is a directory)"
    for command in (
        lambda path: train(dragoman, tmp_path, source=path.name),
        lambda path: train(dragoman, tmp_path, target=path.name, tokenised=False),
        lambda path: train(dragoman, tmp_path, "--alignment", path),
        lambda path: train(dragoman, tmp_path, "--arpa", path),
        lambda path: train(dragoman, tmp_path, "--lm-text", path),
        lambda path: train(dragoman, tmp_path, "--lm-word-list", path),
        lambda path: dragoman("align", "--source", path, "--target", tmp_path / "t", "--out", tmp_path / "links2"),
        lambda path: dragoman("lm", "estimate", path, "--out", tmp_path / "arpa"),
        lambda path: dragoman("import", "moses", path, "--out", tmp_path / "m"),
    ):
        for path, found in ((nothing, missing), (folder, is_folder)):
            result = command(path)
            assert (result.code, result.error) == (1, f"{path}: {found}")
    for command in (["model", "show"], ["model", "check"], ["export", "moses", "--out", tmp_path / "m"]):
        for path in (nothing, folder):
            result = dragoman(*command, path)
            assert (result.code, result.error) == (1, f"{path}: is not a model; expected a folder with model.toml")


def test_alignments_of_another_text(dragoman, toy, tmp_path, unchanged):
    copy(toy, tmp_path)
    rows = toy.links.read_text().split("\n")[:-1]
    for name, lines in {
        "outside": [*rows[:4], "0-0 1-70", *rows[5:]],
        "short": rows[:-1],
        "long": [*rows, "0-0"],
        "words": ["la maison", *rows[1:]],
    }.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    unchanged()
    for name, message in {
        "outside": ":5: the link '1-70' lies outside its sentence pair; expected positions below the sentences' "
        "lengths, from 0",
        "short": ": has 249 lines; expected 250, one for each sentence pair",
        "long": ":251: found another line of links; expected one line for each sentence pair",
        "words": ":1: found 'la'; expected links such as 0-1",
    }.items():
        result = train(dragoman, tmp_path, "--alignment", tmp_path / name)
        assert (result.code, result.error) == (1, f"{tmp_path}/{name}{message}")


def test_links_for_nothing_give_no_phrases(dragoman, tmp_path, unchanged):
    for name, text in (("s", "la maison\n"), ("t", "the house\n"), ("links", "\n")):
        (tmp_path / name).write_text(text)
    unchanged()
    result = train(dragoman, tmp_path, "--alignment", tmp_path / "links")
    assert (result.code, result.error.split(";")[0]) == (1, "no phrase pair could be extracted")


def test_a_wrong_language_model_is_found_before_the_work_begins(dragoman, toy, tmp_path, unchanged):
    copy(toy, tmp_path)
    dragoman("lm", "estimate", toy.target, "--order", "2", "--out", tmp_path / "good.arpa")
    text = (tmp_path / "good.arpa").read_text(encoding="utf-8")
    (tmp_path / "counts.arpa").write_text(re.sub("ngram 2=[0-9]+", "ngram 2=7", text), encoding="utf-8")
    (tmp_path / "positive.arpa").write_text(text.replace("\\2-grams:\n-", "\\2-grams:\n"), encoding="utf-8")
    (tmp_path / "cut.arpa").write_text(text[: len(text) // 2], encoding="utf-8")
    unchanged()
    for name, pattern in {
        "counts": r":[0-9]+: found [0-9]+ 2-grams up to here; expected 7",
        "positive": r":[0-9]+: found the log probability '[0-9.]+'; expected a number that is not positive",
        "cut": r".*; expected .*",
    }.items():
        result = train(dragoman, tmp_path, "--arpa", tmp_path / f"{name}.arpa")
        assert result.code == 1
        assert re.fullmatch(re.escape(f"{tmp_path}/{name}.arpa") + pattern, result.error)
        assert "align" not in result.err


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (TABLE.replace("0.25", "nan"), "found 'nan' among the numbers; expected a finite number that is not negative"),
        (TABLE.replace("0.25", "-0.25"), "found '-0.25' among the numbers; expected a finite number that is not n"),
        (TABLE.replace("0.25", "inf"), "found 'inf' among the numbers; expected a finite number that is not negative"),
        (TABLE.replace("0.25", "many"), "found 'many' among the numbers; expected a number"),
        (TABLE.replace("0.25 ", ""), "found the scores '0.5 1 0.5'; expected as many as on line 1"),
        (TABLE.replace("1-1", "1-2"), "the alignment point '1-2' lies outside its phrases"),
        (TABLE.replace("the house", ""), "the target phrase is empty"),
        ("la maison\n", "found 'la maison', which has fewer than three fields"),
    ],
)
def test_phrase_tables_of_moses(dragoman, tmp_path, unchanged, line, found):
    (tmp_path / "table").write_text(TABLE.replace("la", "une") + line)
    (tmp_path / "moses.ini").write_text(
        "[feature]\nPhraseDictionaryMemory name=T0 num-features=4 path=table\n[weight]\nT0= 1 1 1 1\n"
    )
    unchanged()
    result = dragoman("import", "moses", tmp_path / "moses.ini", "--out", tmp_path / "m")
    assert result.code == 1
    assert result.error.startswith(f"{tmp_path}/table:2: {found}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lm-order", "17"], "--lm-order is 17; expected at most 16"),
        (["--lm-prune", "1"], "--lm-prune is '1'; expected 0 for words, then numbers that do not decrease"),
        (["--prune-limit", "-1"], "--prune-limit is -1; expected at least 0"),
        (["--prune-score", "1.5"], "--prune-score is 1.5; expected at most 1"),
        (["--prune-score", "nan"], "--prune-score is nan; expected a finite number"),
        (["--prune-significance", "lots"], "--prune-significance is 'lots'; expected a+e, a-e or a number"),
        (["--prune-significance", "nan"], "--prune-significance is 'nan'; expected a+e, a-e or a number"),
        (["--max-phrase-length", "0"], "--max-phrase-length is 0; expected at least 1"),
        (["--max-length", "70000"], "--max-length is 70000; expected at most 65535"),
        (["--aligner", "giza"], "no aligner is called 'giza'; there are auto, diagonal, eflomal, hmm, model1"),
        (["--aligner-option", "iterations"], "found 'iterations'; expected NAME=VALUE with a NAME of alpha, "),
        (["--aligner-option", "speed=2"], "found 'speed=2'; expected NAME=VALUE with a NAME of alpha, "),
        (["--aligner-option", "iterations=x"], "iterations is 'x'; expected a number"),
        (["--aligner-option", "iterations=0"], "iterations is 0; expected at least 1"),
        (["--aligner-option", "favour_diagonal=perhaps"], "favour_diagonal is 'perhaps'; expected true or false"),
    ],
)
def test_options_that_make_no_sense(dragoman, tmp_path, unchanged, options, message):
    """These are found before any file is looked at."""
    unchanged()
    result = train(dragoman, tmp_path, *options)
    assert result.code == 2
    assert result.error.startswith(message)


def test_pruning_everything(dragoman, toy, tmp_path, unchanged):
    copy(toy, tmp_path)
    unchanged()
    result = train(dragoman, tmp_path, "--prune-significance", "1e9")
    assert (result.code, result.error) == (2, "pruning left no phrase pair; prune less")


def test_a_file_where_the_folder_should_go(dragoman, toy, tmp_path, unchanged):
    copy(toy, tmp_path)
    (tmp_path / "m").write_text("a file")
    unchanged()
    result = train(dragoman, tmp_path, "--force")
    assert result.error == f"{tmp_path}/m: exists and is not a folder; expected a folder to replace, or a new name"
    assert "align" not in result.err
    assert (tmp_path / "m").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_must_not_be_written(dragoman, toy, tmp_path, unchanged):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    unchanged()
    result = dragoman(*toy.train, "--out", closed / "m")
    assert result.code == 1
    assert result.error == f"{closed}/m: could not be written: Permission denied; nothing was changed"


def test_both_sides_from_standard_input(dragoman, tmp_path, unchanged):
    unchanged()
    result = dragoman("align", "--source", "-", "--target", "-", "--out", tmp_path / "links", stdin=b"la\nla\n")
    assert result.code == 1
    assert result.error == "-: standard input was read before; expected to read it only once"


def test_debug_shows_where_an_error_comes_from(spawn, tmp_path):
    result = spawn("--debug", "model", "show", tmp_path)
    assert result.code == 1
    assert "Traceback" in result.err
    assert "DataError" in result.err
