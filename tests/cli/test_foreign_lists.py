"""Lists as language models' services give them: in any order, with failures, and with numbers missing."""

import json
import random

import pytest

from dragoman import rerank
from dragoman.core.progress import DragomanWarning

SENTENCES = 24
REFERENCES = [f"the house {i} is blue and old" for i in range(SENTENCES)]


def response(name, i, logprobs=(-1.0, -2.0, -3.0)):
    """Three candidates, of which the second is right; most agree with it."""
    texts = [f"a dog {i} barks", REFERENCES[i], f"the house {i} is blue"]
    choices = [
        {"message": {"content": text}, "logprobs": None if p is None else {"content": [{"token": "", "logprob": p}]}}
        for text, p in zip(texts, logprobs, strict=True)
    ]
    return {"custom_id": name, "response": {"status_code": 200, "body": {"choices": choices}}, "error": None}


@pytest.fixture
def written(tmp_path):
    def write(name, rows):
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    return write


@pytest.fixture
def shuffled(written):
    """A batch whose ids are made by `name` of places, in any order."""

    def write(name="req-{}".format, **others):
        rows = [others.get(f"at{i}", response(name(i), i)) | {"custom_id": name(i)} for i in range(SENTENCES)]
        random.Random(3).shuffle(rows)
        return written("batch.jsonl", rows)

    return write


def unordered(i):
    """An id without an order."""
    return f"{(i * 7919) % 9973:x}-{chr(97 + i)}"


CHOOSE = ["--weights-from", "uniform", "--utility", "chrf"]


@pytest.fixture
def choose(dragoman, written):
    """Both commands that choose, on the same lists."""
    weights = written("weights", ["qe 1", "logprob 0"])
    qe = written("qe", [x for _ in range(SENTENCES) for x in ("0", "1", "0.5")])

    def run(batch, *arguments):
        mbr = dragoman("mbr", "--candidates", batch, *CHOOSE, *arguments)
        reranked = dragoman(
            "rerank", "apply", "--candidates", batch, "--weights", weights, "--feature", f"qe={qe}", *arguments
        )
        return mbr, reranked

    return run


def test_a_batch_that_came_in_any_order_is_aligned(choose, shuffled):
    for result in choose(shuffled()):
        assert result.code == 0, result.err
        assert result.out.splitlines() == REFERENCES
        assert "the lists were sorted by their ids, from 'req-0' on" in result.err


def test_ids_without_an_order_are_said_and_follow_an_order_file(choose, shuffled, written):
    batch = shuffled(unordered)
    ids = [json.loads(line)["custom_id"] for line in batch.read_text(encoding="utf-8").splitlines()]
    mbr, _ = choose(batch)
    assert f"{batch}: the ids ('{ids[0]}', '{ids[1]}', ...) have no natural order" in mbr.warnings[0]
    mbr, reranked = choose(batch, "--ids")
    expected = {f"{unordered(i)}\t{REFERENCES[i]}" for i in range(SENTENCES)}
    assert not mbr.warnings
    assert set(mbr.out.splitlines()) == expected
    assert [line.split("\t")[0] for line in mbr.out.splitlines()] == ids
    assert [line.split("\t")[0] for line in reranked.out.splitlines()] == ids
    requests = written("requests.jsonl", [{"custom_id": unordered(i), "body": {}} for i in range(SENTENCES)])
    (mbr, _), shown = choose(batch, "--order", requests), choose(batch, "--order", requests, "--ids")[0]
    assert (mbr.out.splitlines(), mbr.warnings) == (REFERENCES, [])
    assert shown.out.splitlines() == [f"{unordered(i)}\t{REFERENCES[i]}" for i in range(SENTENCES)]
    few = written("few", [unordered(i) for i in range(SENTENCES - 1)])
    for result in choose(batch, "--order", few):
        assert result.code == 1
        assert f"1 lists have an id that {few} has not, the first of them is '{unordered(23)}'" in result.error
    more = written("more", ["none", *(unordered(i) for i in range(SENTENCES))])
    for result in choose(batch, "--order", more)[:1]:
        assert result.out.splitlines() == ["", *REFERENCES]
        assert "1 of 25 lines of" in result.warnings[-1]


def test_sources_say_whose_lists_they_are(dragoman, written):
    rows = [
        {"id": unordered(i), "src": f"maison {i}", "hyps": [{"text": REFERENCES[i]}]}
        for i in (*range(9, 24), *range(9))
    ]
    lists, source = written("lists.jsonl", rows), written("source", [f" maison {i} " for i in range(SENTENCES)])
    found = dragoman("mbr", "--candidates", lists, *CHOOSE, "--source", source)
    assert found.out.splitlines() == REFERENCES
    both = dragoman("mbr", "--candidates", lists, *CHOOSE, "--source", source, "--order", source)
    assert (both.code, "give one of them" in both.error) == (2, True)


