import gzip
import math
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.core.errors import UsageError
from dragoman.core.progress import DragomanWarning, Progress
from dragoman.core.runtime import Runtime
from dragoman.formats.cdec import read_cdec_weights
from dragoman.model.bundle import Model
from dragoman.model.moses import import_moses
from dragoman.model.parts import initial_weights
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.scfg import export_cdec, export_joshua, import_cdec, import_cdec_segments, import_joshua
from oracles.phrase_pairs import phrase_pairs
from oracles.rules import rules_as_dict

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "hiero" / "fr-en"

GRAMMAR = """\
[X] ||| la [X,1] ||| the [X,1] ||| fwd=-0.5 RulePenalty=1 ||| 0-0
[X] ||| la ||| the ||| fwd=-1.5 RulePenalty=1 ||| 0-0
[X] ||| la ||| a ||| fwd=-0.25 RulePenalty=1 ||| 0-0
"""
WEIGHTS = "fwd 0.75\nRulePenalty 0.25\nGlue 0.5\nWordPenalty -2\nPassThrough -99.75\nLanguageModel 3\n"
ARPA = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t<unk>\n-1\t</s>\n-1\tthe\n\n\\end\\\n"


@pytest.fixture
def folder(tmp_path):
    for name, text in (("grammar", GRAMMAR), ("weights", WEIGHTS), ("lm", ARPA)):
        (tmp_path / name).write_text(text)
    return tmp_path


def imported(folder):
    return import_cdec(folder / "grammar", language_models=[folder / "lm"], weights=folder / "weights")


def rules_of(model):
    (grammar,) = model.grammars.values()
    return rules_as_dict(grammar.to_pairs(model.source_vocab, model.target_vocab))


def test_weights_of_cdec_in_our_terms(folder):
    model = imported(folder)
    assert model.kind == "chart"
    assert model.grammars["tm"].score_names == ("fwd",)
    assert dict(model.weights) == pytest.approx(
        {
            "glue": 0.5,
            "word_penalty": -2 / math.log(10),
            "rule_penalty": 0.25,
            "unknown_word": 1.0,
            "lm": 3 / math.log(10),
            "tm.fwd": 0.75,
        }
    )
    assert [*model.weights] == model.feature_names
    # The best come first, so that a limit is a prefix.
    assert model.grammars["tm"].log_scores[:, 0].tolist() == [-0.25, -1.5, -0.5]


def test_weights_without_a_feature_are_told(folder):
    (folder / "weights").write_text(WEIGHTS + "Other 1\nMore 2\n")
    with pytest.warns(
        DragomanWarning, match="left out the weights of features that the model does not have: Other, More"
    ):
        imported(folder)


def test_without_weights_costs_are_told(folder):
    (folder / "grammar").write_text("[X] ||| la ||| the ||| Cost=2 Log=-1\n[X] ||| la ||| a ||| Cost=0\n")
    with pytest.warns(DragomanWarning, match="^Cost have no negative values, as costs have"):
        model = import_cdec(folder / "grammar")
    assert model.weights["tm.Cost"] == 0.2


def test_a_rule_penalty_that_varies_is_a_feature(folder):
    (folder / "grammar").write_text(GRAMMAR.replace("-0.5 RulePenalty=1", "-0.5 RulePenalty=2"))
    model = imported(folder)
    assert model.weights["tm.RulePenalty"] == 0.25
    assert model.weights["rule_penalty"] == 0


def test_cdec_there_and_back(folder):
    model = imported(folder)
    export_cdec(model, folder / "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "cdec.ini",
        "grammar.gz",
        "lm.arpa.gz",
        "weights",
    ]
    assert gzip.decompress((folder / "out" / "grammar.gz").read_bytes()).decode() == "".join(
        sorted(GRAMMAR.splitlines(keepends=True))
    )
    assert read_cdec_weights(folder / "out" / "weights") == pytest.approx(read_cdec_weights(folder / "weights"))
    ini = (folder / "out" / "cdec.ini").read_text().splitlines()
    assert "scfg_max_span_limit=10" in ini
    assert "feature_function=KLanguageModel -n LanguageModel lm.arpa.gz" in ini
    back = import_cdec(
        folder / "out" / "grammar.gz",
        language_models=[folder / "out" / "lm.arpa.gz"],
        weights=folder / "out" / "weights",
    )
    assert dict(back.weights) == pytest.approx(dict(model.weights), abs=1e-15)
    assert rules_of(back) == rules_of(model)
    assert back.language_models["lm"].score("the") == model.language_models["lm"].score("the")


