"""Slow twins of the sequence kernels."""


def intern_sequences(rows):
    """The number of each row among the distinct rows, and these."""
    number = {}
    return [number.setdefault(tuple(row), len(number)) for row in rows], [list(row) for row in number]


def match_spans(lines, max_length, phrases):
    """For each position of each line and each length from 1 the number of the phrase there, or -1."""
    number = {tuple(phrase): i for i, phrase in enumerate(phrases)}
    found = []
    for line in lines:
        for begin in range(len(line)):
            row = []
            for length in range(1, max_length + 1):
                span = tuple(line[begin : begin + length])
                row.append(number.get(span, -1) if len(span) == length else -1)
            found.append(row)
    return found
