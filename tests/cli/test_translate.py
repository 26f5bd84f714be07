"""`dragoman translate`: one line out for each line in, and everything that can be asked for on the side."""

import json
import signal
import subprocess

import pytest

import dragoman as dm
from dragoman.cli.shell.flags import ModelMachine
from dragoman.core.feature_rows import Weights
from dragoman.forest.derivation import best_derivation
from dragoman.formats.hypergraph_jsonl import read_hypergraphs
from dragoman.formats.nbest.format import read_nbest
from dragoman.model.bundle import Model


def text_of(pairs):
    return "".join(f"{' '.join(pair.source)}\n" for pair in pairs).encode()


def test_known_sentences_come_out_as_they_were_learnt(dragoman, model, toy):
    pairs = toy.pairs[:40]
    result = dragoman("translate", "--model", model, stdin=text_of(pairs))
    assert result.code == 0
    lines = result.out.split("\n")
    assert len(lines) == 41
    right = sum(line == " ".join(pair.target) for line, pair in zip(lines, pairs, strict=False))
    assert right >= 30


def test_empty_lines_and_control_characters_keep_their_place(dragoman, model, toy):
    line = " ".join(toy.pairs[0].source).encode()
    result = dragoman("translate", "--model", model, stdin=b"\n" + line + b"\n\x00 \x07\n\r\n" + line)
    assert result.code == 0
    lines = result.out.split("\n")
    assert len(lines) == 6
    assert lines[0] == ""
    assert lines[3] == ""
    assert lines[1] == lines[4]


def test_threads_give_the_same_lines(dragoman, model, toy):
    outs = {dragoman("translate", "--model", model, "--threads", n, toy.source).out for n in (1, 2, 3)}
    assert len(outs) == 1


@pytest.mark.slow
def test_everything_on_the_side_agrees(dragoman, model, toy, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(text_of(toy.pairs[:20]))
    files = {name: tmp_path / name for name in ("details", "list.gz", "graphs.jsonl.xz", "one.svg", "links")}
    result = dragoman(
        "translate", "--model", model, source, "--details", files["details"], "--nbest", 5, "--nbest-out",
        files["list.gz"], "--hypergraphs", files["graphs.jsonl.xz"], "--picture", files["one.svg"], "--show",
        "--alignment-out", files["links"],
    )  # fmt: skip
    assert result.code == 0
    details = [json.loads(line) for line in files["details"].read_text(encoding="utf-8").splitlines()]
    lists = read_nbest(files["list.gz"])
    graphs = list(read_hypergraphs(files["graphs.jsonl.xz"]))
    weights = Model.load(model).weights
    assert len(details) == len(lists) == len(graphs) == 20
    for i, (row, graph) in enumerate(zip(details, graphs, strict=True)):
        first = int(lists.sentences[i])
        assert row["text"] in result.out
        assert row["text"] == lists.line(first)
        assert row["score"] == pytest.approx(lists.scores[first])
        assert row["score"] == pytest.approx(sum(weights[n] * v for n, v in row["features"].items()))
        assert row["score"] == pytest.approx(best_derivation(graph).score)
        covered = sorted(w for p in row["phrases"] for w in range(*p["source"]))
        assert covered == list(range(len(row["source"].split())))
    links = files["links"].read_text(encoding="utf-8").split("\n")[:-1]
    for row, line in zip(details, links, strict=True):
        assert line.split() == [
            f"{s}-{t}" for s, t in sorted(map(tuple, (x for p in row["phrases"] for x in p["links"])))
        ]
    assert "<svg" in files["one.svg"].read_text(encoding="utf-8")
    assert "    score " in result.out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["moses", "joshua", "travatar", "jsonl", "csv"])
def test_nbest_formats_read_back(dragoman, model, toy, tmp_path, name):
    out = tmp_path / "list"
    source = toy.folder / "s"
    arguments = ["--nbest", 3, "--nbest-out", out, "--nbest-format", name]
    assert dragoman("translate", "--model", model, source, *arguments).code == 0
    lists = read_nbest(out, name)
    assert len(lists) == 250
    lines = [lists.line(h) for h in range(len(lists.scores))]
    for i in range(len(lists)):
        part = lines[int(lists.sentences[i]) : int(lists.sentences[i + 1])]
        assert 1 <= len(part) <= 3
        assert len(set(part)) == len(part)


def test_lists_are_those_of_python_and_derivations_an_option(dragoman, model, toy, tmp_path):
    lines = text_of(toy.pairs[:5])
    out, system = tmp_path / "list", dm.load(model)
    for option, distinct in ((), True), (("--derivations",), False):
        dragoman("translate", "--model", model, "--nbest", 20, "--nbest-out", out, *option, stdin=lines)
        lists = read_nbest(out)
        for i, line in enumerate(lines.decode().splitlines()):
            wanted = system.nbest(line, 20, distinct=distinct)
            assert lists.list(i).texts() == wanted.texts()
            assert distinct == (len(set(wanted.texts())) == len(wanted.texts()))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--algorithm", "stack"],
        ["--exhaustive", "--reordering-limit", "1"],
        ["--climb", "gloss"],
        ["--climb", "beam"],
        ["--reordering-limit", "-1"],
    ],
)
def test_other_searches(dragoman, model, toy, arguments):
    result = dragoman("translate", "--model", model, *arguments, stdin=text_of(toy.pairs[:10]))
    assert result.code == 0
    assert all(result.out.split("\n")[:10])


