"""Command lines of sacreBLEU, given to `dragoman score`: the same output, byte for byte."""

import contextlib
import functools
import importlib
import json
import random
import signal
import sys

import pytest
from sacrebleu.metrics import BLEU, TER
from sacrebleu.significance import PairedTest
from sacrebleu.utils import Color


def _program():
    """Import sacreBLEU's program, which lets a broken pipe end the whole process, and take that back."""
    before = signal.getsignal(signal.SIGPIPE)
    program = importlib.import_module("sacrebleu.sacrebleu")
    signal.signal(signal.SIGPIPE, before)
    return program


sacrebleu = _program()

# sacreBLEU leaves closing its files to Python.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

SENTENCES = [
    "The cat sat on the mat, as it often did.",
    "A dog ran home quickly today!",
    "We saw the old house (the one near the river).",
    "",
    "It costs $3.50; that's 10% more than before.",
    "Nobody knows why.",
    "Über die Brücke gehen wir heute.",
    "one",
    "“Quotes” and other — signs…",
    'She said: "No, thank you."',
]


def noisy(seed, rate):
    """The sentences, with words left out, repeated, moved or in capitals."""
    rng = random.Random(seed)
    lines = []
    for sentence in SENTENCES * 3:
        words = [word.upper() if rng.random() < rate / 3 else word for word in sentence.split() if rng.random() > rate]
        if words and rng.random() < rate:
            words.insert(0, words.pop())
        lines.append(" ".join(words))
    return lines


TEXTS = {
    "ref": SENTENCES * 3,
    "ref2": noisy(1, 0.1),
    "base": noisy(2, 0.4),
    "one": noisy(3, 0.15),
    "two": noisy(4, 0.2),
}


