"""Plans of experiments: TOML files with the methods to tune with, the number of runs, and the test sets.

    model = "model"
    source = "dev.fr"
    reference = ["dev.en"]
    runs = 5

    [[method]]
    name = "mert"

    [[method]]
    name = "lus, few samples"
    use = "lus"
    options = { samples = 5000 }

    [[test]]
    name = "test"
    source = "test.fr"
    reference = ["test.en"]

Methods that learn online also use

    [validation]
    validation_rule = "mbr"

    [held_out]
    source = "dev2.fr"
    reference = ["dev2.en"]

A model with features of source trees needs `trees = "dev.trees"` beside every `source`: the plan's own, and those of
`[held_out]` and of the test sets.

A method may have its own model, to compare systems that differ in more than their weights:

    [[method]]
    name = "mixed by perplexity"
    use = "pro"
    model = "models/perp"

or `system = "perp"`, if the plan has corpora to train systems on, see `plan_parts.py`.

Paths are relative to the file. `correction = "holm"` corrects p-values for the number of pairs. Tables `[[decision]]`
list the rules to translate by, see `plan_parts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from dragoman.core.errors import DataError, DragomanError
from dragoman.core.options import current_names, read_toml
from dragoman.core.store import digest
from dragoman.evaluation.experiments.checksummed_files import folder_name
from dragoman.evaluation.experiments.plan_parts import (
    AS_DECODED,
    PlannedDecision,
    PlannedSystems,
    planned_decisions,
    planned_systems,
)
from dragoman.evaluation.statistics.significance import SAMPLE_SIZES, Correction
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import reference_files
from dragoman.model.bundle import model_digest
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import TuningMethod
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import HeldOut, Job
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.validator import Validation

_FILES = ("model", "source", "reference", "documents", "trees", "start")
_TEXTS = ("title", "metric", "metrics", "fixed", "prepared")
_TABLES = ("loop", "decoding", "validation", "held_out", "search", "space", "ranges", "method", "decision", "test")
_TRAINED = ("corpus", "adapt")
_KEYS = frozenset({*_FILES, *_TEXTS, *_TABLES, *_TRAINED, "runs", "seeds", "curves", "correction", "sample_sizes"})


@dataclass(frozen=True)
class Method:
    """A tuner with its name in tables, and a model if it differs from the plan's."""

    name: str
    tuner: TuningMethod
    model: Path | None = None

    @property
    def folder(self) -> str:
        """The name as a folder's."""
        return folder_name(self.name)


@dataclass(frozen=True)
class TestSet:
    """Texts to evaluate on; `label` is the name of its folders, if that is not made of the name."""

    __test__ = False  # pytest would collect the class by its name

    name: str
    source: Path
    references: tuple[Path, ...]
    trees: Path | None = None
    label: str = ""

    @property
    def folder(self) -> str:
        """The name as a folder's."""
        return self.label or folder_name(self.name)

    def content(self) -> str:
        """Return a digest of the texts."""
        trees = [] if self.trees is None else [self.trees]
        return digest([self.source, *reference_files(self.references), *trees])


@dataclass(frozen=True)
class Plan:
    """Methods, seeds, decisions and test sets, in all combinations.

    The first metric is tuned to and tested for significance. A `correction` corrects p-values for the number of pairs.
    The report says how often test sets of `sample_sizes` sentences would be conclusive.
    """

    title: str
    job: Job
    metrics: tuple[str, ...]
    seeds: tuple[int, ...]
    methods: tuple[Method, ...]
    tests: tuple[TestSet, ...]
    curves: bool = True
    decisions: tuple[PlannedDecision, ...] = (AS_DECODED,)
    correction: Correction = "none"
    systems: PlannedSystems | None = None
    sample_sizes: tuple[int, ...] = SAMPLE_SIZES

    @property
    def has_decisions(self) -> bool:
        """True if the plan lists decision rules."""
        return any(decision.name for decision in self.decisions)

    def content(self) -> dict[str, str]:
        """Return checksums of the models and the texts; of the corpora, for systems to train."""
        found = self.job.content() if self.systems is None else self.job.text_content() | self.systems.content()
        trained = [] if self.systems is None else self.systems.folders
        for method in self.methods:
            if method.model is not None and method.model not in trained:
                found[f"model of {method.name}"] = model_digest(method.model)
        return found | {f"test {test.name}": test.content() for test in self.tests}

    def labelled(self) -> Plan:
        """Return the plan with whole paths, and folders of test sets and decisions named after their content."""
        return replace(
            self,
            job=self.job.resolved(),
            methods=tuple(replace(m, model=None if m.model is None else m.model.resolve()) for m in self.methods),
            tests=tuple(replace(test, label=test.content()) for test in self.tests),
            decisions=tuple(decision.labelled() for decision in self.decisions),
        )

    @classmethod
    def read(cls, path: Path, models: Path) -> Plan:
        """Read and check a plan.

        Systems that it trains go into the folder `models`.
        """
        values = read_toml(path)
        try:
            return _plan(path, values, models)
        except DataError:
            raise
        except DragomanError as error:  # a wrong option
            raise DataError(str(error), path=path) from None

    def jobs(self) -> dict[tuple[Method, int], Job]:
        """Return the job of each method and seed."""
        return {
            (method, seed): replace(self.job_of(method), seed=seed) for method in self.methods for seed in self.seeds
        }

    def job_of(self, method: Method) -> Job:
        """Return the job of a method, with any seed."""
        return replace(self.job, tuner=method.tuner, model=method.model or self.job.model)


