"""Refinements of a model beyond what Moses trains: as asked for, or by default if the text is fit for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.features import SPARSE_FEATURES, SparseFeature
from dragoman.model.bundle import Model
from dragoman.model.word_classes import MOST_CLASSES
from dragoman.training.classes import Clustering
from dragoman.training.pipeline import TrainRecipe
from dragoman.training.prepare import PreparedText
from dragoman.training.score import PhraseSmoothing

#: What a text gets that is fit for word classes: their number, the order of the language model over them, the feature
#: of phrase-based models, and the smoothing of their phrase table.
_CLASSES, _ORDER, _FEATURE = 50, 7, "sparse-reordering"
_SMOOTHING: PhraseSmoothing = "good-turing"

#: Least number of target words for word classes, and the largest, because classes are estimated in memory.
_LEAST_WORDS, _MOST_WORDS = 10_000, 5_000_000


@dataclass(frozen=True)
class Refinements(Options):
    """Options for refinements of a model; those that are None are chosen by the text."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"moses": {"classes": 0, "class_lm_order": 0}}

    classes: int | None = option(
        None,
        f"number of word classes of each language, 0: none; by default {_CLASSES}, and none for characters, for less"
        f" than {_LEAST_WORDS:,} and for more than {_MOST_WORDS:,} target words",
        minimum=0,
        maximum=MOST_CLASSES,
    )
    class_lm_order: int | None = option(
        None,
        f"order of a further language model, over word classes, 0: none; by default {_ORDER} if there are classes",
        minimum=0,
        maximum=16,
    )
    preset: Literal["moses"] | None = option(
        None, f"moses: the model that Moses would train, without word classes, {_FEATURE} and smoothing"
    )

    def refined(self, recipe: TrainRecipe, text: PreparedText, *, runtime: Runtime = Runtime()) -> TrainRecipe:
        """Return the recipe with what this text gets, and say what was chosen and why."""
        classes, order = self.classes, self.class_lm_order
        if classes is None:
            classes = _CLASSES if order or _is_fit_for_classes(text, runtime) else 0
        if order is None:
            order = _ORDER if classes else 0
        recipe = replace(recipe, clustering=Clustering(classes=classes) if classes else None, class_lm_order=order)
        if self.preset is None and recipe.rule_model is None:
            if classes and all(feature.name != _FEATURE for feature in recipe.features):
                recipe = replace(recipe, features=[*recipe.features, SPARSE_FEATURES.get(_FEATURE)()])
            if recipe.phrase_model.smoothing is None and _is_large(text):
                recipe = replace(recipe, phrase_model=replace(recipe.phrase_model, smoothing=_SMOOTHING))
        if classes and self.classes is None and self.class_lm_order is None:
            runtime.note(
                f"the model gets {classes} word classes and {_described(recipe)}, which raised BLEU on held-out"
                " French, German and Japanese text; tune it with mira, or train without them by the preset moses"
            )
        return recipe


def _described(recipe: TrainRecipe) -> str:
    over = f"a language model of order {recipe.class_lm_order} over them"
    return over if recipe.rule_model else f"{over}, {_FEATURE} and {recipe.phrase_model.smoothing} smoothing"


def _is_large(text: PreparedText) -> bool:
    """Return whether the text has enough words for counts of counts and of classes to tell something."""
    return text.settings.units == "words" and text.bitext.target.words >= _LEAST_WORDS


def _is_fit_for_classes(text: PreparedText, runtime: Runtime) -> bool:
    """Return whether word classes are worth their while; say so if a text of words gets none."""
    words = text.bitext.target.words
    fits = _is_large(text) and words <= _MOST_WORDS
    if not fits and text.settings.units == "words":
        runtime.note(
            f"{words:,} target words are too {'few' if words < _LEAST_WORDS else 'many'} for word classes by default,"
            " so the model has none; the option classes gives it some"
        )
    return fits


def without_classes(model: Model) -> Model:
    """Return an untuned model without its word classes and all that looks at them."""
    language_models = {name: lm for name, lm in model.language_models.items() if lm.classes is None}
    dropped = model.language_models.keys() - language_models.keys()
    needing = [feature for feature in model.features if isinstance(feature, SparseFeature) and feature.class_sides]
    return replace(
        model,
        language_models=language_models,
        features={feature: learnt for feature, learnt in model.features.items() if feature not in needing},
        word_classes={},
        weights=Weights({name: value for name, value in model.weights.items() if name not in dropped}),
    )


def _is_fit(text: PreparedText, runtime: Runtime) -> bool:
    """Return whether word classes are worth their while; say so if they are not."""
    words = text.bitext.target.words
    if text.settings.units == "characters" or _LEAST_WORDS <= words <= _MOST_WORDS:
        return text.settings.units != "characters"
    few = words < _LEAST_WORDS
    runtime.note(
        f"{words:,} target words are too {'few' if few else 'many'} for word classes by default, so the model has none;"
        " the option classes gives it some"
    )
    return False