def columns(*names):
    """Texts side by side; sacreBLEU cannot read empty ones at the end of a line."""
    return ["\t".join(line or "-" for line in row) for row in zip(*(TEXTS[name] for name in names), strict=True)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    texts = {
        **TEXTS,
        "refs.tsv": columns("ref", "ref2"),
        "systems.tsv": columns("base", "one", "two"),
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def theirs(folder, monkeypatch):
    """Run sacreBLEU's own command in this process; it opens the files of its standard streams again."""

    def run(*arguments, stdin="ref"):
        with (folder / stdin).open() as given, (folder / "out").open("w") as out, monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["sacrebleu", "-q", *arguments])
            patched.setattr(sys, "stdin", given)
            patched.setattr(sys, "stdout", out)
            patched.setattr(Color, "ENABLE_COLORS", True)
            # Its streams must not close the descriptors of ours a second time.
            patched.setattr(sacrebleu, "open", functools.partial(open, closefd=False), raising=False)
            with contextlib.suppress(SystemExit):  # as it ends after scores of sentences
                sacrebleu.main()
            sys.stdout.flush()
        printed = (folder / "out").read_text(encoding="utf-8")
        assert printed, arguments
        return printed

    return run


COMMANDS = [
    "ref -i one",
    "ref ref2 -i one -m bleu chrf ter",
    "ref -i one -m bleu chrf ter -b -w 4",
    "ref -i one -b",
    "ref -i one -m ter chrf bleu -f text -sh -w 3",
    "ref -i one -m bleu chrf --chrf-word-order 2 -lc -tok intl -s floor -sv 0.2 -f text",
    "ref -i one --smooth-method add-k --tokenize char",
    "ref -i one -m chrf -cw 1 -cc 5 --chrf-beta 3 --chrf-lowercase --chrf-whitespace --format text",
    "ref ref2 -i one two -m chrf --chrf-eps-smoothing -f text",
    "ref -i one -m chrf --chrf-eps-smoothing -cw 2 -sl",
    "ref -i one -m ter --ter-case-sensitive --ter-no-punct --ter-normalized --ter-asian-support",
    "ref ref2 -i one -m bleu chrf ter --confidence -f text",
    "ref -i one -m bleu --confidence --confidence-n 100 -w 2",
    "ref -i base one two -m bleu chrf",
    "ref -i base one two -m bleu chrf -f text",
    "ref -i base one two -m bleu chrf -f latex -w 2",
    "ref ref2 -i base one two -m bleu chrf ter --paired-bs -f text --paired-bs-n 200",
    "ref -i base one base two --metrics bleu chrf --paired-ar -f text -parn 500 -sh",
    "ref -i base one -pbs -pbsn 100 -f latex",
    "refs.tsv -nr 2 -i one -m bleu ter",
    "ref -i one -l en-de -tok none",
    "ref -i one -l en-zh",
    "ref ref2 -i one -sl",
    "ref -i one -sl -m chrf -b",
    "ref -i one -sl -m ter -w 4 -sh",
    "ref -m chrf -tok zh -lc -f text",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_output_is_sacrebleus(dragoman, theirs, line):
    found = dragoman("score", "-q", *line.split(), stdin=("\n".join(TEXTS["ref"]) + "\n").encode())
    assert found.code == 0, found.err
    assert found.out == theirs(*line.split())


@pytest.mark.parametrize("line", ["ref -f text", "ref -f text --paired-bs -m chrf", "ref -m bleu"])
def test_systems_in_columns_of_standard_input(dragoman, theirs, folder, line):
    given = (folder / "systems.tsv").read_bytes()
    assert dragoman("score", "-q", *line.split(), stdin=given).out == theirs(*line.split(), stdin="systems.tsv")


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_json_of_paired_tests_has_sacrebleus_numbers(dragoman, folder, test):
    systems = [("Baseline: base", TEXTS["base"]), ("one", TEXTS["one"]), ("two", TEXTS["two"])]
    metrics = {"BLEU": BLEU(references=[TEXTS["ref"]]), "TER": TER(references=[TEXTS["ref"]])}
    _, expected = PairedTest(systems, metrics, None, test_type=test, n_samples=300)()
    line = ["ref", "-i", "base", "one", "two", "-m", "bleu", "ter", f"--paired-{test}", f"--paired-{test}-n", "300"]
    rows = json.loads(dragoman("score", *line).out)
    assert [row["system"] for row in rows] == expected["System"]
    for i, row in enumerate(rows):
        for name in metrics:
            found, known = row[name], expected[name][i]
            assert found["p_value"] == known.p_value
            assert found["score"] == pytest.approx(known.score, rel=1e-12)
            for ours, theirs in ((found["mean"], known.mean), (found["ci"], known.ci)):
                # sacreBLEU computes these in single precision
                assert ours == theirs if theirs is None else ours == pytest.approx(float(theirs), rel=1e-5)


def test_its_variables_are_heeded(dragoman, theirs, monkeypatch):
    monkeypatch.setenv("SACREBLEU_FORMAT", "text")
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    line = ["ref", "-i", "one", "--confidence"]
    assert dragoman("score", *line).out == theirs(*line)
    assert "seed:7" in dragoman("score", *line).out
    assert "seed:3" in dragoman("score", *line, "--seed", "3").out
    assert dragoman("score", "--reference", "ref", "one").out.startswith("ref\n")  # our own command is not changed
    monkeypatch.setenv("SACREBLEU_SEED", "x")
    assert "SACREBLEU_SEED is 'x'" in dragoman("score", *line).error


@pytest.mark.parametrize("options", ["-f text -m bleu chrf", "--format json", "-b -f text", "-sh -sl"])
def test_our_command_prints_the_same_if_asked(dragoman, theirs, options):
    ours = dragoman("score", "--reference", "ref", "-tok", "13a", *options.split(), "-i", "one")
    assert ours.out == theirs("ref", *options.split(), "-i", "one")


def test_decimals_and_confidence_of_our_command(dragoman, folder):
    table = dragoman("score", "--reference", "ref", "-w", "5", "--resamples", "0", "-tok", "13a", "one").out
    expected = BLEU().corpus_score(TEXTS["one"], [TEXTS["ref"]]).score
    assert f" {expected:.5f} " in table
    assert "--confidence and 2 systems" in dragoman("score", "ref", "-i", "one", "two", "--confidence").error


def test_metrics_that_sacrebleu_does_not_have_look_the_same(dragoman, folder):
    (folder / "one.scores").write_text("".join(f"{i / 100}\n" for i in range(30)))
    line = ["ref", "-i", "one", "-m", "precomputed:path={}.scores", "bleu", "wer", "--confidence", "-q"]
    bleu, scores, wer = json.loads(dragoman("score", *line).out)
    assert [one["name"] for one in (bleu, scores, wer)] == ["BLEU", "precomputed", "wer"]
    assert (scores["score"], scores["file"], scores["nrefs"]) == (0.145, "one.scores", "1")
    assert scores["confidence"].startswith("μ = 0.14")
    text = dragoman("score", *line, "-f", "text").out.splitlines()
    assert text[1].lstrip().startswith("precomputed|nrefs:1|file:one.scores|")
    assert " = 0.1450 (μ = 0.14" in text[1]


def test_a_downloaded_test_set_is_used_and_none_is_downloaded(dragoman, folder, monkeypatch):
    monkeypatch.setenv("SACREBLEU", str(folder))
    (folder / "wmt99").mkdir()
    (folder / "ref").rename(folder / "wmt99" / "wmt99.en-de.ref")
    found = dragoman("score", "-t", "wmt99", "-l", "en-de", "-i", "one", "-b")
    assert found.out == dragoman("score", "wmt99/wmt99.en-de.ref", "-i", "one", "-b").out
    missing = dragoman("score", "-t", "wmt17", "-l", "en-de", "-i", "one").error
    assert "has no test set wmt17 for en-de" in missing
    assert "sacrebleu -t wmt17 -l en-de --echo ref" in missing
    assert "needs a language pair" in dragoman("score", "-t", "wmt99", "-i", "one").error
    assert "a test set and references" in dragoman("score", "ref2", "-t", "wmt99", "-l", "en-de", "-i", "one").error


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "there are no references"),
        ("-i one", "there are no references"),
        ("one --reference ref -i two", "found 'one' beside --reference and --input"),
        ("ref -i one one two one two", "two systems have the same name"),
        ("ref -i one --paired-bs", "found 1 system; expected two or more"),
        ("ref -i one two -sl", "expected one of each for scores of sentences"),
        ("ref -i one -sl --confidence", "no statistical tests of single sentences"),
        ("refs.tsv -nr 3 -i one", "refs.tsv:1: found 2 references; expected 3"),
        ("--reference ref one -m chrf -lc", "lowercase=true is for bleu, but the metrics are chrf"),
        ("--reference ref one --format xml", "'xml'"),
    ],
)
def test_what_is_refused(dragoman, folder, line, said):
    found = dragoman("score", *line.split())
    assert found.code in (1, 2)
    assert said in found.err


