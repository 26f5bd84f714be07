"""Models by name, each with its languages and sets of weights, and watched: others may write into its files."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from dragoman.core.errors import DragomanError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.store import Origin, array_origins, changed_in_place, copied_arrays
from dragoman.front.system import System, load
from dragoman.normalisation.normaliser import MODEL, NAME, SpellingNormaliser
from dragoman.serve import schemas
from dragoman.serve.limits import RequestError, refusal_of

T = TypeVar("T")

_log = logging.getLogger("dragoman.serve")

#: Seconds between two looks at files, unless one is asked for: a look takes microseconds for each file.
_LOOK = 0.05


class ReloadableFiles(Generic[T]):
    """An object that was loaded from the files of a folder, while they are as their `origins` say.

    Its arrays are mapped: to use them when a file has become shorter would end the process. Once a file was written
    into, the object is refused, and loaded again in a thread of its own; if that fails, once more after the next
    change. Files that were replaced or removed stay whole while they are mapped, and are used on.
    """

    def __init__(self, name: str, folder: Path, origins: Mapping[str, Origin], first: T, load: Callable[[], T]):
        self._name, self._folder, self._load = name, folder, load
        self._lock = threading.Lock()
        self._origins = origins
        self._loaded: T | None = first
        self._looked = time.monotonic()
        self._reader: threading.Thread | None = None
        self._tried: Mapping[str, Origin] | None = None
        self._reason = ""
        self.when_changed: list[Callable[[], None]] = []

    def current(self, *, look: bool = False) -> T:
        """Return the object, or refuse it and say why; `look` at the files in any case."""
        with self._lock:
            now = time.monotonic()
            if look or now - self._looked >= _LOOK:
                self._looked = now
                self._look()
            if self._loaded is not None:
                return self._loaded
            if self._reader is not None:
                raise RequestError(
                    503, f"{self._subject} was changed while it was served, and is read again", retry_after=1
                )
            raise RequestError(
                503,
                f"{self._subject} was changed while it was served, and is not whole: {self._reason}; expected a model "
                "that was put there whole",
                retry_after=10,
            )

    @property
    def _subject(self) -> str:
        return f"the model {self._name} (in the folder {self._folder.name})"

    def _look(self) -> None:
        if self._loaded is not None:
            changed = changed_in_place(self._origins)
            if changed is None:
                return
            _log.warning("%s was written into while it was served: %s", self._subject, changed)
            self._loaded = None
            for tell in self.when_changed:
                tell()
        if self._reader is None and self._tried != _origins_of(self._folder):
            self._reader = threading.Thread(target=self._read, name="dragoman-load", daemon=True)
            self._reader.start()

    def _read(self) -> None:
        """Load the object again, if its files are whole."""
        origins, loaded, reason = _origins_of(self._folder), None, ""
        try:
            loaded = self._load()
        except DragomanError as error:
            reason = refusal_of(error).message
            _log.warning("%s is not whole: %s", self._subject, error)
        except Exception:
            reason = "it cannot be read"
            _log.exception("%s cannot be read", self._subject)
        with self._lock:
            self._reader, self._tried, self._reason = None, origins, reason
            if loaded is not None and origins is not None:
                self._loaded, self._origins, self._tried = loaded, origins, None
                _log.warning("%s was read again", self._subject)


def _origins_of(folder: Path) -> dict[str, Origin] | None:
    try:
        return array_origins(folder)
    except OSError:
        return None


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, its sets of weights, each as a system of its own, and its normaliser if it is the model of one."""

    system: System
    weight_sets: Mapping[str, System] = field(default_factory=dict)
    normaliser: SpellingNormaliser | None = None


class NamedModel:
    """A model by name, with its languages; it is refused while its files are not whole."""

    def __init__(self, name: str, languages: tuple[str | None, str | None], files: ReloadableFiles[LoadedModel]):
        self.name, self.languages = name, languages
        self.files = files
        self._info = self._described(files.current())

    @property
    def system(self) -> System:
        """The model with its default weights."""
        return self.files.current().system

    @property
    def weight_sets(self) -> Mapping[str, System]:
        """Systems by the names of their weights."""
        return self.files.current().weight_sets

    @property
    def normaliser(self) -> SpellingNormaliser | None:
        """The normaliser whose model of characters this is, if it is one."""
        return self.files.current().normaliser

    def check(self) -> None:
        """Refuse work if the files have changed."""
        self.files.current(look=True)

    def weighted(self, weights: Mapping[str, float] | str | None) -> System:
        """Return the system with the weights of a request: single weights by name, or a set of weights."""
        if isinstance(weights, str):
            if weights not in self.weight_sets:
                known = ", ".join(self.weight_sets) or "none"
                raise UsageError(f"the model {self.name} has no weights called '{weights}'; there are {known}")
            return self.weight_sets[weights]
        if not weights:
            return self.system
        return self.system.with_weights(weights)

    @property
    def info(self) -> schemas.ModelInfo:
        """Return the description for clients; the last one if the model cannot be used now."""
        with contextlib.suppress(RequestError):
            self._info = self._described(self.files.current())
        return self._info

    def _described(self, loaded: LoadedModel) -> schemas.ModelInfo:
        model, weights = loaded.system.model, loaded.system.weights
        dense = [*model.weight_names]
        others = [name for name in weights if name not in set(dense)]
        return schemas.ModelInfo(
            name=self.name,
            kind=model.kind,
            source_language=self.languages[0],
            target_language=self.languages[1],
            features=[
                schemas.FeatureInfo(name=name, group=_group(name), weight=weights.get(name, 0.0), dense=name in dense)
                for name in [*dense, *others]
            ],
            needs_trees=bool(model.tree_features),
            normalises=loaded.normaliser is not None,
            weight_sets=list(loaded.weight_sets),
            set_weights={
                name: {feature: system.weights.get(feature, 0.0) for feature in [*dense, *others]}
                for name, system in loaded.weight_sets.items()
            },
        )


