"""The kernels that parse and format lines of tables, ARPA files and links, against slow twins."""

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from dragoman import kernels
from dragoman.core.corpus import Vocab, texts_of
from dragoman.core.ragged import Ragged
from dragoman.formats.pair_lines import points_of
from oracles import line_formats as oracle

pytestmark = pytest.mark.slow

ODD_NUMBERS = b".5 5. 1E+2 -1 -0 1e39 1e-400 1e400 inf -inf nan 1_0 0x1 +1 1,5 e5 - 1e --1"
NUMBERS = st.sampled_from(ODD_NUMBERS.split()) | st.floats(0, 1, width=32).map(lambda x: repr(x).encode())
GOOD_NUMBERS = st.sampled_from(b"0 1 0.5 1e-3 1e-50".split())
WORDS = st.sampled_from([b"a", b"b", b"<s>", b"|", b"||", b"\x00", b"\xc2\xa0"])
SPACES = st.sampled_from([b" ", b" ", b"\t", b"  ", b"\r"])


def array(data):
    return np.frombuffer(data, np.uint8)


@st.composite
def joined(draw, items, **sizes):
    return b"".join(item + draw(SPACES) for item in draw(st.lists(items, **sizes)))


@st.composite
def table_texts(draw):
    """Lines that are right, but for at most one of them."""
    lines = draw(st.lists(table_lines(), max_size=5))
    if draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), draw(table_lines(odd=True)))
    return b"\n".join(lines)


@st.composite
def table_lines(draw, odd=False):
    separator = draw(st.sampled_from([b"|||", b" ||| ", b" ||||"]))
    phrases = [draw(joined(WORDS, min_size=1, max_size=3)) for _ in range(2)]
    scores = draw(joined(GOOD_NUMBERS, min_size=2, max_size=2))
    points = draw(joined(st.just(b"0-0"), max_size=2))
    counts = draw(joined(GOOD_NUMBERS, min_size=3, max_size=3) | joined(GOOD_NUMBERS, max_size=2))
    fields = [*phrases, scores, points, counts, b" x ", b""]
    if odd:
        spoilt = draw(st.integers(0, 4))
        bad_points = b"0-1 1-0 2-2 0 0-x -1-0 0-4294967296".split()
        some = [
            st.just(b""),
            st.just(b"a " * 256),
            joined(NUMBERS, max_size=3),
            joined(st.sampled_from(bad_points), max_size=2),
        ]
        fields[spoilt] = draw(st.one_of(some))
    return separator.join(fields[: draw(st.sampled_from([3, 4, 5, 6, 7] + [2] * odd))])


def lines_of(line):
    return st.lists(line | st.just(b""), max_size=6).map(b"\n".join)


@given(table_texts(), st.sampled_from([0, 2, 1]), st.sampled_from([True, True, False]))
def test_parse_table(text, columns, extras):
    start = Vocab.of()
    sources, targets, scores, points, counts, source_list, target_list, further, fault = kernels.parse_table(
        array(text), start.for_kernels(), start.for_kernels(), columns, extras
    )
    rows, expected_fault = oracle.parse_table(text, columns, extras)
    assert fault[:2] == expected_fault
    assert 0 <= fault[2] <= fault[3] <= len(text)
    if fault[0]:
        return  # the arrays of a failed parse are not used
    for (ids, offsets), words, column in ((sources, source_list, 0), (targets, target_list, 1)):
        vocab = Vocab(*words)
        assert vocab.decode(ids, offsets) == b"".join(b" ".join(row[column]) + b"\n" for row in rows)
        assert vocab.encode(vocab.decode(ids, offsets))[0].tolist() == ids.tolist()
    assert scores.tolist() == [row[2] for row in rows]
    if extras:
        assert [row.tolist() for row in Ragged(*points)] == [row[3] for row in rows]
        assert [None if np.isnan(row[0]) else row.tolist() for row in counts] == [row[4] for row in rows]
        assert further == sum(any(f.strip(b" \t\r") for f in line.split(b"|||")[5:]) for line in text.split(b"\n"))


SYMBOLS = st.sampled_from([b"a", b"b", b"[", b"[X][X]", b"[X][X]"])


