"""Training a normaliser: a model of characters, tuned; then the choice among its candidates and those of memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.normalisation.characters import LIMITS, CharacterModel, character_model, tuned_weights, words_model
from dragoman.normalisation.choice import WEIGHTS, Choice, Context, tuned_choice
from dragoman.normalisation.evaluate import right
from dragoman.normalisation.examples import Capitals, Examples, Spelling
from dragoman.normalisation.lexicon import Lexicon, Memory
from dragoman.normalisation.lists import Lists, Normalised, Proposer
from dragoman.normalisation.normaliser import Normaliser
from dragoman.search.translator import Translator
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem

#: Without a development set, fewer examples cannot be cut into parts that teach anything.
FEWEST = 20

#: Where the weights of the choice begin beside those of the model.
START = {"known": 0.5, "share": 1.0, "letters": 0.2}

#: A model, the examples that it was trained on, and those that stand in for a text to normalise.
Part = tuple[Model, Examples, Examples]


@dataclass(frozen=True)
class Learning(Options):
    """How the choice among candidates is learnt."""

    candidates: int = option(40, "what the model proposes for each form", minimum=1, maximum=1000)
    choice: str = option("mert", "what tunes the weights of the choice: any method that takes n-best lists")
    context: bool = option(False, "learn to choose words together with their neighbours too; takes running text")
    folds: int = option(4, "without a development set, parts of the examples that stand in for one in turn", minimum=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(TUNERS.get(self.choice), Tuner) or not TUNERS.get(self.choice).takes(Problem):  # type: ignore[attr-defined]
            raise UsageError(f"choice is '{self.choice}'; expected a method that takes n-best lists, such as mert")

    @property
    def tuner(self) -> Tuner:
        """What tunes the choice."""
        made = TUNERS.get(self.choice)()
        assert isinstance(made, Tuner)
        return made


def train_normaliser(
    examples: Examples,
    dev: Examples | None = None,
    lexicon: Lexicon = Lexicon(),
    *,
    spelling: Spelling = Spelling(),
    characters: CharacterModel = CharacterModel(),
    learning: Learning = Learning(),
    words: LanguageModel | None = None,
    seed: int = 1,
    runtime: Runtime = Runtime(),
) -> Normaliser:
    """Train on examples; weights are tuned on `dev`, or where there is none, on each part of the examples in turn.

    `lexicon` are modern words, the more the better; `words` is the model that `words_model` makes of them, if it is
    there already. What is memorised comes from the examples alone.
    """
    if not len(examples):
        raise DataError("there are no examples", expected="some historical forms with their modern forms")
    if dev is not None and not len(dev):
        raise DataError(
            "the development set is empty", expected="examples in it, or none at all: parts stand in for it"
        )
    if dev is None and len(examples) < FEWEST:
        raise DataError(f"there are {len(examples)} examples", expected=f"at least {FEWEST}, or a development set")
    if words is None:
        with runtime.stage("learning how modern words are spelt"):
            words = words_model(lexicon, characters, runtime=runtime)
    work = _Training(lexicon, words, characters, learning, seed, runtime)
    if dev is not None:
        model = work.tuned(work.model(examples), dev)
        parts = [(model, examples, dev)]
    else:
        parts = work.in_turn(examples)
        model = replace(work.model(examples), weights=parts[0][0].weights)
    choice = work.choice(parts)

    def normaliser(model: Model, known: Examples) -> Normaliser:
        return Normaliser(model, Memory.of(known), lexicon, choice, spelling, learning.candidates, capitals=capitals)

    capitals = Capitals.of(examples.capitalised)
    found = normaliser(model, examples)
    if not learning.context:
        return found
    tried, known, held_out = parts[0]
    weight = context_weight(normaliser(tried, known), known, held_out, runtime=runtime)
    return replace(found, context=Context.of(examples, weight, runtime=runtime))


class _Training:
    """The steps of training, with what all of them need."""

    def __init__(
        self,
        lexicon: Lexicon,
        words: LanguageModel | None,
        characters: CharacterModel,
        learning: Learning,
        seed: int,
        runtime: Runtime,
    ):
        self.lexicon, self.words, self.characters, self.learning = lexicon, words, characters, learning
        self.seed, self.runtime = seed, runtime

    def model(self, examples: Examples) -> Model:
        """Train a model of characters, untuned."""
        with self.runtime.stage("learning how spelling changed"):
            return character_model(examples, self.words, self.characters, runtime=self.runtime)

    def tuned(self, model: Model, dev: Examples) -> Model:
        """Give a model weights that suit a development set."""
        with self.runtime.stage("weighing what was learnt"):
            weights = tuned_weights(model, dev.forms, self.characters, seed=self.seed, runtime=self.runtime)
        return replace(model, weights=weights)

    def choice(self, parts: Sequence[Part]) -> Choice:
        """Learn to choose on development sets, each with a model and the examples that this was trained on."""
        lists: list[Lists] = []
        gold: list[Counter[str]] = []
        with self.runtime.stage("proposing candidates") as progress_callback:
            for i, (model, examples, dev) in enumerate(parts):
                translator = Translator.of(model, limits=LIMITS, runtime=self.runtime.quiet())
                proposer = Proposer(translator, Memory.of(examples), self.lexicon, self.learning.candidates)
                lists += proposer.lists([*dev.forms])
                gold += dev.forms.values()
                progress_callback((i + 1) / len(parts))
        start = parts[0][0].weights.updated(START)
        return tuned_choice(
            Lists.concatenate(lists), gold, start, self.learning.tuner, seed=self.seed, runtime=self.runtime
        )

    def in_turn(self, examples: Examples) -> list[Part]:
        """Leave out each part of the examples in turn, and train on the rest; weights suit the first part."""
        bounds = [i * len(examples) // self.learning.folds for i in range(self.learning.folds + 1)]
        parts: list[Part] = []
        for begin, end in pairwise(bounds):
            rest, part = examples.without(begin, end), examples.first(end - begin, begin)
            model = self.model(rest)
            weights = parts[0][0].weights if parts else self.tuned(model, part).weights
            parts.append((replace(model, weights=weights), rest, part))
        return parts


def context_weight(normaliser: Normaliser, known: Examples, dev: Examples, *, runtime: Runtime = Runtime()) -> float:
    """Find how much the neighbours of words should weigh, by accuracy on a development set; the least of equals."""
    words = [token.historical for token in dev.tokens]
    forms = normaliser.forms(words, runtime=runtime)
    alone = [forms.get(word, Normalised(word, 1.0)) for word in words]
    context = Context.of(known, runtime=runtime)
    scores = {}
    for weight in WEIGHTS:
        weighed = replace(context, weight=weight)
        found = [one.modern for begin, end in pairwise(dev.bounds) for one in weighed.chosen(alone[begin:end])]
        scores[weight] = int(right(dev, found).sum())
    best = max(WEIGHTS, key=lambda weight: (scores[weight], -weight))
    runtime.note(f"context weighs {best:g}: {scores[best]:,} of {len(dev):,} tokens right, {scores[0.0]:,} without it")
    return best
