"""Features that a model may have beside its dense ones, one a file: `EXTRA_FEATURES.get("word-pair")()`."""

from dragoman.core.registry import Registry
from dragoman.model.extra_features.feature import ExtraFeature

EXTRA_FEATURES: Registry[ExtraFeature] = Registry(
    "feature",
    "dragoman.model.extra_features",
    ExtraFeature,  # type: ignore[type-abstract]
)

__all__ = ["EXTRA_FEATURES", "ExtraFeature"]