def test_each_file_is_announced_by_its_name(folder):
    stages = []

    class Listener(Progress):
        def stage(self, name):
            stages.append(name)
            return super().stage(name)

    export_cdec(imported(folder), folder / "out", runtime=Runtime(progress=Listener()))
    export_joshua(imported(folder), folder / "other", runtime=Runtime(progress=Listener()))
    assert stages == ["writing grammar.gz", "writing lm.arpa.gz"] * 2


def test_the_model_can_be_saved(folder):
    """Values beyond what an exponential in single precision can hold are kept."""
    (folder / "grammar").write_text(GRAMMAR.replace("fwd=-1.5", "fwd=99"))
    imported(folder).save(folder / "model")
    model = Model.load(folder / "model")
    assert model.grammars["tm"].log_scores.max() == 99
    export_cdec(model, folder / "out")
    assert "||| fwd=99 " in gzip.decompress((folder / "out" / "grammar.gz").read_bytes()).decode()


def test_segments(folder):
    (folder / "other").write_text("[X] ||| mot ||| word ||| fwd=-2 RulePenalty=1\n")
    (folder / "input").write_text('<seg grammar="grammar"> la mot </seg>\n<seg grammar="other"> mot </seg>\n')
    segments, model = import_cdec_segments(
        folder / "input", language_models=[folder / "lm"], weights=folder / "weights"
    )
    assert [segment.text for segment in segments] == ["la mot", "mot"]
    assert len(model.grammars["tm"]) == 4
    assert model.weights["rule_penalty"] == 0.25


def test_joshua_there_and_back(folder):
    model = imported(folder)
    export_joshua(model, folder / "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["grammar.gz", "lm.arpa.gz"]
    text = gzip.decompress((folder / "out" / "grammar.gz").read_bytes()).decode()
    assert "[X] ||| la ||| a ||| 0.25 ||| 0-0\n" in text
    back = import_joshua(
        folder / "out" / "grammar.gz", language_models=[folder / "out" / "lm.arpa.gz"], score_names=["fwd"]
    )
    assert rules_of(back) == rules_of(model)
    assert back.weights["tm.fwd"] == 0.2
    export_joshua(model, folder / "named", named=True)
    assert rules_of(import_joshua(folder / "named" / "grammar.gz")) == rules_of(model)


def test_what_cannot_be_written(folder):
    pairs = phrase_pairs([("la", "the", (1, 1, 1, 1))])
    table = PhraseTable.from_pairs(pairs)
    phrases = Model(pairs.source_vocab, pairs.target_vocab, {"tm": table}, {}, initial_weights({}, [], []))
    with pytest.raises(
        UsageError, match="a phrase-based model cannot be written for cdec; expected a hierarchical one"
    ):
        export_cdec(phrases, folder / "out")
    model = imported(folder)
    two = replace(model, grammars={"tm": model.grammars["tm"], "tm2": model.grammars["tm"]})
    with pytest.raises(UsageError, match="a model with 2 grammars cannot be written for Joshua; expected one"):
        export_joshua(two, folder / "out")
    assert not (folder / "out").exists()


@pytest.mark.skipif(not REAL.exists(), reason="needs real tables")
def test_scores_are_those_that_cdec_printed(folder, tmp_path):
    """The weights that are written for cdec give the model scores that it printed for the same model."""
    (tmp_path / "glue-grammar").write_bytes((REAL / "glue-grammar").read_bytes())
    (tmp_path / "few").write_text("la [X] ||| the [X] ||| 0.5 0.25 1 0.5 ||| 0-0 ||| 1 1 1 ||| |||\n")
    ini = (REAL / "moses.untuned.ini").read_text().replace("rule-table.val-test_2016.gz", "few")
    (tmp_path / "moses.ini").write_text(ini.replace("../../moses/fr-en/lm3.arpa.gz", "lm"))
    export_cdec(import_moses(tmp_path / "moses.ini"), tmp_path / "cdec")
    weights = read_cdec_weights(tmp_path / "cdec" / "weights")
    names = {"TM0": "bwd", "TM1": "bwd_lex", "TM2": "fwd", "TM3": "fwd_lex", "PP": "RulePenalty"}
    text = gzip.decompress((REAL / "test_2016_flickr.untuned.cdec-pop200.1best.gz").read_bytes()).decode()
    unknown = 0
    for line in text.splitlines():
        _, _, features, score = line.split(" ||| ")
        values = {name: float(value) for name, value in (token.split("=") for token in features.split())}
        unknown += values.get("PassThrough", 0)
        ours = sum(weights.get(names.get(name, name), 0.0) * value for name, value in values.items())
        assert ours == pytest.approx(float(score), abs=0.0014)
    assert unknown > 0
