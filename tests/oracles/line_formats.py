"""Slow twins of the kernels that parse lines: they give the rows before the first fault, and its kind and line."""

import math
import re

import numpy as np

from oracles.text import split_lines, split_words

_NUMBER = re.compile(rb"-?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf|infinity|nan(\(\w*\))?)", re.IGNORECASE)


def parse_float(token):
    """A float, or None if the token is no number that a double can hold."""
    if not _NUMBER.fullmatch(token):
        return None
    if b"nan" in token.lower():
        return math.nan
    value = float(token)
    if math.isinf(value) and b"inf" not in token.lower():
        return None
    if value == 0 and re.search(rb"[1-9]", token.lower().partition(b"e")[0]):
        return None
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(value))
    return math.copysign(2.0**-149, value) if single == 0 and value != 0 else single


class FaultError(Exception):
    pass


def _positive(token):
    value = parse_float(token)
    if value is None:
        raise FaultError(6)
    if not 0 <= value < math.inf:
        raise FaultError(7)
    return value


def _table_row(line, columns, extras):
    fields = line.split(b"|||")
    if len(fields) < 3:
        raise FaultError(1)
    if not extras and len(fields) > 3:
        raise FaultError(2)
    source, target = split_words(fields[0]), split_words(fields[1])
    for fault, wrong in ((3, not source), (4, not target), (5, max(len(source), len(target)) > 255)):
        if wrong:
            raise FaultError(fault)
    scores = [_positive(token) for token in split_words(fields[2])]
    if not scores:
        raise FaultError(8)
    if columns and len(scores) != columns:
        raise FaultError(9)
    points, counts = [], None
    if extras:
        points = [256 * s + t for s, t in _points(fields, len(source), len(target))]
        counts = [_positive(token) for token in split_words(fields[4])] if len(fields) > 4 else []
    return source, target, scores, points, counts if counts and len(counts) == 3 else None


def _points(fields, source_length, target_length):
    points = []
    for token in split_words(fields[3]) if len(fields) > 3 else []:
        match = re.fullmatch(rb"(\d+)-(\d+)", token)
        if not match or max(map(int, match.groups())) >= 2**32:
            raise FaultError(10)
        s, t = map(int, match.groups())
        if s >= source_length or t >= target_length:
            raise FaultError(11)
        points.append((s, t))
    return points


def _rule_side(field):
    symbols = split_words(field)
    for i, symbol in enumerate(symbols[:-1]):
        if symbol.startswith(b"[") and symbol.endswith(b"]") and symbol != b"[":
            if symbol != b"[X][X]":
                raise FaultError(13)
            if symbols[:i].count(symbol) == 2:
                raise FaultError(14)
    if symbols[-1:] != [b"[X]"]:
        raise FaultError(12)
    return symbols[:-1]


def _rule_row(line, columns):
    fields = line.split(b"|||")
    if len(fields) < 3:
        raise FaultError(1)
    source, target = _rule_side(fields[0]), _rule_side(fields[1])
    at = [[i for i, symbol in enumerate(side) if symbol == b"[X][X]"] for side in (source, target)]
    for fault, wrong in ((3, not source), (4, not target), (15, len(at[0]) != len(at[1])), (16, source == [b"[X][X]"])):
        if wrong:
            raise FaultError(fault)
    _, _, scores, _, counts = _table_row(b"|||".join([b"a", b"a", fields[2], b"", *fields[4:]]), columns, True)
    pairing, words = {}, set()
    for s, t in _points(fields, len(source), len(target)):
        if (s in at[0]) != (t in at[1]):
            raise FaultError(17)
        if s not in at[0]:
            words.add(256 * s + t)
        elif s in pairing or t in pairing.values():
            raise FaultError(18)
        else:
            pairing[s] = t
    if len(pairing) < len(at[0]):
        raise FaultError(19)
    for k, s in enumerate(at[0]):
        source[s] = target[pairing[s]] = -1 - k
    return source, target, scores, sorted(words), counts


def _numbered_side(field, known):
    """Symbols of a side; `known` are the indices of the source side, or None for the source side itself."""
    symbols, indices = [], []
    for symbol in split_words(field):
        if len(symbol) < 2 or not (symbol.startswith(b"[") and symbol.endswith(b"]")):
            symbols.append(symbol)
            continue
        match = re.fullmatch(rb"\[X,(\d+)\]" if known is None else rb"\[(?:X,)?(\d+)\]", symbol)
        if match and not 0 < int(match[1]) < 2**32:
            match = None
        index = len(indices) + 1 if known is None and symbol == b"[X]" else int(match[1]) if match else 0
        if not index:
            raise FaultError(22)
        if known is None and len(indices) == 2:
            raise FaultError(14)
        if known is None and index != len(indices) + 1:
            raise FaultError(23)
        if known is not None and (index not in known or index in indices):
            raise FaultError(24)
        indices.append(index)
        symbols.append(-index)
    return symbols, indices