def _group(name: str) -> str:
    """The group in which a feature is shown: its table, reordering model or prefix."""
    return name.partition(".")[0] if "." in name else "lm" if name.startswith("lm") else "penalties"


class ModelRegistry:
    """All models of the service by name; models of normalisers, which translate letters, come last.

    Requests that name no model get the first.
    """

    def __init__(self, models: Sequence[NamedModel]):
        self._models = {model.name: model for model in sorted(models, key=lambda one: one.normaliser is not None)}

    @classmethod
    def of(
        cls,
        folders: Sequence[str],
        *,
        weights: Sequence[str] = (),
        languages: Sequence[str] = (),
        copied: bool = False,
    ) -> ModelRegistry:
        """Load models given as FOLDER or NAME=FOLDER, weights as NAME=FILE or MODEL:NAME=FILE, languages as NAME=fr-en.

        Weights without a model's name are for all models that have their features, at least one. Each system works in
        the thread that calls it: the service has several. Arrays are mapped, or `copied` into memory.
        """
        places: dict[str, Path] = {}
        for text in folders:
            name, folder = _named(text, Path(text).resolve().name)
            if name in places:
                raise UsageError(f"two models are called '{name}'; give one of them another name, as in NAME={folder}")
            places[name] = Path(folder)
        if not places:
            raise UsageError("there is no model; expected --model FOLDER")
        # Nobody can change copies.
        origins = {name: {} if copied else array_origins(folder) for name, folder in places.items()}
        first = {name: _loaded(folder, copied=copied) for name, folder in places.items()}
        systems = {name: loaded.system for name, loaded in first.items()}
        sets = {name: _weight_sets(name, system, weights, systems) for name, system in systems.items()}
        pairs = dict(_languages(text, systems) for text in languages)
        return cls(
            [
                NamedModel(
                    name,
                    pairs.get(name) or _own_languages(systems[name]),
                    ReloadableFiles(
                        name,
                        folder,
                        origins[name],
                        replace(first[name], weight_sets=sets[name]),
                        partial(_read_again, folder, {label: one.weights for label, one in sets[name].items()}),
                    ),
                )
                for name, folder in places.items()
            ]
        )

    def __iter__(self) -> Iterator[NamedModel]:
        return iter(self._models.values())

    @property
    def names(self) -> list[str]:
        """The names of all models."""
        return list(self._models)

    def get(self, name: str | None) -> NamedModel:
        """Return a model by name, or the first."""
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            raise RequestError(404, f"no model is called '{name}'; there are {', '.join(self._models)}")
        return self._models[name]


def _loaded(folder: Path, *, copied: bool) -> LoadedModel:
    """Load a model from its folder, or from that of its normaliser."""
    with copied_arrays() if copied else contextlib.nullcontext():
        normaliser = SpellingNormaliser.load(folder) if (folder / NAME).is_file() else None
        return LoadedModel(load(folder if normaliser is None else folder / MODEL, threads=1), normaliser=normaliser)


def _read_again(folder: Path, weights: Mapping[str, Weights]) -> LoadedModel:
    """Load a model that was changed, with the same sets of weights."""
    loaded = _loaded(folder, copied=False)
    return replace(loaded, weight_sets={name: loaded.system.with_weights(one) for name, one in weights.items()})


def _named(text: str, default: str | None = None) -> tuple[str, str]:
    """Return the two sides of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals and default is not None:
        return default, text
    if not (name and value):
        raise UsageError(f"found '{text}'; expected NAME=VALUE")
    return name, value


def _weight_sets(
    model: str, system: System, weights: Sequence[str], systems: Mapping[str, System]
) -> dict[str, System]:
    """Load the sets of weights that are for a model."""
    found = {}
    for text in weights:
        label, file = _named(text)
        wanted, colon, name = label.rpartition(":")
        if colon and wanted not in systems:
            raise UsageError(f"'{text}' names the model '{wanted}'; there are {', '.join(systems)}")
        if wanted in ("", model):
            try:
                found[name] = system.with_weights(file)
            except DragomanError:
                # Weights for all models need not fit each of them, but one.
                if wanted or len(systems) == 1 or not any(_takes(other, file) for other in systems.values()):
                    raise
    return found


def _takes(system: System, file: str) -> bool:
    try:
        system.with_weights(file)
    except DragomanError:
        return False
    return True


def _own_languages(system: System) -> tuple[str | None, str | None]:
    settings = system.model.settings
    return settings.source_language, settings.target_language


def _languages(text: str, systems: Mapping[str, System]) -> tuple[str, tuple[str, str]]:
    name, pair = _named(text, next(iter(systems)))
    source, dash, target = pair.partition("-")
    if not (source and dash and target):
        raise UsageError(f"--languages is '{text}'; expected NAME=SOURCE-TARGET, as in model=fr-en")
    if name not in systems:
        raise UsageError(f"--languages names the model '{name}'; there are {', '.join(systems)}")
    return name, (source, target)