def _plan(path: Path, values: Mapping[str, Any], models: Path) -> Plan:
    values = current_names(values, _KEYS)
    for key in values:
        if key not in _KEYS:
            raise DataError(f"has an unknown key '{key}'", path=path, expected=f"some of {', '.join(sorted(_KEYS))}")
    systems = planned_systems(path, values, models)
    rows = systems.methods() if systems and "method" not in values else _tables(path, values, "method")
    methods = [_method(path, row, systems) for row in rows]
    tests = [_test(path, row) for row in _tables(path, values, "test")]
    decisions = planned_decisions(path, values.get("decision", []))
    for kind, named in (("method", methods), ("test set", tests), ("decision", decisions)):
        names = [row.folder for row in named]
        if len(set(names)) < len(names):
            raise DataError(f"has two {kind}s of the same name", path=path, expected="different ones")
    metrics = tuple(_texts(path, values, "metrics")) or (str(values.get("metric", "bleu")),)
    for metric in metrics:
        parse_metric(metric)
    job = Job(
        model=_file(path, values, "model") if systems is None else systems.folders[0],
        source=_file(path, values, "source"),
        references=_files(path, values, "reference"),
        tuner=methods[0].tuner,
        metric=metrics[0],
        loop=Loop.from_dict(values.get("loop", {})),
        decoding=Decoding.from_dict(values.get("decoding", {})),
        validation=Validation.from_dict(values.get("validation", {})),
        held_out=_held_out(path, values["held_out"]) if "held_out" in values else None,
        limits=SearchLimits.from_dict(values.get("search", {})),
        space=SpaceLimits.from_dict(values.get("space", {})),
        start=_perhaps(path, values, "start"),
        fixed=tuple(_texts(path, values, "fixed")),
        documents=_perhaps(path, values, "documents"),
        trees=_perhaps(path, values, "trees"),
        ranges={name: _bounds(path, name, bounds) for name, bounds in values.get("ranges", {}).items()},
        prepared=_flag(path, values, "prepared", False),
    )
    job.validation.more_rules(job.validation.decision())  # to be refused now rather than later
    return Plan(
        title=str(values.get("title", f"Experiment {path.stem}")),
        job=job,
        metrics=metrics,
        seeds=_seeds(path, values),
        methods=tuple(methods),
        tests=tuple(tests),
        curves=_flag(path, values, "curves", True),
        decisions=decisions,
        correction=_correction(path, values),
        systems=systems,
        sample_sizes=_sample_sizes(path, values),
    )


def _method(path: Path, row: Mapping[str, Any], systems: PlannedSystems | None) -> Method:
    _check_keys(path, row, "method", {"name", "use", "options", "model"} | ({"system"} if systems else set()))
    name = str(row.get("name", row.get("use", "")))
    if not name:
        raise DataError("has a method without a name", path=path, expected='name = "mert", say')
    tuner = TUNERS.get(str(row.get("use", name))).from_dict(row.get("options", {}))
    return Method(name, tuner, _model(path, name, row, systems))


