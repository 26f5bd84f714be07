"""Features that a model may have in addition to its dense ones; the type of a feature is its locality.

| type | sees | examples |
|---|---|---|
| `PairFeature` | one phrase pair or rule | `word_pair`, `class_pair`, `unlinked_words`, `phrase_length`, `rule_class` |
| `HoleFeature` | how a rule reorders its nonterminals, and how many words these cover | `structural_distortion` |
| `SpanFeature` | the span of a phrase or rule, in the parse tree of its sentence | `syntax` |
| `BoundaryFeature` | two neighbouring phrases of the target (not for rules) | `boundary_tags` |
| `OrientationFeature` | a phrase pair and where its neighbours stand (not for rules) | `sparse_reordering` |
| language models | the words before | dense, and parts of a model: `model/language_model.py` |
| `SentenceFeature` | a sentence and its translation, samplers only | `length_ratio`, `bracket_balance` |
| `DocumentFeature` | a document and its translation, samplers only | `lexical_consistency` |

`FEATURES.get("word-pair")` finds a feature by its name, `Model.with_features` gives it to a model, and
`Translator.of(..., features=[...])` uses it without changing the model. To add a feature, add a file here.
"""

from dragoman.model.feature_types import (
    FEATURES,
    GLOBAL_FEATURES,
    SPARSE_FEATURES,
    BoundaryFeature,
    CopyFeature,
    DocumentFeature,
    Feature,
    GlobalFeature,
    HoleFeature,
    HoleRows,
    ModelParts,
    OrientationFeature,
    PairFeature,
    PairsInUse,
    RulesInUse,
    SentenceFeature,
    SpanFeature,
    SpansInUse,
    SparseFeature,
    parse_feature,
)

__all__ = [
    "FEATURES",
    "GLOBAL_FEATURES",
    "SPARSE_FEATURES",
    "BoundaryFeature",
    "CopyFeature",
    "DocumentFeature",
    "Feature",
    "GlobalFeature",
    "HoleFeature",
    "HoleRows",
    "ModelParts",
    "OrientationFeature",
    "PairFeature",
    "PairsInUse",
    "RulesInUse",
    "SentenceFeature",
    "SpanFeature",
    "SpansInUse",
    "SparseFeature",
    "parse_feature",
]
