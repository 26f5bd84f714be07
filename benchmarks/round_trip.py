"""How much raw text comes back as it was: `prepare` and `prepare --undo`, line by line, in files or a corpus."""

from __future__ import annotations

import argparse
import difflib
import itertools
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.core.files import read_lines
from dragoman.corpora import CORPORA
from dragoman.text.preparation import Casing, TextPreparation
from dragoman.text.tokenise import MARKS, Tokeniser, detokenise_lines, normalise_punctuation, tokenise_lines
from quick import parse_arguments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="+", help="LANGUAGE:FILE, or the name of a corpus")
    parser.add_argument("--lines", type=int, default=5000, help="so many lines of each")
    parser.add_argument("--differences", type=int, default=10, help="show so many of the commonest")
    arguments = parse_arguments(parser, "fr:{data}/multi30k/train.fr.gz --lines 100")
    print("| text | lines | exact | exact, uniform punctuation | by rules alone | tokens with marks | with case |")
    print("|---|---|---|---|---|---|---|")
    differences: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, language, path in texts(arguments.texts, Path(folder)):
            rest = (" ".join(line.split()) for line in read_lines(path))
            lines = list(itertools.islice(rest, arguments.lines))
            print(f"| {name} | {len(lines):,} | {row(lines, list(rest), language, differences)} |", flush=True)
    print("\nThe commonest differences, with uniform punctuation:")
    for (raw, back), count in differences.most_common(arguments.differences):
        print(f"{count:6,}  {raw!r} came back as {back!r}")


def texts(names: Sequence[str], folder: Path) -> list[tuple[str, str, Path]]:
    """Texts by name, language and file; a corpus has two."""
    found = []
    for name in names:
        language, colon, path = name.partition(":")
        if colon:
            found.append((Path(path).name, language, Path(path)))
        else:
            CORPORA.get(name)().build(folder / name, seed=1)
            found += [
                (f"{name} {file.suffix[1:]}", file.suffix[1:] if len(file.suffix) == 3 else "en", file)
                for file in sorted((folder / name).glob("train.*"))
            ]
    return found


def row(lines: Sequence[str], rest: Sequence[str], language: str, differences: Counter[tuple[str, str]]) -> str:
    """The figures of a text, in single spaces; how words are written is learnt from the rest of it."""
    form = TextPreparation(language, language, tokenise=True, protect=True)
    plain = share(lines, form.restore(list(form.target(lines))))
    uniform = TextPreparation(language, language, tokenise=True, protect=True, normalise_punctuation=True)
    expected = [normalise_punctuation(line, language) for line in lines]
    words = list(uniform.target(lines))
    back = uniform.restore(words)
    for line, other in zip(expected, back, strict=True):
        differences.update(changes(line, other))
    by_rules = detokenise_lines(tokenise_lines(expected, language, Tokeniser(protect=True)), language)
    tokens = [token for line in words for token in line.split()]
    marked = sum(token[0] in MARKS or token[-1] in MARKS for token in tokens) / max(len(tokens), 1)
    cased = replace(uniform, lowercase=True, casing=Casing.learn(list(uniform.target(rest))))
    with_case = share(expected, cased.restore(list(cased.target(lines))))
    shares = [plain, share(expected, back), share(expected, by_rules), marked, with_case]
    return " | ".join(f"{100 * value:.2f} %" for value in shares)


def share(lines: Sequence[str], others: Sequence[str]) -> float:
    return sum(line == other for line, other in zip(lines, others, strict=True)) / max(len(lines), 1)


def changes(line: str, other: str) -> list[tuple[str, str]]:
    """What differs, with a character to either side."""
    if line == other:
        return []
    found = difflib.SequenceMatcher(None, line, other, autojunk=False).get_opcodes()
    return [
        (line[max(0, a - 1) : b + 1], other[max(0, c - 1) : d + 1]) for kind, a, b, c, d in found if kind != "equal"
    ]


if __name__ == "__main__":
    main()