def _model(path: Path, name: str, row: Mapping[str, Any], systems: PlannedSystems | None) -> Path | None:
    """Return a method's own model, if it has one."""
    if systems is None or "system" not in row:
        return _perhaps(path, row, "model")
    if "model" in row or row["system"] not in systems.names:
        found = "a model as well" if "model" in row else f"the system {row['system']!r}"
        raise DataError(f"has a method '{name}' with {found}", path=path, expected=f"one of {', '.join(systems.names)}")
    return systems.folder(row["system"])


def _test(path: Path, row: Mapping[str, Any]) -> TestSet:
    _check_keys(path, row, "test", {"name", "source", "reference", "trees"})
    source = _file(path, row, "source")
    trees = _perhaps(path, row, "trees")
    return TestSet(str(row.get("name", source.name)), source, _files(path, row, "reference"), trees)


def _held_out(path: Path, row: Mapping[str, Any]) -> HeldOut:
    _check_keys(path, row, "held_out", {"source", "reference", "documents", "trees"})
    documents, trees = (_perhaps(path, row, key) for key in ("documents", "trees"))
    return HeldOut(_file(path, row, "source"), _files(path, row, "reference"), documents, trees)


def _check_keys(path: Path, row: Mapping[str, Any], kind: str, known: set[str]) -> None:
    unknown = sorted(set(row) - known)
    if unknown:
        raise DataError(f"has a {kind} with '{unknown[0]}'", path=path, expected=f"some of {', '.join(sorted(known))}")


def _tables(path: Path, values: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = values.get(key)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"has no [[{key}]]", path=path, expected="at least one")
    return rows


def _file(path: Path, values: Mapping[str, Any], key: str) -> Path:
    if not isinstance(values.get(key), str):
        raise DataError(f"has no '{key}'", path=path, expected="the name of a file or folder")
    file = path.parent / str(values[key])
    if not file.exists():
        raise DataError(
            f"says that {key} is '{values[key]}', which does not exist", path=path, expected="a path from it"
        )
    return file


def _perhaps(path: Path, values: Mapping[str, Any], key: str) -> Path | None:
    return _file(path, values, key) if key in values else None


def _files(path: Path, values: Mapping[str, Any], key: str) -> tuple[Path, ...]:
    names = _texts(path, values, key)
    if not names:
        raise DataError(f"has no '{key}'", path=path, expected="the names of one or more files")
    return tuple(path.parent / name for name in names)


def _texts(path: Path, values: Mapping[str, Any], key: str) -> list[str]:
    found = values.get(key, [])
    found = [found] if isinstance(found, str) else found
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise DataError(f"says that {key} is {found!r}", path=path, expected="text, or a list of texts")
    return found


def _flag(path: Path, values: Mapping[str, Any], key: str, default: bool) -> bool:
    value = values.get(key, default)
    if not isinstance(value, bool):
        raise DataError(f"says that {key} is {value!r}", path=path, expected="true or false")
    return value


def _correction(path: Path, values: Mapping[str, Any]) -> Correction:
    found = values.get("correction", "none")
    if found not in get_args(Correction):
        choices = " or ".join(get_args(Correction))
        raise DataError(f"says that correction is {found!r}", path=path, expected=choices)
    return cast(Correction, found)


def _sample_sizes(path: Path, values: Mapping[str, Any]) -> tuple[int, ...]:
    sizes = values.get("sample_sizes", list(SAMPLE_SIZES))
    if not (isinstance(sizes, list) and all(type(size) is int and size > 0 for size in sizes)):
        raise DataError(f"has sample_sizes {sizes!r}", path=path, expected="a list of numbers of sentences")
    return tuple(dict.fromkeys(sizes))


def _seeds(path: Path, values: Mapping[str, Any]) -> tuple[int, ...]:
    seeds = values.get("seeds", values.get("runs", 3))
    if isinstance(seeds, int) and not isinstance(seeds, bool) and seeds > 0:
        return tuple(range(1, seeds + 1))
    if isinstance(seeds, list) and seeds and all(isinstance(seed, int) and seed >= 0 for seed in seeds):
        return tuple(dict.fromkeys(seeds))
    raise DataError(f"has runs or seeds {seeds!r}", path=path, expected="a number of runs, or a list of seeds")


def _bounds(path: Path, name: str, bounds: Any) -> tuple[float, float]:
    if isinstance(bounds, list) and len(bounds) == 2 and all(isinstance(b, int | float) for b in bounds):
        low, high = map(float, bounds)
        if low <= high:
            return low, high
    raise DataError(f"has the range {bounds!r} for {name}", path=path, expected="a low and a high number")
