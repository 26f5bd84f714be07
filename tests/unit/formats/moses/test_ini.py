import os

import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import DragomanWarning
from dragoman.formats.moses.ini import MosesFeature, MosesIni, read_moses_ini, write_moses_ini

VERSION_2 = """\
# a comment
[input-factors]
0

[mapping]
0 T 0

[distortion-limit]
6

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=phrase-table.gz input-factor=0 output-factor=0
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=reordering
Distortion
KENLM name=LM0 factor=0 path=lm.arpa order=3   # trailing comment

[cube-pruning-pop-limit]
400

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.25 0.3 1e-05
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5
"""

VERSION_1 = """\
[input-factors]
0
[mapping]
0 T 0
[ttable-file]
0 0 0 5 phrase-table.gz
[lmodel-file]
8 0 3 lm.arpa
[ttable-limit]
20
[distortion-file]
0-0 wbe-msd-bidirectional-fe-allff 6 reordering
[weight-d]
0.3
0.1
0.2
0.3
0.4
0.5
0.6
[weight-l]
0.5
[weight-t]
0.2
0.2
0.2
0.2
0.15
[weight-w]
-1
[distortion-limit]
6
"""


@pytest.fixture
def write(tmp_path):
    for name in ("phrase-table.gz", "reordering.gz", "lm.arpa"):
        (tmp_path / name).write_bytes(b"")

    def write(text, name="moses.ini"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_reading_version_2(write, tmp_path):
    ini = read_moses_ini(write(VERSION_2))
    assert [(feature.kind, feature.name, feature.weights) for feature in ini.features] == [
        ("UnknownWordPenalty", "UnknownWordPenalty0", (1.0,)),
        ("WordPenalty", "WordPenalty0", (-1.0,)),
        ("PhrasePenalty", "PhrasePenalty0", (0.2,)),
        ("PhraseDictionaryMemory", "TranslationModel0", (0.2, 0.25, 0.3, 1e-05)),
        ("LexicalReordering", "LexicalReordering0", (0.3,) * 6),
        ("Distortion", "Distortion0", (0.3,)),
        ("KENLM", "LM0", (0.5,)),
    ]
    assert ini.feature("TranslationModel0").file == tmp_path / "phrase-table.gz"
    assert ini.feature("LexicalReordering0").file == tmp_path / "reordering.gz"
    assert ini.feature("LM0").arguments == {"factor": "0", "path": "lm.arpa", "order": "3"}
    assert ini.feature("LM0").line == 18
    assert (ini.distortion_limit, ini.table_limit) == (6, None)
    assert ini.sections == {
        "input-factors": ("0",),
        "mapping": ("0 T 0",),
        "distortion-limit": ("6",),
        "cube-pruning-pop-limit": ("400",),
    }


def test_reading_version_1_as_if_it_were_version_2(write, tmp_path):
    ini = read_moses_ini(write(VERSION_1))
    assert {(feature.kind, feature.name, feature.weights) for feature in ini.features} == {
        ("WordPenalty", "WordPenalty0", (-1.0,)),
        ("PhraseDictionaryMemory", "TranslationModel0", (0.2, 0.2, 0.2, 0.2, 0.15)),
        ("Distortion", "Distortion0", (0.3,)),
        ("LexicalReordering", "LexicalReordering0", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        ("KENLM", "LM0", (0.5,)),
    }
    assert ini.feature("LexicalReordering0").arguments["type"] == "wbe-msd-bidirectional-fe-allff"
    assert ini.feature("LM0").file == tmp_path / "lm.arpa"
    assert (ini.distortion_limit, ini.table_limit) == (6, 20)
    assert "weight-t" not in ini.sections


@pytest.mark.parametrize("text", [VERSION_1, VERSION_2])
def test_what_is_written_says_the_same(write, text):
    path = write(text)
    ini = read_moses_ini(path)
    write_moses_ini(path, ini)
    assert read_moses_ini(path) == ini
    first = path.read_bytes()
    write_moses_ini(path, read_moses_ini(path))
    assert path.read_bytes() == first


def test_paths_are_kept_where_they_lead_to_the_same_file_and_changed_elsewhere(write, tmp_path):
    ini = read_moses_ini(write(VERSION_2))
    write_moses_ini(tmp_path / "other.ini", ini)
    assert "path=lm.arpa " in (tmp_path / "other.ini").read_text()
    write_moses_ini(tmp_path / "deep" / "moses.ini", ini)
    text = (tmp_path / "deep" / "moses.ini").read_text()
    assert "path=../lm.arpa " in text
    moved = read_moses_ini(tmp_path / "deep" / "moses.ini")
    assert moved.feature("LM0").file.samefile(tmp_path / "lm.arpa")
    assert [feature.weights for feature in moved.features] == [feature.weights for feature in ini.features]


def test_files_are_looked_for_in_the_working_folder_too(write, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    ini = write(VERSION_2)
    ini.rename(tmp_path / "elsewhere" / "moses.ini")
    with pytest.raises(DataError, match="does not exist"):
        read_moses_ini(tmp_path / "elsewhere" / "moses.ini")
    monkeypatch.chdir(tmp_path)
    assert read_moses_ini("elsewhere/moses.ini").feature("LM0").file.samefile("lm.arpa")


def test_default_names_count_up_for_each_kind(write):
    text = "[feature]\nDistortion\nDistortion\nDistortion name=D\nKENLM path=lm.arpa order=3\n"
    text += "[weight]\nDistortion0= 1\nDistortion1= 2\nD= 3\nKENLM0= 4\n"
    assert [feature.name for feature in read_moses_ini(write(text)).features] == [
        "Distortion0",
        "Distortion1",
        "D",
        "KENLM0",
    ]


def test_unknown_features_are_kept_and_reported(write):
    text = VERSION_2.replace("Distortion\n", "Distortion\nOpSequenceModel path=nowhere num-features=2\n").replace(
        "LM0= 0.5", "LM0= 0.5\nOpSequenceModel0= 1 2"
    )
    path = write(text)
    with pytest.warns(DragomanWarning, match=r"moses.ini:18: the feature OpSequenceModel is not known"):
        ini = read_moses_ini(path)
    feature = ini.feature("OpSequenceModel0")
    assert feature == MosesFeature(
        "OpSequenceModel", "OpSequenceModel0", (1.0, 2.0), {"path": "nowhere", "num-features": "2"}
    )
    assert not feature.is_known
    write_moses_ini(path, ini)
    with pytest.warns(DragomanWarning):
        assert read_moses_ini(path) == ini


def test_kinds_of_features(write):
    ini = read_moses_ini(write(VERSION_2))
    assert [feature.name for feature in ini.features if feature.is_phrase_table] == ["TranslationModel0"]
    assert [feature.name for feature in ini.features if feature.is_reordering] == ["LexicalReordering0"]
    assert [feature.name for feature in ini.features if feature.is_language_model] == ["LM0"]


def test_the_unknown_word_penalty_needs_no_weight(write):
    ini = read_moses_ini(write(VERSION_2.replace("UnknownWordPenalty0= 1\n", "")))
    assert ini.feature("UnknownWordPenalty0").weights == (1.0,)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("LM0= 0.5", "LM0= nan", 30, "found 'nan'; expected a finite number"),
        ("LM0= 0.5", "LM0= 1e999", 30, "found '1e999'; expected a finite number"),
        ("LM0= 0.5", "LM0= 0,5", 30, "found '0,5'; expected a finite number"),
        ("LM0= 0.5", "LM0 0.5", 30, "found 'LM0 0.5'; expected NAME= WEIGHT"),
        ("LM0= 0.5", "LM0= 0.5\nLM0= 0.5", 31, "found weights for LM0 again; expected them on line 30 only"),
        ("LM0= 0.5", "LM1= 0.5", 18, "the feature LM0 has no weights; expected them in [weight]"),
        ("LM0= 0.5", "LM0= 0.5\nLM1= 0.5", 31, "found weights for LM1; expected weights of features in [feature]"),
        ("LM0= 0.5", "LM0= 0.5 0.5", 30, "found 2 weights for LM0; expected 1, for the feature on line 18"),
        (
            "0.2 0.25 0.3 1e-05",
            "0.2 0.25 0.3",
            27,
            "found 3 weights for TranslationModel0; expected 4, for the feature on line 15",
        ),
        ("num-features=4", "num-features=four", 15, "found 'four'; expected a whole number"),
        (
            "factor=0 path=lm.arpa",
            "factor path=lm.arpa",
            18,
            "found 'factor' among the arguments of KENLM; expected KEY=VALUE",
        ),
        (
            "order=3",
            "order=3 order=4",
            18,
            "found 'order=4' among the arguments of KENLM; expected KEY=VALUE, each once",
        ),
        ("path=lm.arpa", "path=gone", 18, "the feature LM0 names the file gone, which does not exist"),
        (" path=lm.arpa", "", 18, "the feature LM0 names no file; expected path=FILE"),
        ("[mapping]", "[mapping", 5, "found '[mapping'; expected [section]"),
        ("# a comment", "stray", 1, "found 'stray' before any section; expected [section]"),
        ("[distortion-limit]\n6", "[distortion-limit]\nsix", 9, "found 'six'; expected a whole number"),
        (
            "Distortion\n",
            "Distortion\nDistortion name=Distortion0\n",
            18,
            "found another feature Distortion0; expected each once",
        ),
        ("[mapping]", "[weight-w]\n1\n[mapping]", 14, "has both [weight-w] of version 1 and [feature] of version 2"),
    ],
)
def test_what_is_wrong_in_version_2_is_named_with_its_line(write, old, new, line, message):
    assert old in VERSION_2
    path = write(VERSION_2.replace(old, new))
    with pytest.raises(DataError) as error:
        read_moses_ini(path)
    assert str(error.value).startswith(f"{path}:{line}: {message}")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("0.15\n", "", 27, "[weight-t] has 4 weights; expected at least 5, for the scores of its models"),
        ("0.15\n", "0.15\n0.1\n", 29, "[weight-t] has 6 weights; expected 5, for the scores of its models"),
        ("0.15\n", "x\n", 28, "found 'x'; expected a finite number"),
        ("[weight-l]\n0.5\n", "", None, "[weight-l] has 0 weights; expected at least 1"),
        ("8 0 3 lm.arpa", "8 0 lm.arpa", 8, "found '8 0 lm.arpa'; expected TYPE FACTOR ORDER PATH"),
        ("8 0 3 lm.arpa", "7 0 3 lm.arpa", 8, "found the model type '7'; expected 0 (SRILM), 1 (IRSTLM), 8 (KENLM)"),
        ("0 0 0 5 phrase", "0 0 0 many phrase", 6, "found 'many'; expected a whole number"),
        ("phrase-table.gz", "gone", 6, "the feature TranslationModel0 names the file gone, which does not exist"),
    ],
)
def test_what_is_wrong_in_version_1_is_named_with_its_line(write, old, new, line, message):
    assert old in VERSION_1
    path = write(VERSION_1.replace(old, new))
    with pytest.raises(DataError) as error:
        read_moses_ini(path)
    place = f"{path}:" if line is None else f"{path}:{line}:"
    assert str(error.value).startswith(f"{place} {message}")


@pytest.mark.parametrize("text", ["", "# nothing\n", "[mapping]\n0 T 0\n", "[feature]\n"])
def test_files_without_features_are_no_configuration(write, text):
    with pytest.raises(DataError, match="has no features"):
        read_moses_ini(write(text))


def test_a_path_with_odd_spaces_is_one_word(write, tmp_path):
    (tmp_path / "l\u00a0m").write_bytes(b"")
    ini = read_moses_ini(write(VERSION_2.replace("path=lm.arpa", "path=l\u00a0m")))
    assert os.fspath(ini.feature("LM0").file).endswith("l\u00a0m")


def test_a_configuration_made_by_hand_is_written(tmp_path):
    ini = MosesIni((MosesFeature("WordPenalty", "WordPenalty0", (-0.5,)),), {"stack": ("200",)})
    write_moses_ini(tmp_path / "moses.ini", ini)
    assert read_moses_ini(tmp_path / "moses.ini") == ini
