"""Features that a model may have beside its dense ones; how far a feature sees is its type.

| type | sees | examples |
|---|---|---|
| `PairFeature` | one phrase pair or rule | `word_pair`, `unlinked_words`, `phrase_length`, `rule_class` |
| `HoleFeature` | what a rule does with its holes, and how large these are | `structural_distortion` |
| `SpanFeature` | the span of a phrase or rule, in the tree of its sentence | `syntax` |
| `BoundaryFeature` | two neighbours in the target, phrases only | `boundary_tags` |
| language models | some words before | dense, and parts of a model: `model/language_model.py` |
| `SentenceFeature` | a sentence and its translation, samplers only | `length_ratio`, `bracket_balance` |
| `DocumentFeature` | a document and its translation, samplers only | `lexical_consistency` |

`FEATURES.get("word-pair")` finds a feature by its name, `Model.with_features` gives it to a model, and
`Translator.of(..., features=[...])` uses it without. A new file here is all that a new feature takes.
"""

from dragoman.model.feature_types import (
    FEATURES,
    GLOBAL_FEATURES,
    SPARSE_FEATURES,
    BoundaryFeature,
    DocumentFeature,
    Feature,
    GlobalFeature,
    HoleFeature,
    HoleRows,
    ModelParts,
    PairFeature,
    PairsInUse,
    RulesInUse,
    SentenceFeature,
    SpanFeature,
    SpansInUse,
    SparseFeature,
)

__all__ = [
    "FEATURES",
    "GLOBAL_FEATURES",
    "SPARSE_FEATURES",
    "BoundaryFeature",
    "DocumentFeature",
    "Feature",
    "GlobalFeature",
    "HoleFeature",
    "HoleRows",
    "ModelParts",
    "PairFeature",
    "PairsInUse",
    "RulesInUse",
    "SentenceFeature",
    "SpanFeature",
    "SpansInUse",
    "SparseFeature",
]
