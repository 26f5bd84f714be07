import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU

from dragoman.cli.main import main
from dragoman.evaluation.statistics.significance import holm
from oracles.scored_text import OUTPUTS, REFERENCES, TOKENISERS, sacrebleu_of

pytestmark = pytest.mark.slow

REFERENCE = "the cat sat on the mat .\na dog ran home quickly today\nwe saw the old house\n"
GOOD = "the cat sat on the mat .\na dog ran home today\nwe saw an old house\n"
BAD = "cat mat the sat\na dog home\nwe the saw\n"


@dataclass
class Done:
    code: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def dragoman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run the command in a folder with some files."""
    for name, text in {"ref": REFERENCE, "good": GOOD, "bad": BAD, "short": "one line\n", "empty": ""}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "many0").write_text(REFERENCE)
    (tmp_path / "many1").write_bytes(GOOD.replace("\n", "\r\n").encode())
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, text: str = "") -> Done:
        monkeypatch.setattr(sys, "argv", ["dragoman", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return run


def test_a_table_with_signatures(dragoman: Command) -> None:
    done = dragoman("score", "--reference", "ref", "--metric", "bleu", "--metric", "ter", "good", "bad")
    assert done.code == 0, done.stderr
    expected = BLEU(tokenize="none", force=True).corpus_score(GOOD.splitlines(), [REFERENCE.splitlines()]).score
    row = next(line for line in done.stdout.splitlines() if line.startswith("good") and "bleu" in line)
    assert f"{expected:.2f}" in row
    assert "bleu|nrefs:1|case:mixed" in done.stdout
    assert "equals:sacrebleu-" in done.stdout


def test_json_sentences_and_standard_input(dragoman: Command) -> None:
    arguments = ["--metric", "bleu", "--metric", "0.5*chrf-0.5*wer", "--json", "--sentences", "out.tsv", "--seed", "5"]
    done = dragoman("score", "--reference", "many", *arguments, text=GOOD)
    assert done.code == 0, done.stderr
    bleu, combined = json.loads(done.stdout)
    assert bleu["score"] == pytest.approx(100)
    assert "nrefs:2|" in bleu["signature"]
    assert bleu["interval"] == pytest.approx([100, 100])
    assert combined["score"] == pytest.approx(50)
    table = [line.split("\t") for line in Path("out.tsv").read_text().splitlines()]
    assert table[0] == ["sentence", "- bleu", "- 0.5*chrf-0.5*wer"]
    assert [row[0] for row in table[1:]] == ["0", "1", "2"]
    assert dragoman("score", "--reference", "many", *arguments, text=GOOD).stdout == done.stdout


def test_precomputed_scores_of_each_system(dragoman: Command) -> None:
    Path("good.scores").write_text("1\n2\n3\n")
    Path("bad.scores").write_text("1\n1\n1\n")
    done = dragoman("score", "--reference", "ref", "--metric", "precomputed:path={}.scores", "--json", "good", "bad")
    assert [found["score"] for found in json.loads(done.stdout)] == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--reference", "ref", "short"], 1, "short: has 1 lines, but the reference ref has 3; expected as many"),
        (["--reference", "ref", "--reference", "short", "good"], 1, "short: has 1 lines, but ref has 3"),
        (["--reference", "none", "good"], 1, "none: cannot be read"),
        (["--reference", "empty", "empty"], 1, "empty: is empty; expected one reference translation a line"),
        (
            ["--reference", "ref", "--metric", "blue", "good"],
            2,
            "no metric is called 'blue'; there are accuracy, bleu, cer, chrf",
        ),
        (["--reference", "ref", "--metric", "bleu:size=2", "good"], 2, "found 'size=2'; expected NAME=VALUE"),
        (["--reference", "ref", "--metric", "bleu:order=0", "good"], 2, "order is 0; expected at least 1"),
        (["--reference", "ref", "--metric", "0.5*bleu?", "good"], 2, "cannot read '0.5*bleu?'"),
        (["--reference", "ref", "--metric", "precomputed:path=none", "good"], 1, "none: cannot be read"),
    ],
)
def test_what_score_refuses(dragoman: Command, arguments: list[str], code: int, message: str) -> None:
    done = dragoman("score", *arguments)
    assert done.code == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_compare(dragoman: Command) -> None:
    quick = ["--trials", "200", "--samples", "5", "--resamples", "200"]
    done = dragoman("compare", "--reference", "ref", *quick, "bad", "good")
    assert done.code == 0, done.stderr
    assert "good > bad" in done.stdout
    assert "at 300" in done.stdout
    runs = ["--metric", "wer", "--json", "x=good,bad", "y=bad,bad,bad"]
    (report,) = json.loads(dragoman("compare", "--reference", "ref", *quick, *runs).stdout)
    x, y = report["systems"]
    assert x["score"] == pytest.approx(sum(x["runs"]) / 2)
    assert x["sd_runs"] > 0
    assert y["sd_runs"] == 0
    (pair,) = report["pairs"]
    assert (pair["better"], pair["worse"]) == ("x", "y")
    assert pair["difference"] < 0


def test_a_correction_for_the_number_of_pairs(dragoman: Command) -> None:
    Path("fair").write_text(GOOD.replace("today", "quickly"))
    quick = ["--trials", "100", "--samples", "0", "--resamples", "100", "bad", "good", "fair"]
    (raw,) = json.loads(dragoman("compare", "--reference", "ref", *quick, "--json").stdout)
    (report,) = json.loads(dragoman("compare", "--reference", "ref", *quick, "--json", "--correction", "holm").stdout)
    for raw_pair, pair in zip(raw["pairs"], report["pairs"], strict=True):
        assert raw_pair == {key: value for key, value in pair.items() if not key.endswith("_holm")}
    for test in ("p_bootstrap", "p_randomisation"):
        assert [p[f"{test}_holm"] for p in report["pairs"]] == holm([p[test] for p in report["pairs"]])
    shown = dragoman("compare", "--reference", "ref", *quick, "--correction", "holm")
    assert "corrected by Holm's method for 3 pairs" in shown.stdout
    for pair in report["pairs"]:
        assert f"{pair['p_bootstrap_holm']:.4f}" in shown.stdout
    assert shown.stderr == ""
    few = dragoman("compare", "--reference", "ref", *quick, "--resamples", "30", "--correction", "holm")
    assert "--resamples 30 no p-value of 3 pairs can be significant; take at least 59" in few.stderr


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        (["good"], "found 1 system; expected two or more to compare"),
        (["good", "good"], "two systems have the same name"),
        (["good", "x="], "found 'x='; expected FILE, NAME=FILE or NAME=FILE,FILE"),
    ],
)
def test_what_compare_refuses(dragoman: Command, systems: list[str], message: str) -> None:
    done = dragoman("compare", "--reference", "ref", *systems)
    assert done.code == 2
    assert message in done.stderr


@pytest.mark.parametrize("tokeniser", ["13a", "intl", "zh", "char", "none"])
@pytest.mark.parametrize("system", ["good", "bad", "odd"])
def test_what_stands_beside_bleu_is_sacrebleus(dragoman: Command, tokeniser: str, system: str) -> None:
    Path("odd").write_text("\nnothing here\n\n")
    lines = Path(system).read_text().splitlines()
    expected = BLEU(tokenize=tokeniser, force=True).corpus_score(lines, [REFERENCE.splitlines()])
    done = dragoman("score", "--reference", "ref", "-m", "BLEU", "-tok", tokeniser, "--json", system)
    assert done.code == 0, done.stderr
    (found,) = json.loads(done.stdout)
    assert found["metric"] == "BLEU"
    assert found["score"] == pytest.approx(expected.score)
    assert found["precisions"] == pytest.approx(expected.precisions)
    assert found["brevity_penalty"] == pytest.approx(expected.bp)
    assert found["length_ratio"] == pytest.approx(expected.ratio)
    assert (found["hypothesis_length"], found["reference_length"]) == (expected.sys_len, expected.ref_len)
    assert f"tok:{tokeniser}" in found["signature"]
    shown = dragoman("score", "--reference", "ref", "--tokenize", tokeniser, system).stdout
    assert expected._verbose in shown


def test_metrics_have_their_usual_names(dragoman: Command) -> None:
    for usual, ours in [("BLEU", "bleu"), ("chrF", "chrf"), ("TER", "ter"), ("BLEU-TER", "bleu-ter")]:
        found = [
            json.loads(dragoman("score", "--reference", "ref", "-m", m, "--json", "bad").stdout) for m in (usual, ours)
        ]
        assert found[0][0]["signature"] == found[1][0]["signature"]
        assert found[0][0]["score"] == found[1][0]["score"]
    done = dragoman("score", "--reference", "ref", "-m", "chrF", "-tok", "13a", "bad")
    assert done.code == 2
    assert "--tokenize 13a is for BLEU" in done.stderr
    assert "precisions" not in dragoman("score", "--reference", "ref", "-m", "chrF", "bad").stdout


def test_paired_scores_are_a_comparison(dragoman: Command) -> None:
    options = ["--reference", "ref", "-tok", "char", "--json", "good", "bad"]
    paired = dragoman("score", "--paired", *options)
    assert paired.code == 0, paired.stderr
    assert paired.stdout == dragoman("compare", "--trials", "0", "--samples", "0", *options).stdout
    assert json.loads(paired.stdout)[0]["order"].startswith("good")
    for wrong in (["good"], ["good", "bad", "--sentences", "out.tsv"], ["good", "bad", "--resamples", "0"]):
        assert dragoman("score", "--paired", "--reference", "ref", *wrong).code == 2


@pytest.mark.parametrize("correction", ["none", "holm"])
def test_identical_translations_are_equal(dragoman: Command, correction: str) -> None:
    Path("again").write_text(GOOD)
    done = dragoman("compare", "--reference", "ref", "--correction", correction, "bad", "good", "again")
    assert done.code == 0, done.stderr
    assert "\ngood = again " in done.stdout
    assert "= bad" not in done.stdout


@pytest.mark.parametrize("kind", ["raw", "prepared"])
def test_bleu_is_sacrebleus_of_the_same_text(dragoman: Command, kind: str) -> None:
    for name, lines in (("out", OUTPUTS[kind]), ("known", REFERENCES[kind])):
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    (found,) = json.loads(dragoman("score", "--reference", "known", "--json", "out").stdout)
    assert found["score"] == pytest.approx(sacrebleu_of(kind))
    assert f"|tok:{TOKENISERS[kind]}|" in found["signature"]
    shown = dragoman("compare", "--reference", "known", "--trials", "10", "--resamples", "10", "out", "known").stdout
    assert f"{sacrebleu_of(kind):.2f}" in shown
    assert f"|tok:{TOKENISERS[kind]}|" in shown
    assert shown.endswith(f"\n{found['note']}\n")
    told = dragoman("score", "--reference", "known", "--language", "zh", "--json", "out")
    assert "|tok:zh|" in json.loads(told.stdout)[0]["signature"]
    assert "looks" not in dragoman("score", "--reference", "known", "-tok", "intl", "out").stdout
    wanted = dragoman("score", "--reference", "known", "-tok", "ja-mecab", "out")
    assert (wanted.code, "sacrebleu[ja]" in wanted.stderr) in ((2, True), (0, False))
