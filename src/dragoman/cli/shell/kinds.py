"""What can be chosen by name, by kind: where its registry is, loaded when it is wanted, and how one is chosen."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from dragoman.core.options import Options
from dragoman.core.registry import Registry


@dataclass(frozen=True)
class Kind:
    """A kind of things that can be chosen by name."""

    title: str
    registry_module: str
    registry_name: str
    usage: str
    #: The options of commands whose values are such names.
    chosen_by: tuple[str, ...] = ()

    @property
    def registry(self) -> Registry[Options]:
        """Where they are found."""
        found: Registry[Options] = getattr(importlib.import_module(self.registry_module), self.registry_name)
        return found


#: All kinds, by the names that `dragoman methods` knows them by.
KINDS = {
    "aligner": Kind(
        "aligner",
        "dragoman.training.align",
        "ALIGNERS",
        "dragoman train --aligner {}, options with --aligner-option NAME=VALUE",
        ("aligner",),
    ),
    "corpus": Kind(
        "corpus",
        "dragoman.corpora",
        "CORPORA",
        "dragoman corpora build {} --out FOLDER, options with --option NAME=VALUE",
    ),
    "decision": Kind(
        "decision rule",
        "dragoman.decision",
        "RULES",
        "dragoman translate --decision {}, options with --decision-option NAME=VALUE",
        ("decision",),
    ),
    "feature": Kind(
        "extra feature",
        "dragoman.features",
        "SPARSE_FEATURES",
        "dragoman model add-features MODEL --feature {}:OPTION=VALUE,..",
        ("feature",),
    ),
    "format": Kind(
        "format of n-best lists",
        "dragoman.formats.nbest.format",
        "NBEST_FORMATS",
        "dragoman mbr --format {}, options with --format-option NAME=VALUE",
        ("format_name", "evidence_format"),
    ),
    "global-feature": Kind(
        "global feature",
        "dragoman.features",
        "GLOBAL_FEATURES",
        "dragoman model add-features MODEL --global {}:OPTION=VALUE,..",
        ("global_feature",),
    ),
    "method": Kind(
        "tuning method",
        "dragoman.tuning",
        "TUNERS",
        "dragoman tune --method {}, options with --method-option NAME=VALUE",
        ("method",),
    ),
    "metric": Kind(
        "metric",
        "dragoman.metrics",
        "METRICS",
        "--metric {} or --metric {}:OPTION=VALUE,.. of many commands",
        ("metric",),
    ),
    "tagger": Kind(
        "tagger",
        "dragoman.training.tag",
        "TAGGERS",
        "dragoman tag --tagger {}, options with --tagger-option NAME=VALUE",
        ("tagger",),
    ),
}


def chosen_by(parameter: str) -> Kind | None:
    """The kind of things that an option of a command chooses from."""
    return next((kind for kind in KINDS.values() if parameter in kind.chosen_by), None)