def _features(field, unnamed, costs):
    features, count = {}, 0
    for token in split_words(field.replace(b";", b" ")):
        name, equals, value = token.rpartition(b"=") if token.count(b"=") < 2 else token.partition(b"=")
        number = parse_float(value)
        if number is None or (equals and not name):
            raise FaultError(25)
        cost = costs and not equals
        number = -number if cost else number
        if not -100 <= number <= 700:
            raise FaultError(29 if cost else 26)
        if not equals:
            count += 1
            name = -count
        if name in features:
            raise FaultError(27)
        features[name] = number
    if unnamed is not None and count != unnamed:
        raise FaultError(9)
    return features, count


def _grammar_row(line, unnamed, costs):
    fields = line.split(b"|||")
    if len(fields) < 4:
        raise FaultError(20)
    if fields[0].strip(b" \t\r\f\v") != b"[X]":
        raise FaultError(21)
    source, indices = _numbered_side(fields[1], None)
    target, paired = _numbered_side(fields[2], indices)
    for fault, wrong in ((3, not source), (4, not target), (15, len(indices) != len(paired)), (16, source == [-1])):
        if wrong:
            raise FaultError(fault)
    features, unnamed = _features(fields[3], unnamed, costs)
    points = set()
    for s, t in _points([b"", *fields[1:3], *fields[4:5]], len(source), len(target)):
        if isinstance(source[s], bytes) and isinstance(target[t], bytes):
            points.add(256 * s + t)
        elif source[s] != target[t]:
            raise FaultError(28)
    return source, target, features, sorted(points), unnamed


def parse_grammar(text, costs):
    rows, unnamed = [], None
    for number, line in enumerate(split_lines(text)):
        try:
            *row, unnamed = _grammar_row(line, unnamed, costs)
        except FaultError as fault:
            return rows, (fault.args[0], number)
        rows.append(row)
    return rows, (0, len(rows))


def parse_rules(text, columns):
    rows = []
    for number, line in enumerate(split_lines(text)):
        try:
            rows.append(_rule_row(line, columns))
        except FaultError as fault:
            return rows, (fault.args[0], number)
        columns = columns or len(rows[0][2])
    return rows, (0, len(rows))


def parse_table(text, columns, extras):
    rows = []
    for number, line in enumerate(split_lines(text)):
        try:
            rows.append(_table_row(line, columns, extras))
        except FaultError as fault:
            return rows, (fault.args[0], number)
        columns = columns or len(rows[0][2])
    return rows, (0, len(rows))


def parse_ngrams(text, order, listed):
    """Over the unigrams `listed`; with `order` 1 these grow."""
    rows = []
    for number, line in enumerate(split_lines(text)):
        tokens = split_words(line)
        if not tokens:
            continue
        fault = 0
        logprob = parse_float(tokens[0])
        words, rest = tokens[1 : order + 1], tokens[order + 1 :]
        backoff = parse_float(rest[0]) if rest else 0.0
        if len(words) < order or len(rest) > 1:
            fault = 1
        elif logprob is None:
            fault = 2
        elif not logprob <= 0:
            fault = 3
        elif backoff is None:
            fault = 2
        elif not math.isfinite(backoff):
            fault = 4
        elif order == 1 and words[0] in listed:
            fault = 5
        elif order > 1 and not set(words) <= set(listed):
            fault = 6
        if fault:
            return rows, (fault, number)
        if order == 1:
            listed.append(words[0])
        rows.append((number, words, logprob, backoff))
    return rows, (0, len(split_lines(text)))


def parse_links(text, lengths):
    """`lengths` is None or one pair of lengths a line."""
    rows = []
    for number, line in enumerate(split_lines(text)):
        if lengths is not None and number >= len(lengths):
            return rows, (3, number)
        limits = (65535, 65535) if lengths is None else lengths[number]
        row = set()
        for token in split_words(line):
            match = re.fullmatch(rb"(\d+)[-p](\d+)(?::(.*))?", token, re.DOTALL)
            if not match or max(int(match[1]), int(match[2])) >= 2**32:
                return rows, (1, number)
            probability = 0.0 if match[3] is None else parse_float(match[3])
            if probability is None or not probability >= 0:
                return rows, (1, number)
            s, t = int(match[1]), int(match[2])
            if s >= limits[0] or t >= limits[1]:
                return rows, (2, number)
            row.add(s << 16 | t)
        rows.append(sorted(row))
    return rows, (0, len(rows))
