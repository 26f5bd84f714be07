"""`dragoman corpora`: the list, published files, and refusing to build over something."""

import re

from dragoman.corpora import CORPORA


def test_the_list_has_every_corpus_with_its_options(dragoman):
    result = dragoman("corpora", "list")
    assert result.code == 0
    for name in CORPORA.names():
        assert re.search(rf"^{re.escape(name)}  {re.escape(CORPORA.get(name).summary)}$", result.out, re.MULTILINE)
    assert "    dev  pairs held out for tuning (default 1000)" in result.out
    assert "    licence: CC BY (Tanaka corpus); see https://github.com/odashi/small_parallel_enja" in result.out
    assert "keep_identical" not in result.out  # a constant of a class is no option


def test_unknown_corpora_and_options(dragoman, tmp_path, unchanged):
    unchanged()
    result = dragoman("corpora", "build", "europarl", "--out", tmp_path / "c")
    assert (result.code, result.error[:33]) == (2, "no corpus is called 'europarl'; t")
    result = dragoman("corpora", "build", "kjv-web", "--option", "colour=red", "--out", tmp_path / "c")
    assert (result.code, result.error[:35]) == (2, "found 'colour=red'; expected NAME=V")
    result = dragoman("corpora", "build", "kjv-web", "--option", "source=klingon", "--out", tmp_path / "c")
    assert (result.code, result.error) == (
        2,
        "version 'klingon' is not installed; try: pip install pythonbible-klingon",
    )


def test_an_existing_folder_is_not_touched(dragoman, tmp_path):
    (tmp_path / "precious").write_text("mine")
    result = dragoman("corpora", "build", "kjv-web", "--out", tmp_path)
    assert (result.code, result.error) == (2, f"{tmp_path} exists; use --force to replace it")
    assert (tmp_path / "precious").read_text() == "mine"


def test_folders_and_mirrors_are_for_published_files(dragoman, tmp_path):
    result = dragoman("corpora", "build", "kjv-web", "--from", tmp_path, "--out", tmp_path / "c")
    assert (result.code, result.error) == (
        2,
        "corpus 'kjv-web' is made from packages; expected no --from and no --mirror",
    )
    result = dragoman("corpora", "build", "multi30k", "--from", tmp_path, "--out", tmp_path / "c")
    assert (result.code, result.error) == (
        1,
        f"{tmp_path}: has no train.en.gz; expected it, or train.lc.norm.tok.en",
    )
    assert "licence of multi30k: no licence stated" in result.err
    result = dragoman("corpora", "build", "multi30k", "--mirror", "ftp://example.org", "--out", tmp_path / "c")
    assert (result.code, result.error[:36]) == (2, "found the mirror 'ftp://example.org'")
    result = dragoman("corpora", "build", "wesnoth-tokenised", "--out", tmp_path / "c")
    assert (result.code, "--from FOLDER" in result.error, "makes a similar corpus" in result.error) == (2, True, True)
    assert list(tmp_path.iterdir()) == []