@st.composite
def rule_lines(draw, odd=False):
    sides = [draw(st.lists(SYMBOLS, min_size=1, max_size=4)) for _ in range(2)]
    at = [[i for i, symbol in enumerate(side) if symbol == b"[X][X]"] for side in sides]
    links = [*zip(at[0], draw(st.permutations(at[1])), strict=False)]
    words = [[i for i in range(len(side)) if i not in held] for side, held in zip(sides, at, strict=True)]
    if all(words):
        links += draw(st.lists(st.tuples(*map(st.sampled_from, words)), max_size=3))
    if odd:
        links = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3))
        odd_symbols = st.sampled_from([b"[X]", b"[]", b"[X][S]", b"[X,1]", b"[X][X]", b"c"])
        sides[draw(st.integers(0, 1))] += draw(st.lists(odd_symbols, max_size=3))
    points = b" ".join(b"%d-%d" % link for link in links)
    ends = [b" [X]", draw(st.sampled_from([b" [X]", b"", b" [S]"])) if odd else b" [X]"]
    fields = [b" ".join(side) + end for side, end in zip(sides, ends, strict=True)]
    return b" ||| ".join([*fields, b"0.5 1", points, b"1 2 3"][: 5 if not odd else draw(st.integers(2, 5))])


@given(st.lists(rule_lines(), max_size=4), st.lists(rule_lines(odd=True), max_size=1))
@example([], [b"a [X][X] [X] ||| a [X][X] [X] ||| 0.5 1"])  # without the field of the fault
def test_parse_rules(lines, odd):
    text = b"\n".join([*lines, *odd])
    start = Vocab.of()
    sources, targets, scores, points, counts, source_list, target_list, _, fault = kernels.parse_rules(
        array(text), start.for_kernels(), start.for_kernels(), 0
    )
    rows, expected_fault = oracle.parse_rules(text, 0)
    assert fault[:2] == expected_fault
    assert 0 <= fault[2] <= fault[3] <= len(text)
    if fault[0]:
        return
    for side, words, column in ((sources, source_list, 0), (targets, target_list, 1)):
        vocab = [word.encode() for word in Vocab(*words)]
        assert [[vocab[i] if i >= 0 else i for i in row.tolist()] for row in Ragged(*side)] == [r[column] for r in rows]
    assert scores.tolist() == [row[2] for row in rows]
    assert [row.tolist() for row in Ragged(*points)] == [row[3] for row in rows]
    assert [None if np.isnan(row[0]) else row.tolist() for row in counts] == [row[4] for row in rows]


@given(st.lists(rule_lines(), max_size=4))
def test_rule_links_are_those_of_the_lines(lines):
    rows, fault = oracle.parse_rules(b"\n".join(lines), 0)
    numbers = [[[3 if isinstance(s, bytes) else s for s in row[column]] for row in rows] for column in (0, 1)]
    sources, targets = (Ragged.of(side, np.int32) for side in numbers)
    ids, points = np.arange(len(rows), dtype=np.int32), Ragged.of([row[3] for row in rows], np.uint16)
    every = Ragged(*kernels.rule_links(ids, sources.for_kernels(), ids, targets.for_kernels(), points_of(points)))
    written = [{tuple(map(int, p.split(b"-"))) for p in line.split(b"|||")[3].split()} for line in lines[: fault[1]]]
    assert [row.tolist() for row in every] == [sorted(256 * s + t for s, t in row) for row in written]


NUMBERED = st.sampled_from([b"a", b"b", b"]", b"[X,1]", b"[X,2]", b"[X]"])
FEATURES = st.sampled_from([b"f=0.5", b"g=-1", b"h=0", b"f=1;g=2", b"99", b"-0.25"])
ODD_FEATURES = st.sampled_from(
    [b"f=", b"=1", b"f=1 f=2", b"f=nan", b"f=1e9", b"-101", b"101", b"x", b"f=1=2", b"f=g", b";"]
)


@st.composite
def grammar_lines(draw, odd=False):
    source = draw(st.lists(NUMBERED if odd else st.sampled_from([b"a", b"b", b"]"]), min_size=1, max_size=3))
    target = draw(st.lists(NUMBERED if odd else st.sampled_from([b"x", b"y"]), min_size=1, max_size=3))
    for index in (1, 2)[: draw(st.integers(0, 2))]:
        source.append(draw(st.sampled_from([b"[X,%d]" % index, b"[X]"])))
        target.insert(draw(st.integers(0, len(target))), draw(st.sampled_from([b"[X,%d]", b"[%d]"])) % index)
    links = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=2)) if odd else [(0, 0)] * (
        not target[0].startswith(b"[")
    )  # fmt: skip
    fields = [
        draw(st.sampled_from([b"[X]", b"[S]", b"", b"[X] a"])) if odd else b"[X]",
        b" ".join(source),
        b" ".join(target),
        b" ".join(draw(st.lists(FEATURES | ODD_FEATURES if odd else st.just(b"f=0.5 -0.25"), min_size=1, max_size=1))),
        b" ".join(b"%d-%d" % link for link in links),
    ]
    return b" ||| ".join(fields[: draw(st.integers(3, 5)) if odd else 5])


