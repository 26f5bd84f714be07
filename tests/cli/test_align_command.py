"""`dragoman align`: links in Pharaoh format."""

import gzip

import pytest


def links(out):
    return [{tuple(map(int, link.split("-"))) for link in line.split()} for line in out.splitlines()]


def test_the_links_are_found(dragoman, toy):
    result = dragoman("align", "--source", toy.source, "--target", toy.target, "--aligner", "hmm")
    found, true = links(result.out), [set(pair.links) for pair in toy.pairs]
    right = sum(len(a & b) for a, b in zip(found, true, strict=True))
    assert right / sum(map(len, true)) > 0.9
    assert right / sum(map(len, found)) > 0.9


def test_directions_and_combinations(dragoman, toy):
    files = ["--source", toy.source, "--target", toy.target]
    found = {
        name: links(dragoman("align", *files, "--symmetrise", name).out)
        for name in ("forward", "reverse", "union", "intersection", "grow-diag", "grow-diag-final")
    }
    default = links(dragoman("align", *files).out)
    for i in range(len(toy.pairs)):
        forward, reverse = found["forward"][i], found["reverse"][i]
        assert found["union"][i] == forward | reverse
        assert found["intersection"][i] == forward & reverse
        assert forward & reverse <= found["grow-diag"][i] <= default[i] <= found["grow-diag-final"][i]
        assert found["grow-diag-final"][i] <= forward | reverse


def test_into_a_file_and_back_into_training(dragoman, toy, tmp_path):
    files = ["--source", toy.source, "--target", toy.target]
    assert dragoman("align", *files, "--out", tmp_path / "links.gz").code == 0
    assert gzip.decompress((tmp_path / "links.gz").read_bytes()).decode() == dragoman("align", *files).out
    dragoman(*toy.train, "--out", tmp_path / "one")
    dragoman(*toy.train, "--alignment", tmp_path / "links.gz", "--out", tmp_path / "two")
    one, two = ((tmp_path / name / "checksums.toml").read_text() for name in ("one", "two"))
    assert one == two


def test_empty_lines_have_no_links(dragoman, tmp_path):
    (tmp_path / "s").write_text("la maison\n\nla fleur\n")
    (tmp_path / "t").write_text("the house\nthe\nthe flower\n")
    result = dragoman("align", "--source", tmp_path / "s", "--target", tmp_path / "t")
    assert result.code == 0
    assert result.out.split("\n")[1] == ""
    assert result.out.count("\n") == 3


@pytest.mark.parametrize("aligner", ["auto", "diagonal", "model1", "hmm"])
def test_nothing_in_nothing_out(dragoman, tmp_path, aligner):
    (tmp_path / "s").touch()
    result = dragoman("align", "--source", tmp_path / "s", "--target", tmp_path / "s", "--aligner", aligner)
    assert (result.code, result.out) == (0, "")
