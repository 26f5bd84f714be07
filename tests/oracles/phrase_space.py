"""Tiny random phrase-based models, and all their derivations of a sentence by plain enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PHRASE_SCORES, REORDERING_SCORES, PhrasePairs
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import Settings
from dragoman.model.phrase_table import LOG_ZERO, PhraseTable
from dragoman.training.lm.kneser_ney import KneserNey, estimate

SOURCE = ("f0", "f1", "f2", "f3", "f4")
TARGET = ("e0", "e1", "e2", "e3")


class _Quiet(Progress):
    """Tiny texts always need the discounts' fallback: no news."""

    def warn(self, text: str) -> None:
        pass


@dataclass(frozen=True)
class Option:
    """A phrase pair on a span, with its rows in the model's tables (None where a table lacks it)."""

    begin: int
    end: int
    words: tuple[str, ...]
    rows: tuple[int | None, ...]


def random_model(
    rng: np.random.Generator, *, tables: int = 1, language_models: int = 1, reordering: bool = True
) -> Model:
    """A model over a handful of words; some source words have no translation, and phrases overlap at random."""
    source_vocab, target_vocab = Vocab.of(SOURCE[:-1]), Vocab.of(TARGET)
    made = {}
    for i in range(tables):
        pairs: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
        for _ in range(int(rng.integers(4, 14))):
            source = tuple(int(w) for w in rng.integers(3, 3 + len(SOURCE) - 1, rng.integers(1, 4)))
            target = tuple(int(w) for w in rng.integers(3, 3 + len(TARGET), rng.integers(1, 4)))
            pairs[source, target] = None
        ordered = sorted(pairs)
        sources, targets = sorted({s for s, _ in ordered}), sorted({t for _, t in ordered})
        # Round scores make ties, between options and between whole derivations.
        scores = rng.integers(1, 10, (len(ordered), 4)).astype(np.float32) / 10
        made["tm" if i == 0 else f"tm{i + 1}"] = PhraseTable.from_pairs(
            PhrasePairs(
                source_vocab,
                target_vocab,
                Ragged.of(sources, np.int32),
                Ragged.of(targets, np.int32),
                np.array([sources.index(s) for s, _ in ordered], np.int32),
                np.array([targets.index(t) for _, t in ordered], np.int32),
                scores,
                PHRASE_SCORES,
                reordering={"lr": rng.random((len(ordered), 6), np.float32)} if reordering else {},
            )
        )
    lms = {}
    for i in range(language_models):
        text = [" ".join(rng.choice(TARGET[: 4 - i], rng.integers(1, 8))) for _ in range(12)]
        ngrams = estimate(
            Corpus.from_lines(text), KneserNey(order=int(rng.integers(1, 5))), runtime=Runtime(progress=_Quiet())
        )
        lms["lm" if i == 0 else f"lm{i + 1}"] = LanguageModel.from_ngrams(ngrams)
    model = Model(source_vocab, target_vocab, made, lms, Weights(), Settings())
    weights = Weights(
        {name: float(value) for name, value in zip(model.feature_names, rng.normal(0.3, 0.4, 99), strict=False)}
    )
    return Model(source_vocab, target_vocab, made, lms, weights, Settings())


def random_sentence(rng: np.random.Generator, longest: int) -> str:
    """Some source words, unknown ones among them."""
    return " ".join(rng.choice(SOURCE, rng.integers(1, longest + 1)))


def options(model: Model, sentence: str, table_limit: int) -> list[Option]:
    """All options of a sentence."""
    words = sentence.split()
    found: dict[tuple[int, int, tuple[str, ...]], list[int | None]] = {}
    for t, table in enumerate(model.tables.values()):
        for begin in range(len(words)):
            for end in range(begin + 1, len(words) + 1):
                rows = table.lookup([model.source_vocab.id(w) for w in words[begin:end]])
                for row in rows[:table_limit] if table_limit else rows:
                    target = tuple(model.target_vocab.text(table.targets[int(table.target_ids[row])]).split())
                    found.setdefault((begin, end, target), [None] * len(model.tables))[t] = row
    for i, word in enumerate(words):
        if not any((begin, end) == (i, i + 1) for begin, end, _ in found):
            found[i, i + 1, (word,)] = [None] * len(model.tables)
    return [Option(begin, end, target, tuple(rows)) for (begin, end, target), rows in sorted(found.items())]


def derivations(choices: list[Option], length: int, reordering_limit: int) -> Iterator[tuple[Option, ...]]:
    """Every sequence of options that covers each word once with no jump over the limit."""

    def extend(done: tuple[Option, ...], covered: frozenset[int]) -> Iterator[tuple[Option, ...]]:
        if len(covered) == length:
            yield done
        end = done[-1].end if done else 0
        for option in choices:
            span = frozenset(range(option.begin, option.end))
            if span & covered or (0 <= reordering_limit < abs(option.begin - end)):
                continue
            yield from extend((*done, option), covered | span)

    return extend((), frozenset())


def features(model: Model, derivation: tuple[Option, ...]) -> dict[str, float]:
    """The features of a derivation, by their definitions."""
    values = dict.fromkeys(model.feature_names, 0.0)
    text = " ".join(word for option in derivation for word in option.words)
    for name, lm in model.language_models.items():
        values[name] = lm.score(text) * math.log(10)
    previous: Option | None = None
    for option in derivation:
        values["phrase_penalty"] += 1
        values["word_penalty"] -= len(option.words)
        values["unknown_word"] -= 100 if all(row is None for row in option.rows) else 0
        end = previous.end if previous else 0
        values["distortion"] -= abs(option.begin - end)
        if option.begin == end:
            orientation = 0
        elif previous and option.end == previous.begin:
            orientation = 1
        else:
            orientation = 2
        for row, (name, table) in zip(option.rows, model.tables.items(), strict=True):
            if row is not None:
                for i, score in enumerate(table.score_names):
                    values[f"{name}.{score}"] += max(float(table.log_scores[row, i]), LOG_ZERO)
        for name in model.reorderings:
            values[f"{name}.{REORDERING_SCORES[orientation]}"] += _reordering(model, name, option)[orientation]
            if previous:
                values[f"{name}.{REORDERING_SCORES[3 + orientation]}"] += _reordering(model, name, previous)[
                    3 + orientation
                ]
        previous = option
    return values


def _reordering(model: Model, name: str, option: Option) -> list[float]:
    scores = [0.0] * 6
    for row, table in zip(option.rows, model.tables.values(), strict=True):
        if row is not None and name in table.log_reordering:
            scores = table.log_reordering[name][row].tolist()
    return scores