@given(st.lists(grammar_lines(), max_size=4), st.lists(grammar_lines(odd=True), max_size=1), st.booleans())
def test_parse_grammar(lines, odd, costs):
    text = b"\n".join([*lines, *odd])
    words = Vocab.of().for_kernels()
    sources, targets, (ids, values, offsets), points, source_list, target_list, name_list, _, _, fault = (
        kernels.parse_grammar(array(text), words, words, words, 0, costs)
    )
    rows, expected_fault = oracle.parse_grammar(text, costs)
    assert fault[:2] == expected_fault
    assert 0 <= fault[2] <= fault[3] <= len(text)
    if fault[0]:
        return
    for side, found, column in ((sources, source_list, 0), (targets, target_list, 1)):
        vocab = [word.encode() for word in Vocab(*found)]
        assert [[vocab[i] if i >= 0 else i for i in row.tolist()] for row in Ragged(*side)] == [r[column] for r in rows]
    names = [name.encode() for name in Vocab(*name_list)]
    for i, row in enumerate(rows):
        part = slice(offsets[i], offsets[i + 1])
        found = [names[j] if j >= 0 else j for j in ids[part].tolist()]
        assert dict(zip(found, values[part].tolist(), strict=True)) == row[2]
    assert [row.tolist() for row in Ragged(*points)] == [row[3] for row in rows]


@pytest.mark.parametrize("links", [True, False])
def test_format_grammar(links):
    labels, points = [b"f=", b""], Ragged.of([[0, 257], [], [2]], np.uint16)
    values = np.array([[0.5, -1], [1 / 3, 0], [-100, 1e-7]], np.float32)
    ids = np.array([0, 1, 0], np.int32)
    sources, targets = [b"a", b"b [X,1]"], [b"x", b"[X,1] y"]
    rules = kernels.PairTexts(source_ids=ids, sources=texts_of(sources), target_ids=ids, targets=texts_of(targets))
    given_points = points_of(points) if links else None
    text = kernels.format_grammar(np.array([2, 0, 1]), rules, values, texts_of(labels), given_points)
    expected = [
        "[X] ||| a ||| x ||| f=-100 1e-07",
        "[X] ||| a ||| x ||| f=0.5 -1",
        "[X] ||| b [X,1] ||| [X,1] y ||| f=0.33333334 0",
    ]
    ends = [" ||| 0-2", " ||| 0-0 1-1", " |||"] if links else [""] * 3
    assert text.tobytes().decode().splitlines() == [line + end for line, end in zip(expected, ends, strict=True)]


@given(st.lists(st.lists(st.sampled_from([b"a", b"b", b"ab", b"|", b"}", b"\x01", b"z"]), min_size=1).map(b" ".join)))
def test_table_ranks_are_those_of_sorted_lines(phrases):
    ranks = kernels.table_ranks(texts_of(phrases))
    in_order = sorted(phrase + b" |||" for phrase in phrases)
    assert ranks.tolist() == [in_order.index(phrase + b" |||") for phrase in phrases]


@pytest.mark.parametrize("extras", [False, True])
def test_format_table(extras):
    rng = np.random.default_rng(2)
    sources, targets = [b"a", b"b c"], [b"x", b"y z", b"\xc3\xa9"]
    source_ids, target_ids = rng.integers(0, 2, 20, np.int32), rng.integers(0, 3, 20, np.int32)
    scores = (10.0 ** rng.uniform(-12, 4, (20, 3))).astype(np.float32)
    scores[0] = [0, 1, 100000]
    counts = rng.integers(0, 1 << 24, (20, 3)).astype(np.float32)
    points = Ragged.of([[256 * (i % 3) + i] * (i % 4) for i in range(20)], np.uint16)
    rows = rng.permutation(20)[:15]
    pairs = kernels.PairTexts(
        source_ids=source_ids, sources=texts_of(sources), target_ids=target_ids, targets=texts_of(targets)
    )
    text = kernels.format_table(rows, pairs, scores, extras, points_of(points), counts)
    expected = ""
    for i in rows.tolist():
        expected += f"{sources[source_ids[i]].decode()} ||| {targets[target_ids[i]].decode()} |||"
        expected += "".join(f" {x:g}" for x in scores[i].tolist())
        if extras:
            expected += " |||" + "".join(f" {p // 256}-{p % 256}" for p in points[i].tolist())
            expected += " |||" + "".join(f" {c:.0f}" for c in counts[i].tolist()) + " ||| |||"
        expected += "\n"
    assert text.tobytes().decode() == expected


