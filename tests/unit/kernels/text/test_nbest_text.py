"""The kernels that parse and format n-best lists, against slow twins."""

import math

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from dragoman import kernels
from dragoman.core.corpus import Vocab
from dragoman.core.ragged import Ragged
from oracles import nbest as oracle

SPACES = st.sampled_from([b" ", b" ", b" ", b"  ", b"\t"])
WORDS = st.sampled_from([b"a", b"b", b"<s>", b"|", b"||", b"\xc3\xa9", b"|0-|", b"|4294967296-0|", b"|3|"])
MARKS = st.sampled_from([b"|0-1|", b"|2-2|", b"|3-2|", b"|2147483646-2147483647|"])
GOOD = st.sampled_from([b"0", b"-1.5", b"2.50", b"1e-05", b".5", b"-0"])
ODD = st.sampled_from(b"inf nan -inf 1e999 1e-999 0x1 +1 1,5 - 1e 5. x".split())
NAMES = st.sampled_from([b"lm", b"tm", b"a=b", b"w:", b"d"])


@st.composite
def joined(draw, items, **sizes):
    return b"".join(item + draw(SPACES) for item in draw(st.lists(items, **sizes)))


@st.composite
def features(draw, grouped, odd):
    names = draw(st.lists(NAMES, max_size=4, unique=not odd))
    numbers = GOOD | ODD if odd else GOOD
    tokens = []
    for name in names:
        if grouped:
            count = draw(st.integers(0, 3)) if odd else {b"tm": 3}.get(name, 1)
            tokens += [name + draw(st.sampled_from([b"=", b":"])), *(draw(numbers) for _ in range(count))]
        else:
            tokens.append(name + b"=" + draw(numbers))
    if odd and draw(st.booleans()):
        tokens.insert(draw(st.integers(0, len(tokens))), draw(st.sampled_from([b"x", b"=", b"=1", b"1", b"lm="])))
    return b"".join(token + draw(SPACES) for token in tokens)


@st.composite
def lines(draw, grouped, score_first, odd=False):
    number = str(draw(st.integers(0, 9))).encode()
    words = draw(joined(WORDS | MARKS if odd and grouped else WORDS, max_size=4))
    score = draw(joined(GOOD | ODD if odd else GOOD, max_size=2 if odd else 1))
    columns = [draw(features(grouped, odd)), score]
    fields = [number, words, *(columns[::-1] if score_first else columns), b" 0-0 1-1 ", b""]
    if odd:
        number = draw(st.sampled_from([b"", b"x", b"-1", b"1.5", b"9223372036854775808", b"3"]))
        fields[0] = number
    bars = draw(st.sampled_from([b"|||", b" ||| ", b"  ||| "]))
    return bars.join(fields[: draw(st.sampled_from([4, 4, 5, 6, *([3, 1] if odd else [])]))]) + draw(
        st.sampled_from([b"", b"\r", b" "])
    )


@st.composite
def texts(draw):
    grouped, score_first = draw(st.booleans()), draw(st.booleans())
    found = draw(st.lists(lines(grouped, score_first), max_size=5))
    if draw(st.booleans()):
        found.insert(draw(st.integers(0, len(found))), draw(lines(grouped, score_first, odd=True) | st.just(b"")))
    return grouped, score_first, b"\n".join(found)


def texts_in(arrays):
    return kernels.Texts(values=arrays[0], offsets=arrays[1])


def parse(text, grouped, score_first, labels=(np.empty(0, np.uint8), np.zeros(1, np.int64)), counts=()):
    return kernels.parse_nbest(
        np.frombuffer(text, np.uint8),
        Vocab.of().for_kernels(),
        texts_in(labels),
        np.array(counts, np.int32),
        grouped,
        score_first,
    )


def rows_of(parsed):
    ids, words, values, scores, phrases, rest, vocab, labels, counts, _, _ = parsed
    vocab = [*Vocab(*vocab)]
    blob = labels[0].tobytes()
    names = [
        (blob[labels[1][i] : labels[1][i + 1]], k) for i, count in enumerate(counts.tolist()) for k in range(count)
    ]
    for h in range(len(scores)):
        part = slice(values[0][h], values[0][h + 1])
        yield (
            int(ids[h]),
            [vocab[w].encode() for w in words[0][words[1][h] : words[1][h + 1]]],
            [tuple(row) for row in phrases[0][phrases[1][h] : phrases[1][h + 1]].reshape(-1, 4).tolist()],
            {names[i]: value for i, value in zip(values[1][part].tolist(), values[2][part].tolist(), strict=True)},
            float(scores[h]),
            rest[0][rest[1][h] : rest[1][h + 1]].tobytes(),
        )


