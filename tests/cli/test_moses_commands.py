"""`dragoman import` and `export`: a model goes to Moses' files and comes back."""

import gzip
import subprocess
from dataclasses import replace

import kenlm
import numpy as np
import pytest

from dragoman.model.bundle import Model


def table_of(model):
    """Phrase pairs with their scores, counts and links, by their words."""
    table = model.tables["tm"]
    pairs = table.to_pairs(model.source_vocab, model.target_vocab)
    found = {}
    for row in range(len(pairs)):
        key = (
            model.source_vocab.text(pairs.sources[int(pairs.source_ids[row])]),
            model.target_vocab.text(pairs.targets[int(pairs.target_ids[row])]),
        )
        scores = [*pairs.scores[row].tolist(), *pairs.reordering["lr"][row].tolist(), *pairs.counts[row].tolist()]
        found[key] = (np.array(scores), pairs.alignments[row].tolist())
    return found


@pytest.fixture(scope="module")
def exported(command, model, tmp_path_factory):
    out = tmp_path_factory.mktemp("exported") / "moses"
    subprocess.run([command, "export", "moses", model, "--out", out], check=True, capture_output=True)
    return out


def test_the_files_are_those_of_moses(exported, toy):
    assert sorted(path.name for path in exported.iterdir()) == [
        "lm.arpa.gz",
        "moses.ini",
        "phrase-table.tm.gz",
        "reordering-table.lr.gz",
    ]
    lines = gzip.decompress((exported / "phrase-table.tm.gz").read_bytes()).decode().splitlines()
    assert "maison bleue ||| blue house ||| 1 1 1 1 ||| 0-1 1-0 ||| " in "\n".join(lines)
    assert [line.encode() for line in lines] == sorted(line.encode() for line in lines)
    ini = (exported / "moses.ini").read_text()
    assert "path=phrase-table.tm.gz" in ini
    assert "partial" not in ini


def test_the_language_model_is_one_for_kenlm(exported, model, toy):
    theirs = kenlm.Model(str(exported / "lm.arpa.gz"))
    ours = Model.load(model).language_models["lm"]
    for pair in toy.pairs[:20]:
        line = " ".join(pair.target)
        assert ours.score(line) == pytest.approx(theirs.score(line), abs=1e-4)


def test_there_and_back_again(dragoman, model, exported, tmp_path):
    result = dragoman("import", "moses", exported / "moses.ini", "--out", tmp_path / "back")
    assert result.code == 0
    assert result.warnings == []
    stages = [line for line in result.err.splitlines() if "reading" in line]
    assert len(stages) == len(set(stages)) == 3
    before, after = Model.load(model), Model.load(tmp_path / "back")
    assert dict(after.weights) == dict(before.weights)
    # Moses' files do not say in which form of Unicode their text is.
    assert after.settings == replace(before.settings, unicode="as-is")
    assert after.tables["tm"].score_names == before.tables["tm"].score_names
    ours, theirs = table_of(before), table_of(after)
    assert ours.keys() == theirs.keys()
    for key, (scores, links) in ours.items():
        np.testing.assert_allclose(theirs[key][0], scores, rtol=1e-5)
        assert theirs[key][1] == links
    line = "the old car sees a flight"
    assert after.language_models["lm"].score(line) == before.language_models["lm"].score(line)
    assert after.history == {"imported_from": "moses"}


def test_a_second_round_changes_nothing(dragoman, exported, tmp_path):
    dragoman("import", "moses", exported / "moses.ini", "--out", tmp_path / "one")
    dragoman("export", "moses", tmp_path / "one", "--out", tmp_path / "two")
    for file in exported.iterdir():
        assert (tmp_path / "two" / file.name).read_bytes() == file.read_bytes()


def test_weights_and_limits_of_their_own(dragoman, exported, tmp_path):
    ini = (exported / "moses.ini").read_text()
    ini = ini.replace("table-limit=20", "table-limit=5").replace("[distortion-limit]\n6", "[distortion-limit]\n-1")
    ini = ini.replace("LM0= 0.5", "LM0= 0.25").replace("Distortion0= 0.3", "Distortion0= 0.125")
    (exported / "other.ini").write_text(ini)
    dragoman("import", "moses", exported / "other.ini", "--out", tmp_path / "m")
    (exported / "other.ini").unlink()
    loaded = Model.load(tmp_path / "m")
    assert (loaded.settings.table_limit, loaded.settings.reordering_limit) == (5, -1)
    assert (loaded.weights["lm"], loaded.weights["distortion"]) == (0.25, 0.125)


def test_existing_folders(dragoman, model, exported, tmp_path):
    (tmp_path / "out").mkdir()
    for arguments in (["export", "moses", model], ["import", "moses", exported / "moses.ini"]):
        result = dragoman(*arguments, "--out", tmp_path / "out")
        assert (result.code, result.error) == (2, f"{tmp_path}/out exists; use --force to replace it")
        assert dragoman(*arguments, "--out", tmp_path / "out", "--force").code == 0


def test_tables_that_are_named_but_missing(dragoman, tmp_path):
    (tmp_path / "moses.ini").write_text(
        "[feature]\nPhraseDictionaryMemory name=T0 num-features=4 path=gone\n[weight]\nT0= 1 1 1 1\n"
    )
    result = dragoman("import", "moses", tmp_path / "moses.ini", "--out", tmp_path / "m")
    assert result.code == 1
    assert result.error.startswith(f"{tmp_path}/moses.ini:2: the feature T0 names the file gone, which does not exist")
    assert not (tmp_path / "m").exists()


def test_a_model_without_language_model_and_with_gaps(dragoman, tmp_path):
    (tmp_path / "table").write_text("la ||| the ||| 0.5 0.5 0.5 0.5\nla ||| a ||| 0.5 0.5 0.25 0.5\n")
    (tmp_path / "orders").write_text("la ||| the ||| 0.2 0.3 0.5 0.2 0.3 0.5\n")
    (tmp_path / "moses.ini").write_text(
        "[feature]\nPhraseDictionaryMemory name=T0 num-features=4 path=table\n"
        "LexicalReordering name=L0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=orders\n"
        "[weight]\nT0= 1 1 1 1\nL0= 1 2 3 4 5 6\n"
    )
    result = dragoman("import", "moses", tmp_path / "moses.ini", "--out", tmp_path / "m")
    assert result.code == 0
    assert result.warnings == ["1 of 2 phrase pairs are not in the reordering table; they score 0 there"]
    loaded = Model.load(tmp_path / "m")
    assert loaded.language_models == {}
    assert loaded.weights["lr.fwd.other"] == 6
    assert dragoman("export", "moses", tmp_path / "m", "--out", tmp_path / "again").code == 0