def ngram_lines(order):
    @st.composite
    def line(draw, odd=False):
        logprob = draw(NUMBERS if odd else GOOD_NUMBERS.map(lambda number: b"-" + number))
        words = draw(
            st.lists(WORDS if odd else st.sampled_from([b"a", b"b", b"|"]), min_size=order, max_size=order + odd)
        )
        backoff = draw(st.lists(NUMBERS if odd else GOOD_NUMBERS, max_size=1))
        return b"".join(item + draw(SPACES) for item in [logprob, *words, *backoff])

    @st.composite
    def text(draw):
        lines = draw(st.lists(line() | st.just(b""), max_size=4))
        if draw(st.booleans()):
            lines.insert(draw(st.integers(0, len(lines))), draw(line(odd=True)))
        return b"\n".join(lines)

    return text()


def check_ngrams(found, expected, vocab):
    words, logprobs, backoffs, lines, fault = found
    rows, expected_fault = expected
    assert fault[:2] == expected_fault
    if not fault[0]:
        assert [[vocab[i].encode() for i in row] for row in words.tolist()] == [row[1] for row in rows]
        assert lines.tolist() == [row[0] for row in rows]
        assert logprobs.tolist() == [row[2] for row in rows]
        assert backoffs.tolist() == [row[3] for row in rows]


@given(ngram_lines(1), st.booleans())
def test_parse_unigrams(text, listed):
    start = Vocab.of(["b"])
    seen = np.zeros(len(start), np.uint8)
    seen[3] = listed
    found, words, seen = kernels.parse_unigrams(array(text), start.for_kernels(), seen)
    grown = [b"b"] if listed else []
    check_ngrams(found, oracle.parse_ngrams(text, 1, grown), Vocab(*words))
    if not found[-1][0]:
        assert sorted(word.encode() for word, there in zip(Vocab(*words), seen, strict=True) if there) == sorted(grown)


@given(ngram_lines(2))
def test_parse_ngrams(text):
    vocab = Vocab.of(["a", "b", "|", "not listed".replace(" ", "_")])
    listed = np.array([1, 1, 0, 1, 1, 1, 0], np.uint8)
    found = kernels.parse_ngrams(array(text), 2, vocab.for_kernels(), vocab.index, listed)
    words = [word.encode() for word, there in zip(vocab, listed, strict=True) if there]
    check_ngrams(found, oracle.parse_ngrams(text, 2, words), vocab)


@given(st.lists(st.tuples(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))), st.booleans())
def test_format_ngrams_keeps_every_float(numbers, with_backoffs):
    vocab = Vocab.of(["é"])
    values = np.array(numbers, np.float32).reshape(-1, 2)
    words = np.tile(np.array([1, 3], np.int32), (len(values), 1))
    columns = values[:, 0].copy(), values[:, 1].copy()
    text = kernels.format_ngrams(words, *columns, with_backoffs, vocab.for_kernels())
    rows = [line.split("\t") for line in text.tobytes().decode().splitlines()]
    assert [row[1] for row in rows] == ["<s> é"] * len(values)
    assert [np.float32(row[0]) for row in rows] == values[:, 0].tolist()
    assert [[np.float32(x) for x in row[2:]] for row in rows] == [[x] * with_backoffs for x in values[:, 1].tolist()]


GOOD_LINKS = b"0-0 0-0 0-1 1-0 2p1 0-0:0.5 0-0:1e-99 0-65534"
BAD_LINKS = b"0-0:nan 0-0: 0 -1-0 65535-0 99999999999-0 a-b 0-1-2 0p"
LINKS = joined(st.sampled_from(GOOD_LINKS.split()), max_size=4) | joined(st.sampled_from(BAD_LINKS.split()), max_size=1)
LENGTHS = st.none() | st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=7)


@given(lines_of(LINKS), LENGTHS)
def test_parse_links(text, lengths):
    sides = np.array(lengths or [], np.int64).reshape(-1, 2)
    links, offsets, fault = kernels.parse_links(
        array(text), sides[:, 0].copy(), sides[:, 1].copy(), lengths is not None
    )
    rows, expected_fault = oracle.parse_links(text, lengths)
    assert fault[:2] == expected_fault
    if not fault[0]:
        assert [row.tolist() for row in Ragged(links, offsets)] == rows


@given(st.lists(st.lists(st.tuples(st.integers(0, 65535), st.integers(0, 65535)))))
def test_format_links(rows):
    links = Ragged.of([[s << 16 | t for s, t in row] for row in rows], np.uint32)
    text = kernels.format_links(links.values, links.offsets)
    assert text.tobytes().decode() == "".join(" ".join(f"{s}-{t}" for s, t in row) + "\n" for row in rows)
