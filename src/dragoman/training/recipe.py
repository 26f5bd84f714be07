"""What a model gets over word classes: as asked for, or by default if the text is fit for classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from dragoman.core.feature_rows import Weights
from dragoman.core.options import Options, option
from dragoman.core.runtime import Runtime
from dragoman.features import SPARSE_FEATURES
from dragoman.model.bundle import Model
from dragoman.model.word_classes import MOST_CLASSES
from dragoman.training.classes import Clustering
from dragoman.training.pipeline import TrainRecipe
from dragoman.training.prepare import PreparedText

#: The feature that phrase-based models with word classes get.
_FEATURE = "sparse-reordering"

#: What a text gets that is fit for word classes.
_CLASSES, _ORDER = 50, 7

#: Least number of target words for word classes, and the largest, because classes are estimated in memory.
_LEAST_WORDS, _MOST_WORDS = 10_000, 5_000_000


@dataclass(frozen=True)
class ClassParts(Options):
    """Options of what a model has over word classes; those that are None are chosen by the text."""

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
        None, f"moses: the model that Moses would train, without word classes and {_FEATURE}"
    )

    def added_to(self, recipe: TrainRecipe, text: PreparedText, *, runtime: Runtime = Runtime()) -> TrainRecipe:
        """Return the recipe with what a text gets over word classes, and say what was chosen and why."""
        classes, order = self.classes, self.class_lm_order
        if classes is None:
            classes = _CLASSES if order or _is_fit(text, runtime) else 0
        if order is None:
            order = _ORDER if classes else 0
        features = list(recipe.features)
        reorders = bool(classes) and self.preset is None and recipe.rule_model is None
        if reorders and all(feature.name != _FEATURE for feature in features):
            features.append(SPARSE_FEATURES.get(_FEATURE)())
        if classes and order and self.classes is None and self.class_lm_order is None:
            runtime.note(
                f"the model gets {classes} word classes, a language model of order {order} over them"
                f"{f' and {_FEATURE}' if reorders else ''}, which gave better translations of all languages that were"
                " tried; tune it with mira, or leave them out by the preset moses"
            )
        clustering = Clustering(classes=classes) if classes else None
        return replace(recipe, features=features, clustering=clustering, class_lm_order=order)


def without_classes(model: Model) -> Model:
    """Return an untuned model without its word classes and all that looks at them."""
    language_models = {name: lm for name, lm in model.language_models.items() if lm.classes is None}
    dropped = model.language_models.keys() - language_models.keys()
    return replace(
        model,
        language_models=language_models,
        features={feature: learnt for feature, learnt in model.features.items() if not feature.class_sides},
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
