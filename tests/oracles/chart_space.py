"""Tiny random hierarchical models, and all their derivations of a sentence by plain enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus, Vocab
from dragoman.core.feature_rows import Weights
from dragoman.core.phrases import PHRASE_SCORES, NGrams, NGramTable, PhrasePairs
from dragoman.core.progress import Progress
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.language_model import LanguageModel
from dragoman.model.parts import Settings
from dragoman.training.lm.kneser_ney import KneserNey, estimate

SOURCE = ("f0", "f1", "f2", "f3", "f4")
TARGET = ("e0", "e1", "e2", "e3")

#: A side of a rule: words, and -1 and -2 for nonterminals.
Side = tuple[str | int, ...]
Span = tuple[int, int]

#: What is given for spans: words with the logarithm of their probability.
Given = Mapping[Span, Sequence[tuple[str, float]]]

_UNKNOWN, _GIVEN = -1, -2  # in place of a grammar


class _Quiet(Progress):
    """Tiny texts always need the discounts' fallback: no news."""

    def warn(self, text: str) -> None:
        pass


class Rule(NamedTuple):
    """A target side with where it is from: a grammar and its row (or, if it was given, its log-probability)."""

    grammar: int
    row: float
    target: Side


class Match(NamedTuple):
    """A source side on a span: where its holes are, and its rules."""

    span: Span
    holes: tuple[Span, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Derivation:
    """The rules of a derivation with their spans, how many parts glue joined, the words, and the holes of each rule."""

    steps: tuple[tuple[Span, Rule], ...]
    parts: int
    words: tuple[str, ...]
    holes: tuple[tuple[Span, ...], ...] = ()


def random_model(
    rng: np.random.Generator,
    *,
    grammars: int = 1,
    language_models: int = 1,
    rules: int = 14,
    span_limit: int = 10,
    table_limit: int = 20,
    glue: bool = True,
) -> Model:
    """A model over a handful of words; some source words have no translation, and rules overlap at random."""
    source_vocab, target_vocab = Vocab.of(SOURCE[:-1]), Vocab.of(TARGET)
    made = {}
    for i in range(grammars):
        names = PHRASE_SCORES if i == 0 else [PHRASE_SCORES, ("fwd",), ("other",)][int(rng.integers(3))]
        made["tm" if i == 0 else f"tm{i + 1}"] = Grammar.from_pairs(
            random_pairs(rng, source_vocab, target_vocab, number=int(rng.integers(4, rules + 1)), score_names=names)
        )
    lms = {"lm" if i == 0 else f"lm{i + 1}": random_language_model(rng) for i in range(language_models)}
    settings = Settings(span_limit=span_limit, table_limit=table_limit, glue=glue)
    model = Model(source_vocab, target_vocab, {}, lms, Weights(), settings, grammars=made)
    values = np.where(rng.random(99) < 0.1, 0.0, rng.normal(0.3, 0.4, 99)).tolist()
    weights = Weights(dict(zip(model.feature_names, values, strict=False)))
    return replace(model, weights=weights)


def model_of(
    rows: Sequence[tuple[str, str, float]],
    *,
    links: Sequence[Sequence[tuple[int, int]]] | None = None,
    weights: Mapping[str, float] | None = None,
    **settings: Any,
) -> Model:
    """A model of one grammar given as text (X1 and X2 are nonterminals) with p(e|f), all features weighing 1."""
    pairs = rule_pairs([(source, target, (score,)) for source, target, score in rows], ("fwd",), links=links)
    grammars = {"tm": Grammar.from_pairs(pairs)}
    model = Model(pairs.source_vocab, pairs.target_vocab, {}, {}, Weights(), Settings(**settings), grammars=grammars)
    return replace(model, weights=Weights(dict.fromkeys(model.feature_names, 1.0) | dict(weights or {})))


def rule_pairs(
    rows: Sequence[tuple[str, str, tuple[float, ...]]],
    score_names: Sequence[str] = PHRASE_SCORES,
    *,
    links: Sequence[Sequence[tuple[int, int]]] | None = None,
    counts: bool = False,
) -> PhrasePairs:
    """Rules given as text with their scores, as columns; counts are made up from the row's number."""
    source_vocab, target_vocab = Vocab.of(SOURCE[:-1]), Vocab.of(TARGET)
    sources, targets = (list(dict.fromkeys(row[k] for row in rows)) for k in (0, 1))
    numbers = np.arange(1, len(rows) + 1, dtype=np.float32)
    return PhrasePairs(
        source_vocab,
        target_vocab,
        Ragged.of([_symbols(source_vocab, side) for side in sources], np.int32),
        Ragged.of([_symbols(target_vocab, side) for side in targets], np.int32),
        np.array([sources.index(row[0]) for row in rows], np.int32),
        np.array([targets.index(row[1]) for row in rows], np.int32),
        np.array([row[2] for row in rows], np.float32).reshape(len(rows), len(score_names)),
        tuple(score_names),
        alignments=Ragged.of([[256 * i + j for i, j in row] for row in links], np.uint16) if links else None,
        counts=np.stack([numbers + 2, numbers + 1, numbers], axis=1) if counts else None,
    )


def _symbols(vocab: Vocab, side: str) -> list[int]:
    return [-int(symbol[1:]) if symbol[0] == "X" else vocab.id(symbol) for symbol in side.split()]


def random_pairs(
    rng: np.random.Generator, source_vocab: Vocab, target_vocab: Vocab, *, number: int, score_names: Sequence[str]
) -> PhrasePairs:
    """Rules of all shapes: up to two nonterminals, also swapped, outermost and adjacent; target sides without words."""
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
    while len(found) < number:
        holes = int(rng.choice(3, p=[0.5, 0.25, 0.25]))
        shape = [-1] * holes + rng.integers(3, len(source_vocab), rng.integers(holes < 2, 4 - holes)).tolist()
        filled = iter(range(-1, -3, -1))
        source = tuple(next(filled) if symbol < 0 else symbol for symbol in rng.permutation(shape).tolist())
        words = rng.integers(3, len(target_vocab), rng.integers(0 if rng.random() < 0.3 else 1, 4)).tolist()
        found[source, tuple(rng.permutation([*range(-1, -1 - holes, -1), *words]).astype(int).tolist())] = None
    # Those of one source side stand together, in no order.
    sources = list(dict.fromkeys(source for source, _ in found))
    rows = [(source, target) for side in sources for source, target in found if source == side]
    targets = list(dict.fromkeys(target for _, target in rows))
    return PhrasePairs(
        source_vocab,
        target_vocab,
        Ragged.of(sources, np.int32),
        Ragged.of(targets, np.int32),
        np.array([sources.index(source) for source, _ in rows], np.int32),
        np.array([targets.index(target) for _, target in rows], np.int32),
        # Round scores make ties, between rules and between whole derivations.
        rng.integers(0, 10, (len(rows), len(score_names))).astype(np.float32) / 10,
        tuple(score_names),
    )


def random_language_model(rng: np.random.Generator) -> LanguageModel:
    """A model of order 1 to 4; every other one lacks n-grams at random, also endings and beginnings of longer ones."""
    words = [*TARGET[: int(rng.integers(2, 5))], *SOURCE[4:][: int(rng.integers(2))]]
    text = [" ".join(rng.choice(words, rng.integers(1, 8))) for _ in range(12)]
    ngrams = estimate(
        Corpus.from_lines(text), KneserNey(order=int(rng.integers(1, 5))), runtime=Runtime(progress=_Quiet())
    )
    if rng.random() < 0.5:
        orders = []
        for n, table in enumerate(ngrams.orders):
            kept = rng.random(len(table)) < (1.0 if n == 0 else rng.choice([0.1, 0.3, 0.6]))
            # Those without a back-off weight are no contexts, unless a longer one makes them so.
            backoffs = np.where(rng.random(len(table)) < 0.5, 0, table.backoffs).astype(np.float32)
            orders.append(NGramTable(table.words[kept], table.logprobs[kept], backoffs[kept]))
        ngrams = NGrams(ngrams.vocab, tuple(orders))
    return LanguageModel.from_ngrams(ngrams)


def random_sentence(rng: np.random.Generator, longest: int) -> str:
    """Some source words, unknown ones among them."""
    return " ".join(rng.choice(SOURCE, rng.integers(1, longest + 1)))


def rules(model: Model, table_limit: int) -> dict[Side, list[tuple[Rule, ...]]]:
    """The rules of each source side, for each grammar that has some: the best by p(e|f), the earlier of equals."""
    found: dict[Side, list[tuple[Rule, ...]]] = {}
    for g, grammar in enumerate(model.grammars.values()):
        pairs = grammar.to_pairs(model.source_vocab, model.target_vocab)
        sides: dict[Side, list[tuple[float, Rule]]] = {}
        for row in range(len(pairs)):
            source = _side(model.source_vocab, pairs.sources[int(pairs.source_ids[row])])
            target = _side(model.target_vocab, pairs.targets[int(pairs.target_ids[row])])
            probability = (
                float(pairs.scores[row, pairs.score_names.index("fwd")]) if "fwd" in pairs.score_names else 0.0
            )
            sides.setdefault(source, []).append((-probability, Rule(g, row, target)))
        for source, choices in sides.items():
            best = [rule for _, rule in sorted(choices, key=lambda choice: choice[0])]
            found.setdefault(source, []).append(tuple(best[: table_limit or None]))
    return found


def _side(vocab: Vocab, symbols: Sequence[int]) -> Side:
    return tuple(int(symbol) if symbol < 0 else vocab[int(symbol)] for symbol in symbols)


def matches(
    model: Model,
    sentence: str,
    *,
    table_limit: int | None = None,
    drop_unknown: bool = False,
    given: Given | None = None,
) -> list[Match]:
    """All places where source sides fit, with something in every hole; shorter spans come first."""
    words: list[str | None] = list(sentence.split())
    sides = rules(model, model.settings.table_limit if table_limit is None else table_limit)
    found: list[Match] = []
    for (begin, end), choices in (given or {}).items():
        every = tuple(Rule(_GIVEN, log_probability, tuple(text.split())) for text, log_probability in choices)
        found.append(Match((begin, end), (), every))
        words[begin:end] = [None] * (end - begin)
    filled = {match.span for match in found}
    for width in range(1, min(len(words), model.settings.span_limit) + 1):
        for begin in range(len(words) - width + 1):
            end = begin + width
            here = [
                Match((begin, end), holes, choices)
                for side, grammars in sides.items()
                for holes in _places(side, words, begin, end)
                if filled.issuperset(holes)
                for choices in grammars
            ]
            word = words[begin]
            if width == 1 and not here and word is not None:
                here = [Match((begin, end), (), (Rule(_UNKNOWN, -1, () if drop_unknown else (word,)),))]
            found += here
            filled.update(match.span for match in here)
    return sorted(found, key=lambda match: match.span[1] - match.span[0])


def _places(side: Side, words: Sequence[str | None], begin: int, end: int) -> Iterator[tuple[Span, ...]]:
    """The holes of a source side, in every way in which it covers a span."""
    if not side:
        if begin == end:
            yield ()
    elif isinstance(side[0], str):
        if begin < end and words[begin] == side[0]:
            yield from _places(side[1:], words, begin + 1, end)
    else:
        for middle in range(begin + 1, end + 1):
            yield from (((begin, middle), *rest) for rest in _places(side[1:], words, middle, end))


def number(found: Sequence[Match], length: int, *, glue: bool = True) -> int:
    """How many derivations there are, without a list of them."""
    counts: dict[Span, int] = {}
    for match in found:
        ways = len(match.rules) * math.prod(counts.get(hole, 0) for hole in match.holes)
        counts[match.span] = counts.get(match.span, 0) + ways
    if not glue:
        return counts.get((0, length), int(length == 0))
    glued = [1]
    for end in range(1, length + 1):
        glued.append(sum(glued[begin] * counts.get((begin, end), 0) for begin in range(end)))
    return glued[length]


def derivations(found: Sequence[Match], length: int, *, glue: bool = True) -> Iterator[Derivation]:
    """Every derivation of a sentence of that length."""
    parts: dict[Span, list[Derivation]] = {}
    for match in found:
        for rule in match.rules:
            for filling in itertools.product(*(parts.get(hole, []) for hole in match.holes)):
                words: list[str] = []
                for symbol in rule.target:
                    words += filling[-1 - symbol].words if isinstance(symbol, int) else [symbol]
                steps = ((match.span, rule), *(step for part in filling for step in part.steps))
                holes = (match.holes, *(one for part in filling for one in part.holes))
                parts.setdefault(match.span, []).append(Derivation(steps, 1, tuple(words), holes))

    def joined(done: Derivation, at: int) -> Iterator[Derivation]:
        if at == length:
            yield done
        for end in range(at + 1, length + 1):
            if glue or (at, end) == (0, length):
                for part in parts.get((at, end), []):
                    steps, words, holes = done.steps + part.steps, done.words + part.words, done.holes + part.holes
                    yield from joined(Derivation(steps, done.parts + 1, words, holes), end)

    return joined(Derivation((), 0, ()), 0)


def log_probabilities(lm: LanguageModel, texts: Sequence[str]) -> list[float]:
    """What a language model says of each text, read word by word from its beginning to its end."""
    sentences = lm.sentences(Corpus.from_lines(texts))
    words = iter(lm.logprobs(sentences).tolist())
    return [math.log(10) * sum(itertools.islice(words, int(n) + 1)) for n in sentences.lengths]


def features(model: Model, derivation: Derivation, lm_scores: Mapping[str, float] | None = None) -> dict[str, float]:
    """The features of a derivation, by their definitions; those of language models may be known."""
    values = dict.fromkeys(model.feature_names, 0.0)
    for name, lm in model.language_models.items():
        values[name] = lm_scores[name] if lm_scores else log_probabilities(lm, [" ".join(derivation.words)])[0]
    values["glue"] = derivation.parts
    values["word_penalty"] = -len(derivation.words)
    values["rule_penalty"] = len(derivation.steps)
    for _, rule in derivation.steps:
        if rule.grammar == _UNKNOWN:
            values["unknown_word"] -= 100
        for g, (name, grammar) in enumerate(model.grammars.items()):
            if rule.grammar == _GIVEN and "fwd" in grammar.score_names:
                values[f"{name}.fwd"] += rule.row
            if rule.grammar == g:
                for i, score in enumerate(grammar.score_names):
                    values[f"{name}.{score}"] += float(grammar.log_scores[int(rule.row), i])
                if g:
                    values[f"{name}.penalty"] += 1
    return values


@dataclass(frozen=True, eq=False)
class Space:
    """A sentence with all its derivations, a row of features (in the order of the model's) and a score for each."""

    model: Model
    sentence: str
    derivations: list[Derivation]
    rows: NDArray[np.float64]
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, model: Model, sentence: str, **limits: Any) -> Space:
        """List the derivations of a sentence; for `limits` see `matches`."""
        found = matches(model, sentence, **limits)
        listed = list(derivations(found, len(sentence.split()), glue=model.settings.glue))
        texts = list(dict.fromkeys(" ".join(derivation.words) for derivation in listed))
        scores = {name: log_probabilities(lm, texts) for name, lm in model.language_models.items()}
        known = {text: {name: row[i] for name, row in scores.items()} for i, text in enumerate(texts)}
        rows = np.empty((len(listed), len(model.feature_names)))
        for i, derivation in enumerate(listed):
            rows[i] = [*features(model, derivation, known[" ".join(derivation.words)]).values()]
        return cls(model, sentence, listed, rows, rows @ model.weights.vector(model.feature_names))

    def with_features(
        self, weights: Mapping[str, float], values: Callable[[Rule, tuple[Span, ...]], Mapping[str, float]]
    ) -> Space:
        """The same with more features, which are sums over rules with their holes; rows have them last."""
        columns = np.zeros((len(self.derivations), len(weights)))
        for row, derivation in zip(columns, self.derivations, strict=True):
            for (_, rule), holes in zip(derivation.steps, derivation.holes, strict=True):
                found = values(rule, holes)
                row += [found.get(name, 0.0) for name in weights]
        scores = self.scores + columns @ np.array([*weights.values()])
        return replace(self, rows=np.concatenate([self.rows, columns], axis=1), scores=scores)

    @property
    def texts(self) -> dict[str, list[int]]:
        """The derivations of each translation, by number."""
        found: dict[str, list[int]] = {}
        for i, derivation in enumerate(self.derivations):
            found.setdefault(" ".join(derivation.words), []).append(i)
        return found


def random_space(rng: np.random.Generator, *, longest: int = 5, most: int = 300, **settings: Any) -> Space:
    """A random model of any size and limits with a sentence that has at most so many derivations, or none."""
    chosen = {
        "grammars": int(rng.integers(1, 4)),
        "language_models": int(rng.integers(0, 3)),
        "span_limit": int(rng.integers(1, 7)),
        "table_limit": int(rng.integers(0, 4)),
        "glue": bool(rng.random() < 0.8),
    }
    model = random_model(rng, **(chosen | settings))
    words = random_sentence(rng, longest).split()
    while number(matches(model, " ".join(words)), len(words), glue=model.settings.glue) > most:
        words.pop()
    return Space.of(model, " ".join(words))