def test_compare_takes_the_same_files_and_names(dragoman, folder):
    few = ["--samples", "0", "--json"]
    ours = dragoman("compare", "--reference", "ref", *few, "--trials", "50", "--resamples", "60", "base", "one")
    like = dragoman("compare", "ref", "-i", "base", "one", *few, "--paired-ar-n", "50", "--paired-bs-n", "60")
    assert ours.code == 0, ours.err
    assert ours.out == like.out


def test_a_source_and_a_missing_library_are_one_sentence(dragoman, folder):
    line = ["score", "--reference", "ref", "--source", "two", "-m", "comet:model=none", "one"]
    assert "install" in dragoman(*line).error or "cannot load the model" in dragoman(*line).error
    (folder / "short").write_text("one line\n")
    assert "short: has 1 lines, but the reference ref has 30" in dragoman(*line, "--source", "short").error


@pytest.mark.parametrize("flag", ["--echo", "--download", "--list", "--cite", "--origlang", "-d", "--encoding"])
def test_flags_that_are_not_here_say_what_to_do(dragoman, folder, flag):
    result = dragoman("score", "ref", "-i", "one", flag)
    assert result.code != 0
    assert f"{flag} is " in result.err
    assert "expected" in result.err


def test_tokenisers_of_sentencepiece_do_not_download(dragoman, folder, monkeypatch):
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(folder))
    result = dragoman("score", "ref", "-i", "one", "-tok", "flores101")
    assert "Dragoman downloads nothing; expected it as" in result.err
    assert str(folder / "models" / "sacrebleu_tokenizer_spm.model") in result.err