FAILED = {
    "at3": {"response": {"status_code": 429, "body": {"error": {"code": "rate_limit_exceeded"}}}},
    "at7": {"response": None, "error": {"code": "batch_expired"}},
}


def test_requests_that_failed_keep_their_lines_or_are_left_out_or_refused(dragoman, shuffled):
    batch = shuffled(**FAILED)
    run = ["mbr", "--candidates", batch, *CHOOSE]
    kept = dragoman(*run)
    assert kept.out.splitlines() == ["" if i in (3, 7) else text for i, text in enumerate(REFERENCES)]
    assert "2 of 24 sentences have no hypotheses and are left empty" in kept.warnings[0]
    assert "'req-3' (rate_limit_exceeded)" in kept.warnings[0]
    assert dragoman(*run, "--failed", "skip").out.splitlines() == [
        text for i, text in enumerate(REFERENCES) if i not in (3, 7)
    ]
    refused = dragoman(*run, "--failed", "refuse")
    assert (refused.code, refused.out, "has no hypotheses (" in refused.error) == (1, "", True)


@pytest.mark.parametrize("failed", [None, "empty", "skip"])
def test_lines_of_numbers_that_failed(dragoman, shuffled, written, failed):
    batch, weights = shuffled(str, **FAILED), written("weights", ["logprob 1"])
    option = [] if failed is None else ["--failed", failed]
    found = dragoman("rerank", "apply", "--candidates", batch, "--weights", weights, *option)
    lines = ["" if i in (3, 7) else f"a dog {i} barks" for i in range(SENTENCES)]
    assert found.out.splitlines() == ([line for line in lines if line] if failed == "skip" else lines)


def test_tuning_leaves_out_what_failed_with_its_reference(dragoman, shuffled, written, tmp_path):
    references = written("ref", REFERENCES)
    arguments = ["rerank", "tune", "--candidates", shuffled(**FAILED), "--out", tmp_path / "w"]
    found = dragoman(*arguments, "--reference", references)
    assert found.code == 0, found.err
    assert "2 of 24 sentences have no hypotheses, and are left out with their references" in found.warnings
    assert float(found.out.splitlines()[4].split()[1]) == pytest.approx(100)  # the oracle
    assert dragoman(*arguments, "--reference", references, "--failed", "refuse").code == 1


def test_references_and_evidence_are_matched_by_ids(dragoman, shuffled, written, tmp_path):
    batch = shuffled(unordered)
    rows = [{"id": unordered(i), "text": REFERENCES[i]} for i in range(SENTENCES)]
    random.Random(5).shuffle(rows)
    tune = ["rerank", "tune", "--candidates", batch, "--out", tmp_path / "w", "--reference"]
    found = dragoman(*tune, written("refs.jsonl", rows))
    assert (found.code, found.warnings) == (0, [])
    assert float(found.out.splitlines()[4].split()[1]) == pytest.approx(100)
    short = dragoman(*tune, written("refs.jsonl", rows[1:]))
    assert f"1 of 24 lists have an id without a reference, the first of them is '{rows[0]['id']}'" in short.error
    # A reader of numbers takes '7' for 7, another one for a string; it is the same sentence.
    numbered = [{"id": str(i), "hyps": [{"text": REFERENCES[i]}]} for i in range(SENTENCES)]
    evidence = written("evidence.jsonl", numbered[::-1])
    other = dragoman(
        "mbr", "--candidates", shuffled(str), "--evidence", evidence, "--evidence-format", "jsonl", *CHOOSE
    )
    assert other.out.splitlines() == REFERENCES
    evidence = written("evidence.jsonl", [*numbered[1:], {"id": "x", "hyps": [{"text": "a"}]}])
    other = dragoman(
        "mbr", "--candidates", shuffled(str), "--evidence", evidence, "--evidence-format", "jsonl", *CHOOSE
    )
    assert "has nothing for the id '0'" in other.error


@pytest.fixture
def holes(written):
    """Two of 72 log-probabilities are missing."""
    given = {2: (-1.0, None, -3.0), 5: (None, -2.0, -3.0)}
    return written("holes.jsonl", [response(f"req-{i}", i, given.get(i, (-1.0, -2.0, -3.0))) for i in range(SENTENCES)])


