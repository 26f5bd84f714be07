"""Slow twins for n-best lists: the lines with ||| between columns, and which hypotheses are the same."""

import math
import re

from oracles.text import split_lines, split_words

_NUMBER = re.compile(rb"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_NOT_FINITE = re.compile(rb"-?(inf|infinity|nan(\(\w*\))?)", re.IGNORECASE)
_MARK = re.compile(rb"\|(\d+)-(\d+)\|")
_SPACES = b" \t\v\f\r"


class FaultError(Exception):
    pass


def number(token, fault=6):
    if _NOT_FINITE.fullmatch(token):
        raise FaultError(7)
    if not _NUMBER.fullmatch(token):
        raise FaultError(fault)
    value = float(token)
    if math.isinf(value) or (value == 0 and re.search(rb"[1-9]", token.lower().partition(b"e")[0])):
        raise FaultError(7)
    return value


def _hypothesis(field, marks):
    words, phrases, start = [], [], 0
    for token in split_words(field):
        match = _MARK.fullmatch(token) if marks else None
        if match and max(map(int, match.groups())) < 2**31 - 1:
            begin, end = map(int, match.groups())
            if begin > end:
                raise FaultError(12)
            phrases.append((begin, end + 1, start, len(words)))
            start = len(words)
        else:
            words.append(token)
    if phrases and start < len(words):
        raise FaultError(11)
    return words, phrases


def _groups(field, grouped):
    """Labels with the tokens of their values."""
    groups = []
    for token in split_words(field):
        if not grouped:
            if b"=" not in token:
                raise FaultError(4)
            name, _, value = token.rpartition(b"=")
            groups.append((name, [value] if value else []))
        elif token[-1:] in (b"=", b":"):
            groups.append((token[:-1], []))
        elif not groups:
            raise FaultError(4)
        else:
            groups[-1][1].append(token)
    return groups


def _features(field, grouped, counts):
    """The features in file order. Faults count in the order in which the text has them."""
    found, seen = {}, set()
    try:
        groups, late = _groups(field, grouped), None
    except FaultError as fault:
        # What is wrong with earlier tokens comes first.
        tokens = split_words(field)
        good = next(i for i, token in enumerate(tokens) if grouped or b"=" not in token)
        groups, late = _groups(b" ".join(tokens[:good]), grouped), fault
    for label, tokens in groups:
        if not label:
            raise FaultError(4)
        if label in seen:
            raise FaultError(9)
        seen.add(label)
        values = [number(token) for token in tokens]
        if not values:
            raise FaultError(5)
        if counts.setdefault(label, len(values)) != len(values):
            raise FaultError(8)
        found |= {(label, position): value for position, value in enumerate(values)}
    if late:
        raise late
    return found


def _row(line, grouped, score_first, counts):
    line = line.removesuffix(b"\r")
    fields = line.split(b"|||")
    if len(fields) < 4:
        raise FaultError(2 if line.strip(_SPACES) else 1)
    if not re.fullmatch(rb"\d+", fields[0].strip(_SPACES)) or int(fields[0].strip(_SPACES)) >= 2**63:
        raise FaultError(3)
    words, phrases = _hypothesis(fields[1], grouped)
    features, score = (fields[3], fields[2]) if score_first else (fields[2], fields[3])
    features = _features(features, grouped, counts)
    score = score.strip(_SPACES)
    score = number(score, 10) if score else math.nan
    last = b"|||".join(fields[3:])
    kept = fields[3].rstrip(_SPACES)
    rest = last[len(kept) :] if kept else last.removeprefix(b" ")
    return int(fields[0].strip(_SPACES)), words, phrases, features, score, rest


def parse_nbest(text, grouped, score_first):
    """Rows before the first fault, and its kind and line."""
    rows, counts = [], {}
    for line_number, line in enumerate(split_lines(text)):
        try:
            rows.append(_row(line, grouped, score_first, counts))
        except FaultError as fault:
            return rows, (fault.args[0], line_number)
    return rows, (0, len(rows))


def format_number(value):
    """As C++ streams do, with more digits where six would not give the same number."""
    return next(text for digits in range(6, 18) if float(text := f"{value:.{digits}g}") == value)


def distinct(rows, words_only=False):
    """The first of hypotheses (words, features) that are equal."""
    seen, kept = set(), []
    for row, (words, features) in enumerate(rows):
        there = frozenset((name, value) for name, value in features.items() if value != 0)
        key = tuple(words), None if words_only else there
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept
