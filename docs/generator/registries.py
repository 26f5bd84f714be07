"""Everything that can be chosen by name: a page for each registry, with every class in it and all their options."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from dragoman.core.options import Options, Registry
from generator.markdown import code, prose, slug, summary, table
from generator.options import import_everything, options_table


class Introduction(NamedTuple):
    """The title of a registry's page, and how one chooses from it."""

    title: str
    text: str


_INTRODUCTIONS = {
    "aligner": Introduction(
        "Aligners",
        "`dragoman train --aligner NAME` and `dragoman align --aligner NAME`; options with"
        " `--aligner-option NAME=VALUE`.",
    ),
    "corpus": Introduction(
        "Corpora", "`dragoman corpora build NAME --out FOLDER`; options with `--option NAME=VALUE`."
    ),
    "estimator": Introduction(
        "Estimators of expected utility",
        "`dragoman mbr --estimator NAME`, options with `--estimator-option NAME=VALUE`; `dm.mbr(…, estimator=NAME)`.",
    ),
    "feature": Introduction(
        "Extra features",
        "Sparse features that a model may have: `dragoman model add-features MODEL --feature NAME:OPTION=VALUE,…`."
        " Values are called `prefix.something` and weighted by name.",
    ),
    "global_feature": Introduction(
        "Global features",
        "Features of whole sentences or documents, which only sampling can score: `dragoman model add-features MODEL"
        " --global NAME:OPTION=VALUE,…`, or to try one out `dragoman sample --global-feature NAME=WEIGHT`.",
    ),
    "metric": Introduction(
        "Metrics",
        "`--metric NAME`, `--metric NAME:OPTION=VALUE,…` or a weighted sum such as `0.5*bleu-0.5*ter`, wherever a"
        " command takes a metric.",
    ),
    "nbest_format": Introduction(
        "Formats of n-best lists",
        "`--format NAME` of `dragoman rerank` and `dragoman mbr`, which otherwise look at the file's first lines;"
        " options with `--format-option NAME=VALUE`.",
    ),
    "rule": Introduction(
        "Decision rules",
        "`dragoman translate --decision NAME`, options with `--decision-option NAME=VALUE`; `[[decision]]` in the"
        " plan of an experiment. `takes` are the kinds of evidence that a rule decides by, what suits it best first.",
    ),
    "tagger": Introduction("Taggers", "`dragoman tag --tagger NAME`; options with `--tagger-option NAME=VALUE`."),
    "tuner": Introduction(
        "Tuning methods",
        "`dragoman tune --method NAME`, options with `--method-option NAME=VALUE`; `[[method]]` in the plan of an"
        " experiment.",
    ),
    "utility": Introduction(
        "Neural metrics",
        "`dragoman mbr --utility NAME:model=FOLDER,OPTION=VALUE,…`; each is an extra of the package.",
    ),
}


def registries() -> dict[str, Registry[Any]]:
    """All registries of the package, by kind."""
    import_everything()
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("dragoman")]
    found = [member for module in modules for member in vars(module).values() if isinstance(member, Registry)]
    whole = [registry for registry in found if not registry.parts]  # others are shown by their parts
    return {registry.kind: registry for registry in sorted(whole, key=lambda registry: registry.kind)}


def named_classes() -> set[type[Options]]:
    """All classes that can be chosen by name."""
    return {registry.get(name) for registry in registries().values() for name in registry.names()}


def introduction(kind: str) -> Introduction:
    """The introduction of a kind, also of one that nobody has introduced yet."""
    return _INTRODUCTIONS.get(kind, Introduction(f"{kind.replace('_', ' ').capitalize()}s", ""))


def pages() -> Mapping[str, str]:
    """A page for each registry."""
    return {f"{slug(introduction(kind).title)}.md": _page(registry) for kind, registry in registries().items()}


def _page(registry: Registry[Any]) -> str:
    title, text = introduction(registry.kind)
    classes = {name: registry.get(name) for name in registry.names()}
    rows = ([f"[{name}](#{slug(name)})", summary(cls.__doc__)] for name, cls in classes.items())
    listed = table(["name", "what it is"], rows)
    sections = "\n".join(_section(name, cls) for name, cls in classes.items())
    added = f"Other packages can add some through the entry-point group `dragoman.{registry.kind}`."
    return f"# {title}\n\n{text}\n\n{added}\n\n{listed}\n{sections}"


def _section(name: str, cls: type[Any]) -> str:
    facts = [f"`{cls.__module__}.{cls.__name__}`", *(f"{code(fact)}: {shown}" for fact, shown in _facts(cls))]
    listed = "".join(f"- {fact}\n" for fact in facts)
    options = options_table(cls) if dataclasses.is_dataclass(cls) else ""
    module = inspect.getmodule(cls)
    about = prose(module.__doc__) if module is not None and module.__doc__ else ""
    parts = [f"## {name} {{ #{slug(name)} }}", about, prose(cls.__doc__), listed, options or "It has no options.\n"]
    return "\n\n".join(part for part in parts if part)


def _facts(cls: type[Any]) -> list[tuple[str, str]]:
    """Return what classes of a kind declare besides their options: the class variables of their base."""
    hints = typing.get_type_hints(cls, include_extras=True)
    declared = [name for name, hint in hints.items() if typing.get_origin(hint) is ClassVar]
    return [
        (name, _shown(getattr(cls, name)))
        for name in declared
        if name != "name" and not name.startswith("_") and hasattr(cls, name)
    ]


def _shown(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, tuple | list | set | frozenset):
        return ", ".join(str(part) for part in fact)
    return prose(str(fact))
