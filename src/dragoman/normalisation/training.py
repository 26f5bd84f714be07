"""Training of a normaliser: a tuned model of characters, then the choice among its and the memorised candidates."""

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
from dragoman.normalisation.candidate_lists import CandidateGenerator, CandidateLists, NormalisedWord
from dragoman.normalisation.characters import LIMITS, CharacterModel, character_model, tune_weights, words_model
from dragoman.normalisation.choice import CONTEXT_WEIGHTS, CandidateScorer, ContextModel, tune_scorer
from dragoman.normalisation.evaluate import is_correct
from dragoman.normalisation.examples import Capitals, Examples, Spelling
from dragoman.normalisation.lexicon import Lexicon, Memory
from dragoman.normalisation.normaliser import SpellingNormaliser
from dragoman.search.translator import Translator
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem

#: Least number of examples without a development set: they are cut into folds.
FEWEST = 20

#: Initial weights of the choice, beside those of the model.
START = {"known": 0.5, "share": 1.0, "letters": 0.2}

#: A model, the examples that it was trained on, and held-out examples.
Fold = tuple[Model, Examples, Examples]


@dataclass(frozen=True)
class Learning(Options):
    """Options of training the choice among candidates."""

    candidates: int = option(40, "candidates of the model for each form", minimum=1, maximum=1000)
    choice: str = option("mert", "tuning method for choosing among candidates: any that takes n-best lists")
    context: bool = option(False, "choose words together with their neighbours; needs examples of running text")
    folds: int = option(4, "folds of cross-validation on the examples, if there is no development set", minimum=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(TUNERS.get(self.choice), Tuner) or not TUNERS.get(self.choice).takes(Problem):  # type: ignore[attr-defined]
            raise UsageError(f"choice is '{self.choice}'; expected a method that takes n-best lists, such as mert")

    @property
    def tuner(self) -> Tuner:
        """The tuner of the choice."""
        made = TUNERS.get(self.choice)()
        assert isinstance(made, Tuner)
        return made


@dataclass(frozen=True)
class NormaliserRecipe:
    """Options of each stage of training a normaliser, and the seed."""

    spelling: Spelling = Spelling()
    characters: CharacterModel = CharacterModel()
    learning: Learning = Learning()
    seed: int = 1


def train_normaliser(
    examples: Examples,
    dev: Examples | None = None,
    lexicon: Lexicon = Lexicon(),
    recipe: NormaliserRecipe = NormaliserRecipe(),
    *,
    words: LanguageModel | None = None,
    runtime: Runtime = Runtime(),
) -> SpellingNormaliser:
    """Train on examples; weights are tuned on `dev`, or if there is none, on each part of the examples in turn.

    `lexicon` is a list of modern words, the more the better; `words` is the language model that `words_model` makes of
    it, if there is one already. Only the examples are memorised.
    """
    if not len(examples):
        raise DataError("there are no examples", expected="some historical forms with their modern forms")
    if dev is not None and not len(dev):
        raise DataError(
            "the development set is empty",
            expected="examples in it, or no development set: cross-validation replaces it",
        )
    if dev is None and len(examples) < FEWEST:
        raise DataError(f"there are {len(examples)} examples", expected=f"at least {FEWEST}, or a development set")
    if words is None:
        with runtime.stage("training the language model of modern words"):
            words = words_model(lexicon, recipe.characters, runtime=runtime)
    work = _Training(lexicon, words, recipe, runtime)
    if dev is not None:
        model = work.tuned(work.model(examples), dev)
        parts = [(model, examples, dev)]
    else:
        parts = work.cross_validate(examples)
        model = replace(work.model(examples), weights=parts[0][0].weights)
    choice = work.choice(parts)

    def normaliser(model: Model, known: Examples) -> SpellingNormaliser:
        candidates = recipe.learning.candidates
        return SpellingNormaliser(
            model, Memory.of(known), lexicon, choice, recipe.spelling, candidates, capitals=capitals
        )

    capitals = Capitals.of(examples.capitalised)
    found = normaliser(model, examples)
    if not recipe.learning.context:
        return found
    tried, known, held_out = parts[0]
    weight = context_weight(normaliser(tried, known), known, held_out, runtime=runtime)
    return replace(found, context=ContextModel.of(examples, weight, runtime=runtime))


@dataclass(frozen=True, eq=False)
class _Training:
    """The stages of training, with what all of them need."""

    lexicon: Lexicon
    words: LanguageModel | None
    recipe: NormaliserRecipe
    runtime: Runtime

    def model(self, examples: Examples) -> Model:
        """Train an untuned model of characters."""
        with self.runtime.stage("training the model of characters"):
            return character_model(examples, self.words, self.recipe.characters, runtime=self.runtime)

    def tuned(self, model: Model, dev: Examples) -> Model:
        """Tune the weights of a model on a development set."""
        with self.runtime.stage("tuning the model of characters"):
            weights = tune_weights(
                model, dev.forms, self.recipe.characters, seed=self.recipe.seed, runtime=self.runtime
            )
        return replace(model, weights=weights)

    def choice(self, parts: Sequence[Fold]) -> CandidateScorer:
        """Train the choice on development sets, each with a model and the examples that it was trained on."""
        lists: list[CandidateLists] = []
        gold: list[Counter[str]] = []
        with self.runtime.stage("generating candidates") as progress_callback:
            for i, (model, examples, dev) in enumerate(parts):
                translator = Translator.of(model, limits=LIMITS, runtime=self.runtime.quiet())
                generator = CandidateGenerator(
                    translator, Memory.of(examples), self.lexicon, self.recipe.learning.candidates
                )
                lists += generator.lists([*dev.forms])
                gold += dev.forms.values()
                progress_callback((i + 1) / len(parts))
        start = parts[0][0].weights.updated(START)
        return tune_scorer(
            CandidateLists.concatenate(lists),
            gold,
            start,
            self.recipe.learning.tuner,
            seed=self.recipe.seed,
            runtime=self.runtime,
        )

    def cross_validate(self, examples: Examples) -> list[Fold]:
        """Hold out each fold of the examples in turn, and train on the rest; weights are tuned on the first fold."""
        bounds = [i * len(examples) // self.recipe.learning.folds for i in range(self.recipe.learning.folds + 1)]
        parts: list[Fold] = []
        for begin, end in pairwise(bounds):
            rest, part = examples.without(begin, end), examples.first(end - begin, begin)
            model = self.model(rest)
            weights = parts[0][0].weights if parts else self.tuned(model, part).weights
            parts.append((replace(model, weights=weights), rest, part))
        return parts


def context_weight(
    normaliser: SpellingNormaliser, known: Examples, dev: Examples, *, runtime: Runtime = Runtime()
) -> float:
    """Return the weight of the context with the highest accuracy on a development set; the least of equal ones."""
    words = [token.historical for token in dev.tokens]
    forms = normaliser.forms(words, runtime=runtime)
    alone = [forms.get(word, NormalisedWord(word, 1.0)) for word in words]
    context = ContextModel.of(known, runtime=runtime)
    scores = {}
    for weight in CONTEXT_WEIGHTS:
        weighed = replace(context, weight=weight)
        found = [one.modern for begin, end in pairwise(dev.bounds) for one in weighed.choose(alone[begin:end])]
        scores[weight] = int(is_correct(dev, found).sum())
    best = max(CONTEXT_WEIGHTS, key=lambda weight: (scores[weight], -weight))
    runtime.note(
        f"weight of context {best:g}: {scores[best]:,} of {len(dev):,} tokens correct, {scores[0.0]:,} without"
    )
    return best
