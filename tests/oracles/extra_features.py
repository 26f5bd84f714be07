"""Extra features by their definitions, one phrase pair and one derivation at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.ragged import Ragged
from dragoman.formats.tagged_text import TaggedText
from dragoman.model.bundle import Model
from oracles.phrase_space import TARGET, Option


@dataclass(frozen=True)
class Cutoffs:
    """How many words have features of their own (0 is all), and where long phrases end."""

    inserted: int
    deleted: int
    sources: int
    targets: int
    longest: int
    tags_of: str


def with_random_links(model: Model, rng: np.random.Generator, *, counts: bool) -> Model:
    """The model with some links inside each pair of its tables, and perhaps with counts."""
    tables = {}
    for name, table in model.tables.items():
        source = np.repeat(np.arange(len(table.sources)), np.diff(table.first_pair))
        rows = []
        for s, t in zip(source.tolist(), table.target_ids.tolist(), strict=True):
            points = [256 * i + j for i in range(len(table.sources[s])) for j in range(len(table.targets[t]))]
            rows.append(sorted(int(p) for p in rng.choice(points, rng.integers(0, len(points) + 1), replace=False)))
        tables[name] = replace(
            table,
            alignments=Ragged.of(rows, np.uint16),
            counts=rng.integers(1, 9, (len(rows), 3)).astype(np.float32) if counts else None,
        )
    return replace(model, tables=tables)


def random_tagged_text(rng: np.random.Generator, sentences: int = 20) -> TaggedText:
    """Words of the random models, but for the last, with random tags."""
    lengths = [int(n) for n in rng.integers(0, 8, sentences)]
    words = Corpus.from_lines([" ".join(rng.choice([*TARGET[:-1], "other"], n)) for n in lengths])
    return TaggedText(words, Corpus.from_lines([" ".join(rng.choice(["N", "V", ":"], n)) for n in lengths]))


def frequent(model: Model, side: str, limit: int) -> set[str]:
    """The words of one side that occur most often in the pairs of all tables."""
    vocab = model.source_vocab if side == "source" else model.target_vocab
    counts: Counter[int] = Counter()
    for table in model.tables.values():
        source = np.repeat(np.arange(len(table.sources)), np.diff(table.first_pair))
        for row in range(len(table)):
            phrase = table.sources[int(source[row])] if side == "source" else table.targets[int(table.target_ids[row])]
            for word in phrase.tolist():
                counts[word] += 1 if table.counts is None else int(table.counts[row, 2])
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return {vocab[word] for word in (ranked[:limit] if limit else ranked)}


def pair_features(model: Model, sentence: str, option: Option, cutoffs: Cutoffs) -> Counter[str]:
    """The features of one pair on its span."""
    source, target = sentence.split()[option.begin : option.end], list(option.words)
    values: Counter[str] = Counter()
    values[f"pl.s{min(len(source), cutoffs.longest)}t{min(len(target), cutoffs.longest)}"] += 1
    links = None
    for row, table in zip(option.rows, model.tables.values(), strict=True):
        if links is None and row is not None and table.alignments is not None:
            links = [(link // 256, link % 256) for link in table.alignments[row].tolist()]
    if links is None:
        return values

    def named(word: str, side: str, limit: int) -> str:
        return word if word in frequent(model, side, limit) else "OTHER"

    for j, word in enumerate(target):
        if all(t != j for _, t in links):
            values[f"twi.{named(word, 'target', cutoffs.inserted)}"] += 1
    for i, word in enumerate(source):
        if all(s != i for s, _ in links):
            values[f"swd.{named(word, 'source', cutoffs.deleted)}"] += 1
    for s, t in links:
        pair = named(source[s], "source", cutoffs.sources), named(target[t], "target", cutoffs.targets)
        values[f"wp.{pair[0]}~{pair[1]}"] += 1
    return values


def phrase_tags(tagged: TaggedText, phrase: tuple[str, ...], whole: bool) -> tuple[str, str]:
    """The tags of the first and the last word of a phrase; whole phrases are those of a table."""
    lines = [
        list(zip(words.split(), tags.split(), strict=True))
        for words, tags in zip(tagged.words.lines(), tagged.tags.lines(), strict=True)
    ]

    def most_frequent(wanted: tuple[str, ...]) -> tuple[str, ...] | None:
        found: Counter[tuple[str, ...]] = Counter()  # which keeps the order of first occurrence
        for line in lines:
            for begin in range(len(line) - len(wanted) + 1):
                span = line[begin : begin + len(wanted)]
                if tuple(word for word, _ in span) == wanted:
                    found[tuple(tag for _, tag in span)] += 1
        return found.most_common(1)[0][0] if found else None

    if not phrase:
        return "<unk>", "<unk>"
    tags = most_frequent(phrase) if whole else None
    if tags is None:
        tags = tuple((most_frequent((word,)) or ("<unk>",))[0] for word in phrase)
    return tags[0], tags[-1]


def derivation_features(
    model: Model, tagged: TaggedText, sentence: str, derivation: tuple[Option, ...], cutoffs: Cutoffs
) -> Counter[str]:
    """The extra features of a derivation."""
    values: Counter[str] = Counter()
    right = "<s>"
    for option in derivation:
        values.update(pair_features(model, sentence, option, cutoffs))
        listed = {
            tuple(model.target_vocab.text(phrase).split())
            for table in model.tables.values()
            for phrase in table.targets
        }
        left, after = phrase_tags(tagged, option.words, cutoffs.tags_of == "phrases" and option.words in listed)
        values[f"pb.{right}:{left}"] += 1
        right = after
    values[f"pb.{right}:</s>"] += 1
    return values