def test_forced_translations(dragoman, model, toy, tmp_path):
    targets = tmp_path / "targets"
    wanted = [" ".join(toy.pairs[0].target), "no such words"]
    targets.write_text("".join(f"{line}\n" for line in wanted), encoding="utf-8")
    source = text_of([toy.pairs[0], toy.pairs[0]])
    result = dragoman("translate", "--model", model, "--force", targets, stdin=source)
    assert result.code == 0
    assert result.out == f"{wanted[0]}\n\n"
    assert "1 of 2 translations can be reached" in result.err
    lists = tmp_path / "lists"
    more = ["--nbest", 2, "--nbest-out", lists, "--hypergraphs", tmp_path / "graphs"]
    assert dragoman("translate", "--model", model, "--force", targets, *more, stdin=source).out == result.out
    assert {line.split(" ||| ")[1].strip() for line in lists.read_text(encoding="utf-8").splitlines()} == {wanted[0]}
    assert len(list(read_hypergraphs(tmp_path / "graphs"))) == 1
    result = dragoman("translate", "--model", model, "--force", targets, stdin=source + source)
    assert result.code == 1
    assert "fewer targets" in result.error


def test_a_forced_translation_of_a_sentence_that_is_too_large_is_left_out(dragoman, model, toy, tmp_path):
    targets = tmp_path / "targets"
    targets.write_text("".join(f"{' '.join(pair.target)}\n" for pair in toy.pairs[:8]), encoding="utf-8")
    result = dragoman("translate", "--model", model, "--force", targets, "--max-size", 25, stdin=text_of(toy.pairs[:8]))
    assert result.code == 0, result.err
    found = [bool(line) for line in result.out.splitlines()]
    assert any(found)
    (warning,) = result.warnings
    assert warning.startswith(f"{found.count(False)} sentences were skipped: the search for all derivations needs")


def test_a_table_of_many_batches_has_one_head(dragoman, model, toy, tmp_path):
    out = tmp_path / "list"
    arguments = ["--nbest", 2, "--nbest-out", out, "--nbest-format", "csv"]
    assert dragoman("translate", "--model", model, toy.source, *arguments).code == 0
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("id,")] == lines[:1]
    assert read_nbest(out).sentence_ids == (*range(250),)


def test_markup(dragoman, model):
    result = dragoman("translate", "--model", model, "--markup", stdin=b'<x translation="la la">xyz</x>\n')
    assert (result.code, result.out) == (0, "la la\n")
    result = dragoman("translate", "--model", model, "--markup", stdin=b"<x>xyz</x>\n")
    assert result.code == 1
    assert "without a translation" in result.error


def test_weights_that_do_not_fit_are_named(dragoman, model, tmp_path):
    weights = Model.load(model).weights
    file = tmp_path / "weights"
    for text, found in [
        (weights.updated({"lmm": 1.0}).format(), "lmm"),
        (Weights({n: v for n, v in weights.items() if n != "lm"}).format(), "no weight for lm"),
        (weights.format().replace(f"lm {weights['lm']!r}", "lm nan"), "the weight of lm is 'nan'"),
    ]:
        file.write_text(text, encoding="utf-8")
        result = dragoman("translate", "--model", model, "--weights", file, stdin=b"x\n")
        assert result.code == 1
        assert str(file) in result.error
        assert found in result.error
    file.write_text(weights.format(), encoding="utf-8")
    assert dragoman("translate", "--model", model, "--weights", file, stdin=b"x\n").code == 0


def test_odd_combinations_are_refused(dragoman, model, tmp_path):
    assert dragoman("translate", "--model", model, "--nbest", 5).code == 2
    out = tmp_path / "list"
    result = dragoman("translate", "--model", model, "--climb", "gloss", "--nbest", 2, "--nbest-out", out, stdin=b"x\n")
    assert result.code == 2
    assert not out.exists()


def test_a_reader_that_goes_away_gets_no_traceback(command, model, toy):
    shell = f"yes '{' '.join(toy.pairs[0].source)}' | {command} translate --model {model} | head -2"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 2
    assert done.stderr == ""


def test_ctrl_c_ends_soon_and_leaves_whole_lines(command, model, toy, tmp_path):
    source = tmp_path / "source"
    long = " ".join(word for pair in toy.pairs[:60] for word in pair.source)
    source.write_text(f"{' '.join(toy.pairs[0].source)}\n" * 64 + f"{long}\n" * 50, encoding="utf-8")
    arguments = [
        "translate",
        "--model",
        model,
        "--algorithm",
        "stack",
        "--stack-size",
        "5000",
        "--threads",
        "1",
        source,
    ]
    process = subprocess.Popen([command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)  # all of the text would take several minutes
    assert process.returncode == 130
    assert (first + rest).endswith(b"\n")
    assert b"Traceback" not in errors


def test_weights_that_overflow_are_an_error_with_a_name(dragoman, model, toy, tmp_path):
    weights = tmp_path / "weights"
    Model.load(model).weights.updated({"word_penalty": 1e308}).write(weights)
    result = dragoman("translate", "--model", model, "--weights", weights, stdin=text_of(toy.pairs[:3]))
    assert result.code == 1
    assert "word_penalty is" in result.error
    assert not result.out


def test_only_workers_of_a_cluster_need_a_digest_of_the_model(tmp_path):
    with ModelMachine(threads=3).open_for(tmp_path / "not read") as runtime:
        assert (runtime.threads, runtime.workers.count) == (3, 3)
