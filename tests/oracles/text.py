"""Slow twins of the text kernels."""

import re

_SPACE = re.compile(rb"[ \t\v\f\r]+")


def split_words(line):
    return [word for word in _SPACE.split(line) if word]


def split_lines(text):
    lines = text.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def intern_lines(text, words):
    """Ids of the words line by line, and the grown list of words."""
    words = list(words)
    number = {word: i for i, word in enumerate(words)}
    rows = []
    for line in split_lines(text):
        for word in split_words(line):
            if word not in number:
                number[word] = len(words)
                words.append(word)
        rows.append([number[word] for word in split_words(line)])
    return rows, words
