import gzip

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.moses import export_moses, import_moses
from dragoman.model.parts import Settings, initial_weights
from dragoman.model.phrase_table import PhraseTable
from oracles.phrase_pairs import as_dict, phrase_pairs
from oracles.phrase_space import random_model

TABLE = "la ||| the ||| 0.5 0.25 1 0.5\nvol ||| flight ||| 1 1 0.75 0.5\n"
INI = """
[feature]
Distortion
WordPenalty
PhrasePenalty
UnknownWordPenalty
PhraseDictionaryMemory name=T0 num-features=4 path=table table-limit=7
[weight]
Distortion0= 0.25
WordPenalty0= -0.5
PhrasePenalty0= 0.125
T0= 1 2 3 4
[distortion-limit]
4
"""


class Listener(Progress):
    def __init__(self):
        self.stages, self.warnings = [], []

    def stage(self, name):
        self.stages.append(name)
        return super().stage(name)

    def warn(self, text):
        self.warnings.append(text)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "table").write_text(TABLE)
    (tmp_path / "moses.ini").write_text(INI)
    return tmp_path


def test_weights_and_settings_come_from_the_ini(folder):
    model = import_moses(folder / "moses.ini")
    assert dict(model.weights) == {
        "distortion": 0.25,
        "word_penalty": -0.5,
        "phrase_penalty": 0.125,
        "unknown_word": 1.0,
        "tm.bwd": 1,
        "tm.bwd_lex": 2,
        "tm.fwd": 3,
        "tm.fwd_lex": 4,
    }
    assert (model.settings.reordering_limit, model.settings.table_limit) == (4, 7)
    assert model.language_models == {}
    assert model.reorderings == []


def test_the_phrase_penalty_of_old_tables_becomes_the_feature(folder):
    (folder / "table").write_text(TABLE.replace("\n", " 2.718\n"))
    ini = INI.replace("num-features=4", "num-features=5").replace("T0= 1 2 3 4", "T0= 1 2 3 4 0.5")
    (folder / "moses.ini").write_text(ini)
    model = import_moses(folder / "moses.ini")
    assert model.weights["phrase_penalty"] == 0.625
    assert model.weights["tm.fwd_lex"] == 4
    assert model.tables["tm"].score_names == ("bwd", "bwd_lex", "fwd", "fwd_lex")


def test_two_tables_share_their_vocabularies(folder):
    (folder / "more").write_text("la ||| a ||| 0.5\nmot ||| word ||| 1\n")
    (folder / "moses.ini").write_text(
        INI.replace("[weight]", "PhraseDictionaryMemory name=T1 num-features=1 path=more\n[weight]\nT1= 9")
    )
    model = import_moses(folder / "moses.ini")
    assert list(model.tables) == ["tm", "tm2"]
    assert model.weights["tm2.s0"] == 9
    for table, targets in (("tm", ["the"]), ("tm2", ["a"])):
        rows = model.tables[table].lookup([model.source_vocab.id("la")])
        ids = [int(model.tables[table].target_ids[row]) for row in rows]
        assert [model.target_vocab.text(model.tables[table].targets[i]) for i in ids] == targets
    assert model.source_vocab.id("mot") != 0


def test_reordering_tables_of_another_kind_are_refused(folder):
    (folder / "orders").write_text("la ||| the ||| 0.2 0.3 0.5\n")
    (folder / "moses.ini").write_text(
        INI.replace("[weight]", "LexicalReordering name=L0 num-features=3 type=msd-fe path=orders\n[weight]\nL0= 1 1 1")
    )
    with pytest.raises(DataError, match=r"orders: has 3 scores; expected 6 \(msd-bidirectional-fe\)"):
        import_moses(folder / "moses.ini")


def test_an_ini_without_a_table(folder):
    (folder / "moses.ini").write_text("[feature]\nWordPenalty\n[weight]\nWordPenalty0= 1\n")
    with pytest.raises(DataError, match="names no phrase table; expected a phrase-based model"):
        import_moses(folder / "moses.ini")


def test_each_file_is_announced_once(folder):
    listener = Listener()
    model = import_moses(folder / "moses.ini", runtime=Runtime(progress=listener))
    assert listener.stages == [f"reading {folder}/table"]
    listener = Listener()
    export_moses(model, folder / "out", runtime=Runtime(progress=listener))
    assert listener.stages == ["writing phrase-table.tm.gz"]
    assert not any("partial" in stage for stage in listener.stages)


