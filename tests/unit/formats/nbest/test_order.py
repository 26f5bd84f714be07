"""The order of sentences: by ids that have one, as somebody wants it by ids or sources, and what is said about it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dragoman.core.errors import DataError
from dragoman.core.progress import ProgressRecorder
from dragoman.core.runtime import Runtime
from dragoman.formats.nbest.format import read_nbest
from dragoman.formats.nbest.jsonl import JsonlNBest
from dragoman.formats.nbest.order import IdOrderCheck, RequestedOrder, read_ids, read_texts, sort_keys


@pytest.fixture
def written(tmp_path):
    def write(text, name="in"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


@pytest.fixture
def lists(written):
    """Lists with these ids, the text of which says whose they are; sources if there are some."""

    def read(ids, sources=None, **options):
        rows = [{"id": name, "hyps": [{"text": f"of {name}"}]} for name in ids]
        for row, source in zip(rows, sources or (), strict=sources is not None):
            row["src"] = source
        return JsonlNBest(**options).read(written("".join(json.dumps(row) + "\n" for row in rows), "lists"))

    return read


@pytest.mark.parametrize(
    "ids",
    [
        [-1, 0, 2, 10],
        ["req-2", "req-17", "req-117"],
        ["sent_0003.txt", "sent_0010.txt", "sent_12000.txt"],
        ["batch2-req-7", "batch2-req-10"],
        ["0007", "0010", "10000"],
        ["9", "9" + "0" * 5000],
        ["7z7", "12z7"],
    ],
)
def test_ids_that_are_alike_but_for_a_number_have_an_order(ids):
    for order in (ids, ids[::-1], ids[1:] + ids[:1]):
        keys = sort_keys(order)
        assert [order[i] for i in sorted(range(len(order)), key=keys.__getitem__)] == ids


@pytest.mark.parametrize("ids", [["a", "b"], ["req-1", "REQ-2"], [1, "a"], ["a1", "a"], ["1-1", "2-3"], ["a٣", "a٢"]])
def test_other_ids_have_none(ids):
    assert sort_keys(ids) is None


SHUFFLED = {
    "openai": [
        '{"custom_id": "req-%d", "response": {"status_code": 200, "body": {"choices": [{"text": "of %d"}]}}}\n',
        '{"custom_id": "req-%d", "choices": [{"text": "of %d"}]}\n',
    ],
    "jsonl": ['{"id": "req-%d", "hyps": [{"text": "of %d"}]}\n'],
    "vllm": ['{"id": "req-%d", "outputs": [{"text": "of %d"}]}\n'],
    "ctranslate2": ['{"id": "req-%d", "hypotheses": [["of", "%d"]]}\n'],
    "sockeye": ['{"sentence_id": "req-%d", "translation": "of %d"}\n'],
    "huggingface": [
        '{"id": "req-%d", "translation_text": "of %d"}\n',
        '{"id": "req-%d", "generated_text": ["of %d"]}\n',
    ],
    "csv": ["req-%d,of %d\n"],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in SHUFFLED.items() for line in lines])
def test_formats_whose_lines_come_in_any_order_are_sorted(written, name, line):
    head = "id,text\n" if name == "csv" else ""
    path = written(head + "".join(line % (i, i) for i in (17, 2, 101)))
    said = ProgressRecorder()
    nbest = read_nbest(path, name, sentences=3, runtime=Runtime(progress=said))
    numbers = [2, 17, 101] if name in ("openai", "csv") else [17, 2, 101]
    assert nbest.sentence_ids == tuple(f"req-{i}" for i in numbers)
    assert nbest.texts() == [f"of {i}" for i in numbers]
    note = [("note", f"{path}: the lists were sorted by their ids, from 'req-2' on")]
    assert said.messages == (note if numbers[0] == 2 else [])


def test_numbers_with_zeros_in_front_stay_strings(written):
    line = '{"custom_id": "%s", "choices": [{"text": "of %s"}]}\n'
    assert read_nbest(written("".join(line % (x, x) for x in ("1000", "0002")))).ids == ("0002", "1000")
    assert read_nbest(written("".join(line % (x, x) for x in ("10", "2")))).ids == (2, 10)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([0, 1, 5], []),
        (["s1", "s2", "s10"], []),
        (
            [0, 5, 1, 9, 2],
            ["in the order of their ids ('5' before '1'), and the output follows the file; --order"],
        ),
        (
            ["s2", "s10", "s1"],
            ["in the order of their ids ('s10' before 's1'), and the output follows"],
        ),
        (["b", "a", "c"], ["the ids ('b', 'a', ...) have no natural order; the order of the file is kept; --order"]),
    ],
)
def test_what_streams_by_out_of_order_is_said(lists, ids, said):
    seen, found = IdOrderCheck(), ProgressRecorder()
    blocks = seen.watch(replace(lists([name]), ids=(name,)) for name in ids)
    assert [block.sentence_ids for block in blocks] == [(name,) for name in ids]
    seen.warn("lists", runtime=Runtime(progress=found))
    assert len(found.messages) == len(said)
    assert all(text in told for text, (_, told) in zip(said, found.messages, strict=True))


@pytest.mark.parametrize(
    "text", ["b\na\n\nc\n", '{"custom_id": "b", "body": {}}\n{"id": "a"}\n{"id": "x", "custom_id": "c"}\n']
)
def test_an_order_is_a_file_of_ids_or_the_requests_of_a_batch(written, lists, text):
    wanted = RequestedOrder("order", ids=read_ids(written(text, "order")))
    found, said = lists(["c", "b"]), ProgressRecorder()
    arranged = wanted.arrange(found, "lists", runtime=Runtime(progress=said))
    assert arranged.ids == ("b", "a", "c")
    assert arranged.texts() == ["of b", "of c"]
    assert np.diff(arranged.sentences).tolist() == [1, 0, 1]
    assert said.messages == [
        ("warn", "lists: 1 of 3 lines of order have no list, the first of them is line 2, 'a'; they are left empty")
    ]
    with pytest.raises(DataError, match="lists: 1 lists have an id that order has not, the first of them is 'd'"):
        wanted.arrange(lists(["c", "d"]), "lists")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\nb\na\n", "order: the id 'a' occurs twice; expected each id once"),
        ('{"id": "a"}\n{"name": "b"}\n', 'order:2: found \'{"name": "b"}\', without an id; expected'),
        ('{"id": "a"}\nb\n', "order:2: found 'b', which is not JSON"),
    ],
)
def test_a_file_that_is_no_order_is_refused(written, text, said):
    with pytest.raises(DataError) as error:
        read_ids(written(text, "order"))
    assert said in str(error.value)


def test_what_belongs_to_sentences_goes_with_them(lists, tmp_path):
    found = lists(["c", "b"], ["vier", " drei "])
    arranged = RequestedOrder("source", sources=["drei", "vier"]).arrange(found, "lists")
    assert (arranged.ids, arranged.sources, arranged.texts()) == (("b", "c"), (" drei ", "vier"), ["of b", "of c"])
    wanted, quiet = RequestedOrder("order", ids=["b", "x", "c"]), Runtime(progress=ProgressRecorder())
    JsonlNBest().write(tmp_path / "out", wanted.arrange(found, "lists", runtime=quiet))
    rows = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["src"], len(row["hyps"])) for row in rows] == [
        ("b", " drei ", 1),
        ("x", "", 0),
        ("c", "vier", 1),
    ]


@pytest.mark.parametrize(
    ("ids", "sources", "lines", "said"),
    [
        (
            ["a", "b"],
            ["x", "x"],
            ["x", "x"],
            "lists: 2 lists are of the source 'x', which is on 2 lines of source; expected as many, with",
        ),
        (["s2", "s1"], ["x", "x"], ["x", "y"], "lists: 2 lists are of the source 'x', which is on 1 lines of source"),
        (["s2", "s1"], ["x", "y"], ["x", "z"], "lists: there is a list of the source 'y'; expected a line of source"),
        (["s2", "s1"], ["x", "y"], ["x", "z", "y"], "lists: no list is of line 2 of source, 'z'; expected one"),
        (["s2", "s1"], None, ["x", "z"], "lists: the lists do not say what they translate; expected sources, or"),
    ],
)
def test_sources_that_do_not_decide_are_refused(lists, ids, sources, lines, said):
    with pytest.raises(DataError) as error:
        RequestedOrder("source", sources=lines).arrange(lists(ids, sources), "lists")
    assert said in str(error.value)


def test_of_equal_sources_ids_decide(lists):
    found = lists(["s2", "s10", "s1"], ["x", "x", "y"])
    assert RequestedOrder("source", sources=["x", "y", "x"]).arrange(found, "lists").texts() == [
        "of s2",
        "of s1",
        "of s10",
    ]


def test_texts_by_id(written):
    assert read_texts(written("plain\ntext\n")) is None
    assert read_texts(written('{"id": 1, "text": "a"}\n{"custom_id": "r", "reference": "b"}\n')) == {"1": "a", "r": "b"}
    with pytest.raises(DataError, match="the reference with the id 'r' has no text; expected a string under text or"):
        read_texts(written('{"id": "r"}\n'))