def names(path):
    return [line.split()[0] for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_missing_log_probabilities_are_refused_dropped_or_filled_in(dragoman, holes, written, tmp_path):
    weights, references = tmp_path / "w", written("ref", REFERENCES)
    qe = written("qe", [x for _ in range(SENTENCES) for x in ("0", "1", "0.5")])
    lists = ["--candidates", holes, "--feature", f"qe={qe}"]
    tune = ["rerank", "tune", *lists, "--reference", references, "--out", weights]
    refused = dragoman(*tune)
    assert refused.code == 1
    place = "hypothesis 2 of the sentence with the id 'req-2'"
    assert f"{holes}: 2 of 72 hypotheses have no 'logprob', the first of them is {place}; expected" in refused.error
    assert not weights.exists()
    assert dragoman(*tune, "--missing", "drop").code == 0
    assert names(weights) == ["qe", "logprob"]
    assert dragoman(*tune, "--missing", "-20").code == 0
    assert names(weights) == ["qe", "logprob", "logprob.missing"]
    apply = ["rerank", "apply", "--weights", weights]
    assert "2 of 72 hypotheses have no 'logprob'" in dragoman(*apply, *lists, "--missing", "refuse").error
    out = tmp_path / "sorted.jsonl"
    found = dragoman(*apply, *lists, "--out", out)  # the weights' file says what to do with missing numbers
    assert any("they get -20, and 1 as 'logprob.missing'" in one for one in found.warnings)
    assert found.out.splitlines() == REFERENCES
    with pytest.warns(DragomanWarning, match="they get -20"):
        assert rerank(holes, weights, features={"qe": [0.0, 1.0, 0.5] * SENTENCES}) == REFERENCES
    whole = written("whole.jsonl", [response(f"req-{i}", i) for i in range(SENTENCES)])
    again = dragoman(*apply, "--candidates", whole, "--feature", f"qe={qe}")
    assert (again.code, again.out.splitlines()) == (0, REFERENCES)
    none = written("none.jsonl", [response(f"req-{i}", i, (None, None, None)) for i in range(SENTENCES)])
    lacking = dragoman(*apply, "--candidates", none, "--feature", f"qe={qe}")
    assert "has a weight for 'logprob', which no hypothesis has" in lacking.error


def test_numbers_of_a_feature_file_are_those_of_the_file_as_it_stands(dragoman, shuffled, written):
    batch = shuffled()
    names = [json.loads(line)["custom_id"] for line in batch.read_text(encoding="utf-8").splitlines()]
    # Of even sentences the first candidate is the best, of odd ones the second.
    rows = [(1, 0, 0) if int(name.removeprefix("req-")) % 2 == 0 else (0, 1, 0) for name in names]
    qe = written("own", [str(x) for row in rows for x in row])
    weights = written("only", ["qe 1", "logprob 0"])
    result = dragoman("rerank", "apply", "--candidates", batch, "--weights", weights, "--feature", f"qe={qe}")
    wanted = [REFERENCES[i] if i % 2 else f"a dog {i} barks" for i in range(SENTENCES)]
    assert result.out.splitlines() == wanted
    assert rerank(batch, weights, features={"qe": [x for row in rows for x in row]}) == wanted


def test_lines_of_a_feature_file_may_be_missing(dragoman, written, tmp_path):
    lists = written("lists.jsonl", [response(f"req-{i}", i) for i in range(SENTENCES)])
    qe = written("qe", ["nan", "1", "", *(x for _ in range(SENTENCES - 1) for x in ("0", "1", "0.5"))])
    tune = ["rerank", "tune", "--candidates", lists, "--reference", written("ref", REFERENCES), "--out", tmp_path / "w"]
    refused = dragoman(*tune, "--feature", f"qe={qe}")
    assert "2 of 72 hypotheses have no 'qe', the first of them is hypothesis 1 of the sentence with" in refused.error
    assert dragoman(*tune, "--feature", f"qe={qe}", "--missing", "0").code == 0
    assert names(tmp_path / "w") == ["qe", "qe.missing", "logprob"]


def test_missing_weights_of_evidence_are_said(dragoman, holes):
    found = dragoman("mbr", "--candidates", holes)
    place = "hypothesis 2 of the sentence with the id 'req-2'"
    assert f"2 of 72 hypotheses have no finite log-probability, the first of them is {place}" in found.error


def test_a_table_with_log_probabilities_is_written_back(dragoman, written, tmp_path):
    lists = written("lists.csv", ["id,text,logprob,qe", "s10,c,-1,0", "s2,a,-2,0", "s2,b,-1,1"])
    weights, out = written("weights", ["qe 1", "logprob 0"]), tmp_path / "out.csv"
    found = dragoman("rerank", "apply", "--candidates", lists, "--weights", weights, "--out", out)
    assert (found.code, found.out) == (0, "b\nc\n"), found.err
    assert out.read_text(encoding="utf-8").splitlines() == [
        "id,text,score,logprob,qe",
        "s2,b,1.0,-1.0,1.0",
        "s2,a,0.0,-2.0,0.0",
        "s10,c,0.0,-1.0,0.0",
    ]


def test_formats_in_which_nothing_can_fail_say_so(dragoman, written):
    lists = written("lists", ["0 ||| a ||| lm= 1 ||| -1"])
    found = dragoman("mbr", "--candidates", lists, "--failed", "skip")
    assert (found.code, "--failed is for formats of JSON" in found.error) == (2, True)