@given(texts())
def test_lines_are_parsed_as_by_the_twin(lists):
    grouped, score_first, text = lists
    parsed = parse(text, grouped, score_first)
    expected, (kind, line) = oracle.parse_nbest(text, grouped, score_first)
    assert parsed[-1][:2] == (kind, line)
    if not kind:
        assert repr([*rows_of(parsed)]) == repr(expected)  # as text, because NaN is not NaN


def test_labels_go_on_in_the_next_chunk():
    first = parse(b"0 ||| a ||| tm= 1 2 lm= 3 ||| 0\n", True, False)
    second = parse(b"1 ||| a ||| lm= 1 d= 5 tm= 7 8 ||| 0\n", True, False, first[7][:2], first[8])
    assert second[2][1].tolist() == [2, 3, 0, 1]
    third = parse(b"1 ||| a ||| tm= 7 ||| 0\n", True, False, first[7][:2], first[8])
    assert third[-1][:2] == (8, 0)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        (b"0 ||| a  ||| x= 1.50 ||| 2.25", (2, 2, 0, 1, 0)),
        (b"0||| a ||| x: 1.5 ||| 2", (0, 1, 1, 0, 1)),
        (b"0 |||  ||| x= 1e5 ||| 2.5", (-1, 1, 0, -1, 0)),
        (b"", (2**63 - 1, -1, -1, -1, -1)),
    ],
)
def test_style(text, style):
    assert parse(text, True, False)[9] == style


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), max_size=5))
@example([[2.0**-24, 1e22, 12345678.0], [2.0**60, -1e-5, 5e-324]])
def test_numbers_are_written_with_as_few_digits_as_it_takes(rows):
    table = np.array(rows, np.float64).reshape(-1, 3)
    text = kernels.format_number_columns(table).tobytes()
    assert text == b"".join("\t".join(map(oracle.format_number, row)).encode() + b"\n" for row in table.tolist())
    again, fault = kernels.parse_number_columns(np.frombuffer(text, np.uint8), 3)
    assert fault[0] == 0
    assert again.tobytes() == table.tobytes()


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        (b"1\t2\n3\n", 8, 1),
        (b"1\t2\n3\t4\t5\n", 8, 1),
        (b"1\tx\n", 6, 0),
        (b"1\t2\n\n", 6, 1),
        (b"1\t\n", 6, 0),
        (b"1\tnan", 7, 0),
        (b" 1 \t 2\r\n", 0, 1),
    ],
)
def test_bad_columns(text, kind, line):
    _, fault = kernels.parse_number_columns(np.frombuffer(text, np.uint8), 2)
    assert fault[:2] == (kind, line)


def test_decimals_are_kept_where_they_are_enough():
    def written(value, decimals):
        parsed = parse(b"0 ||| a ||| x=1 ||| 1", False, False)
        columns = kernels.NBestColumns(
            ids=parsed[0],
            words=Ragged(*parsed[1]).for_kernels(),
            vocab=texts_in(parsed[6]),
            features=kernels.FeatureRows(offsets=parsed[2][0], ids=parsed[2][1], values=np.array([value])),
            scores=np.array([math.nan]),
        )
        labels = kernels.NBestLabels(
            of_features=np.zeros(1, np.int32), first=np.zeros(1, np.int32), texts=texts_in(parsed[7])
        )
        style = kernels.NBestStyle(
            grouped=False, score_first=False, tight=False, padded=False, colon=False, decimals=decimals
        )
        return kernels.format_nbest(0, 1, columns, labels, style).tobytes()

    assert written(-172.0, 3) == b"0 ||| a ||| x=-172.000 ||| \n"
    assert written(0.12345, 3) == b"0 ||| a ||| x=0.12345 ||| \n"
    assert written(1e300, 2) == f"0 ||| a ||| x={1e300:.2f} ||| \n".encode()
    assert written(1e6, 0) == b"0 ||| a ||| x=1000000 ||| \n"
    assert written(1e6, -1) == b"0 ||| a ||| x=1e+06 ||| \n"