def test_several_of_everything_there_and_back(tmp_path):
    rows = [("la", "the", (0.5, 0.25, 1, 0.5)), ("vol", "flight", (1, 1, 0.75, 0.5)), ("vol", "theft", (1, 0, 0.25, 1))]
    pairs = phrase_pairs(rows, reordering=("lr", "lr2"))
    table = PhraseTable.from_pairs(pairs)
    names = {"tm": table.score_names, "tm2": table.score_names}
    weights = initial_weights(names, ["lr", "lr2"], []).updated({"tm2.fwd": 1 / 3, "lr2.fwd.swap": -1e-7})
    settings = Settings(reordering_limit=-1, table_limit=0)
    model = Model(pairs.source_vocab, pairs.target_vocab, {"tm": table, "tm2": table}, {}, weights, settings)
    export_moses(model, tmp_path / "moses")
    back = import_moses(tmp_path / "moses" / "moses.ini")
    assert dict(back.weights) == dict(weights)
    assert back.settings == settings
    assert back.reorderings == ["lr", "lr2"]
    expected = as_dict(table.to_pairs(pairs.source_vocab, pairs.target_vocab))
    for name in ("tm", "tm2"):
        found = as_dict(back.tables[name].to_pairs(back.source_vocab, back.target_vocab))
        assert found.keys() == expected.keys()
        for key, (scores, links, counts, orders) in expected.items():
            assert found[key][0] == pytest.approx(scores, rel=1e-5)
            assert found[key][1:3] == (links, counts)
            assert found[key][3]["lr2"] == pytest.approx(orders["lr2"], rel=1e-5)


def test_words_that_moses_cannot_hold(tmp_path):
    pairs = phrase_pairs([("a|||b", "x", (1, 1, 1, 1))])
    table = PhraseTable.from_pairs(pairs)
    model = Model(pairs.source_vocab, pairs.target_vocab, {"tm": table}, {}, initial_weights({}, [], []))
    with pytest.raises(DataError) as error:
        export_moses(model, tmp_path / "moses")
    expected = f"{tmp_path}/moses/phrase-table.tm.gz: a phrase to write holds '|||', which separates the fields of"
    assert str(error.value).startswith(expected)
    assert list(tmp_path.iterdir()) == []


def test_gaps_in_reordering_tables_are_told(folder):
    (folder / "orders.gz").write_bytes(gzip.compress(b"la ||| the ||| 0.2 0.3 0.5 0.2 0.3 0.5\n"))
    feature = "LexicalReordering name=L0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=orders"
    (folder / "moses.ini").write_text(INI.replace("[weight]", f"{feature}\n[weight]\nL0= 1 1 1 1 1 1"))
    with pytest.warns(DragomanWarning, match="1 of 2 phrase pairs are not in the reordering table"):
        model = import_moses(folder / "moses.ini")
    row = model.tables["tm"].lookup([model.source_vocab.id("vol")])[0]
    assert model.tables["tm"].log_reordering["lr"][row].tolist() == [0] * 6


def test_pairs_of_all_tables_keep_their_reordering(tmp_path):
    model = random_model(np.random.default_rng(3), tables=2)
    export_moses(model, tmp_path / "moses")
    again = import_moses(tmp_path / "moses" / "moses.ini")

    def scores(loaded):
        found = {}
        for table in loaded.tables.values():
            pairs = table.to_pairs(loaded.source_vocab, loaded.target_vocab)
            for i in range(len(pairs)):
                source = loaded.source_vocab.text(pairs.sources[int(pairs.source_ids[i])])
                target = loaded.target_vocab.text(pairs.targets[int(pairs.target_ids[i])])
                found.setdefault((source, target), pairs.reordering["lr"][i])
        return found

    ours, theirs = scores(model), scores(again)
    assert ours.keys() == theirs.keys()
    for pair, values in ours.items():
        np.testing.assert_allclose(theirs[pair], values, rtol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("num-features=4 path=table", "path=table", "found 3 weights for T0; expected 4, one for each score of"),
        (
            "[weight]",
            "KENLM name=LM0 num-features=0 path=words.arpa\n[weight]",
            "found 0 weights for LM0; expected 1, one for each score of",
        ),
    ],
)
def test_weights_that_the_ini_lacks_are_not_made_up(folder, old, new, found):
    (folder / "words.arpa").write_text("\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <unk>\n-1 <s>\n-1 </s>\n\n\\end\\\n")
    ini = INI.replace(old, new)
    (folder / "moses.ini").write_text(ini.replace("T0= 1 2 3 4", "T0= 1 2 3") if "T0" in found else ini)
    with pytest.raises(DataError, match=found):
        import_moses(folder / "moses.ini")
