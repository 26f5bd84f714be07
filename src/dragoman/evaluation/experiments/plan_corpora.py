"""The corpora of an experiment's plan, and the systems that are trained on them before anything is tuned.

[[corpus]]                                  # that of the domain first
name = "in"
source = "mine.fr"
target = "mine.en"

[[corpus]]
name = "web"
source = "web.fr"
target = "web.en"

[adapt]
systems = ["in", "joint", "perp", "pro-mix"]
tokenised = true                            # and whatever else `dragoman adapt` takes
aligner = "hmm"
lm = { order = 3 }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.core.checksums import CHECKSUMS, checksum
from dragoman.core.digest import digest
from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.evaluation.experiments.kept_files import KeptFiles
from dragoman.metrics.references import reference_files
from dragoman.training.adapt_recipe import AdaptRecipe, check_systems
from dragoman.tuning.runs.job import Job

_CORPUS = ("name", "source", "target")

#: The system whose shares are weights, and the method that tunes these.
_MIXED = "pro-mix"


@dataclass(frozen=True)
class PlannedSystems:
    """Systems to train on corpora, each a model in a folder of its own."""

    corpora: Mapping[str, tuple[Path, Path]]
    names: tuple[str, ...]
    recipe: AdaptRecipe
    out: Path

    def folder(self, name: str) -> Path:
        """Where the model of a system is."""
        return self.out / name

    @property
    def folders(self) -> list[Path]:
        """Where the models are."""
        return [self.folder(name) for name in self.names]

    def _described(self, name: str) -> list[Path]:
        """The files of a model that say what it is; checksums of its arrays are among them."""
        return [self.folder(name) / file for file in ("model.toml", "weights.txt", CHECKSUMS)]

    def content(self) -> dict[str, str]:
        """What the corpora hold, in a few letters each."""
        return {f"corpus {name}": digest(files) for name, files in self.corpora.items()}

    def methods(self) -> list[dict[str, str]]:
        """The methods of a plan that names none: each system tuned by PRO, that with shares by PRO-mix."""
        return [{"name": name, "use": _MIXED if name == _MIXED else "pro", "system": name} for name in self.names]

    def train(self, job: Job, *, runtime: Runtime = Runtime()) -> None:
        """Train the systems that are not there yet, with the tuning set of a job."""
        files = KeptFiles(self.out)
        missing = [name for name in self.names if not all(files.has(path) for path in self._described(name))]
        if not missing:
            return
        reference, *_ = reference_files(job.references)
        systems = self.recipe.read(self.corpora, job.source, reference, runtime=runtime)
        for name in missing:
            systems.model(name).save(self.folder(name))
            files.note((path, checksum(path)) for path in self._described(name))
            runtime.note(f"system {name} is trained")


def planned_systems(path: Path, values: Mapping[str, Any], out: Path) -> PlannedSystems | None:
    """Make systems of the tables `[[corpus]]` and `[adapt]` of a plan, or none if it has neither."""
    rows, adapt = values.get("corpus"), values.get("adapt")
    if rows is None and adapt is None:
        return None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or len(rows) < 2:
        raise DataError("has [adapt] without corpora", path=path, expected="two or more [[corpus]], the domain's first")
    if not isinstance(adapt, dict):
        raise DataError("has corpora without [adapt]", path=path, expected='[adapt] with systems = ["perp"], say')
    if "model" in values:
        raise DataError("has a 'model', and [adapt] to train some", path=path, expected="one of them")
    corpora = _corpora(path, rows)
    try:
        options = dict(adapt)
        names = options.pop("systems", None)
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise UsageError(f"systems is {names!r}; expected a list of one or more names")
        check_systems(names, "system")
        apart = {key: options.pop(key) for key in ("aligner", "aligner_options", "lm") if key in options}
        for key in apart.keys() & {"aligner_options", "lm"}:
            if not isinstance(apart[key], dict):
                raise UsageError(f"{key} is {apart[key]!r}; expected {{ name = value }}")
        recipe = AdaptRecipe.from_dict(options, **apart)
    except UsageError as error:
        raise DataError(f"has [adapt] in which {error}", path=path) from None
    return PlannedSystems(corpora, tuple(names), recipe, out)


def _corpora(path: Path, rows: list[Mapping[str, Any]]) -> dict[str, tuple[Path, Path]]:
    found: dict[str, tuple[Path, Path]] = {}
    for row in rows:
        if set(row) != set(_CORPUS) or not all(isinstance(value, str) for value in row.values()):
            raise DataError(f"has a corpus with {', '.join(row) or 'nothing'}", path=path, expected=", ".join(_CORPUS))
        name, files = row["name"], (path.parent / row["source"], path.parent / row["target"])
        same = [other for other, before in found.items() if other == name or before == files]
        if same:
            what = "two corpora called" if same[0] == name else f"the corpus {name} with the files of"
            raise DataError(f"has {what} {same[0]}", path=path, expected="each once")
        for file in files:
            if not file.exists():
                raise DataError(f"has a corpus {name} of '{file}', which is not there", path=path)
        found[name] = files
    return found
