"""Corpora and decision rules in the plan of an experiment.

[[corpus]]                                  # the corpus of the domain comes first
name = "in"
source = "mine.fr"
target = "mine.en"

[[corpus]]
name = "web"
source = "web.fr"
target = "web.en"

[adapt]
systems = ["in", "joint", "perp", "pro-mix"]
tokenised = true                            # and other options of `dragoman adapt`
aligner = "hmm"
lm = { order = 3 }

[[decision]]
name = "MBR"                        # by default the rule's name
use = "mbr"                         # a rule, or a decision file; by default the name
evidence = "samples"                # by default the most suitable for the rule; nbest_size goes with "nbest"
options = { hypotheses = 500 }
sampling = { samples = 500 }        # with samples
scales = [0.25, 0.5, 1, 2, 4, 8]    # choose the rule's scale for each run, on the tuning set
scale_lines = 300                   # number of its lines to use; by default all
decodings = 10                      # with samples: translate with this many seeds under the weights of each run
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from dragoman.core.errors import DataError, UsageError
from dragoman.core.runtime import Runtime
from dragoman.core.store import CHECKSUMS, checksum, digest
from dragoman.decision import RULES
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.rule import Evidence, EvidenceKind
from dragoman.decision.settings import Decision
from dragoman.evaluation.experiments.checksummed_files import FileRecord, folder_name
from dragoman.metrics.references import reference_files
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.translator import Translator
from dragoman.training.adapt import AdaptRecipe, check_systems
from dragoman.tuning.runs.job import Job

_CORPUS = ("name", "source", "target")

#: Keys of `[adapt]` that are no options of a stage that all systems have.
_APART = ("aligner", "aligner_options", "lm", "hierarchical", "rules")

#: The system whose interpolation weights are tuned, and the method that tunes them.
_MIXED = "pro-mix"


@dataclass(frozen=True)
class PlannedSystems:
    """Systems to train on corpora, each a model in its own folder."""

    corpora: Mapping[str, tuple[Path, Path]]
    names: tuple[str, ...]
    recipe: AdaptRecipe
    out: Path

    def folder(self, name: str) -> Path:
        """Return the folder of a system's model."""
        return self.out / name

    @property
    def folders(self) -> list[Path]:
        """Return the folders of all models."""
        return [self.folder(name) for name in self.names]

    def _described(self, name: str) -> list[Path]:
        """Return the files that describe a model; they include checksums of its arrays."""
        return [self.folder(name) / file for file in ("model.toml", "weights.txt", CHECKSUMS)]

    def content(self) -> dict[str, str]:
        """Return checksums of the corpora."""
        return {f"corpus {name}": digest(files) for name, files in self.corpora.items()}

    def methods(self) -> list[dict[str, str]]:
        """Return the methods of a plan that names none: PRO for each system, PRO-mix for the mixture."""
        return [{"name": name, "use": _MIXED if name == _MIXED else "pro", "system": name} for name in self.names]

    def train(self, job: Job, *, runtime: Runtime = Runtime()) -> None:
        """Train the systems that do not exist yet, with the tuning set of a job."""
        files = FileRecord(self.out)
        missing = [name for name in self.names if not all(files.has(path) for path in self._described(name))]
        if not missing:
            return
        reference, *_ = reference_files(job.references)
        systems = self.recipe.read(self.corpora, job.source, reference, runtime=runtime)
        for name in missing:
            systems.model(name).save(self.folder(name))
            files.note((path, checksum(path)) for path in self._described(name))
            runtime.note(f"training system {name}")


def planned_systems(path: Path, values: Mapping[str, Any], out: Path) -> PlannedSystems | None:
    """Return the systems of the tables `[[corpus]]` and `[adapt]` of a plan, or None if it has neither."""
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
        apart = {key: options.pop(key) for key in _APART if key in options}
        for key in apart.keys() & {"aligner_options", "lm", "rules"}:
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
                raise DataError(f"has a corpus {name} of '{file}', which does not exist", path=path)
        found[name] = files
    return found


_KEYS = ("name", "use", "evidence", "nbest_size", "options", "sampling", "scales", "scale_lines", "decodings")


@dataclass(frozen=True)
class PlannedDecision:
    """A decision rule with its name in tables and its evidence.

    If there are `scales`, the rule's scale is chosen from them, on `scale_lines` lines of the tuning set. A decision by
    samples is made `decodings` times, each with a seed of its own. `label` is the name of its folders, if that is not
    made of the name.
    """

    name: str
    decision: Decision
    sampling: Sampling = Sampling()
    scales: tuple[float, ...] = ()
    scale_lines: int | None = None
    decodings: int = 1
    label: str = ""

    @property
    def folder(self) -> str:
        """The name as a folder's."""
        return self.label or (folder_name(self.name) if self.name else "")

    def labelled(self) -> PlannedDecision:
        """Return the same decision with a folder that is named after all that its translations depend on."""
        if self.by_decoder:
            return replace(self, label="decoder")
        settings = [self.decision.rule.name, self.decision.rule.to_dict(), self.sees, self.scales, self.scale_lines]
        return replace(self, label=hashlib.sha256(repr(settings).encode()).hexdigest()[:16])

    @property
    def by_samples(self) -> bool:
        """True if samples are its evidence."""
        return self.decision.evidence == "samples"

    @property
    def by_decoder(self) -> bool:
        """True if the decision is the decoder's own output, which needs no evidence."""
        return isinstance(self.decision.rule, MaxDerivation) and self.decision.evidence == "hypergraph"

    @property
    def sees(self) -> tuple[object, ...]:
        """All that its evidence depends on; decisions with equal values share their evidence."""
        if self.by_decoder:
            return ("decoder",)
        if self.by_samples:
            return ("samples", self.sampling)
        if self.decision.evidence == "nbest":
            return ("nbest", self.decision.nbest_size, self.decision.rule.distinct_lists)
        return ("hypergraph",)

    def at(self, scale: float) -> PlannedDecision:
        """Return the same decision at a scale; for samples, that is the inverse of their temperature."""
        if self.by_samples:
            return replace(self, sampling=self.sampling.at_scale(scale), scales=(), scale_lines=None)
        rule = self.decision.rule
        scaled = type(rule).from_dict({**rule.to_dict(), "scale": scale})
        return replace(self, decision=replace(self.decision, rule=scaled), scales=(), scale_lines=None)

    def gather(
        self, translator: Translator, lines: Sequence[str], *, seed: int, density: float = 0.0
    ) -> Iterator[Evidence]:
        """Yield the rule's evidence about some sentences, a batch at a time."""
        draw = None
        if self.by_samples:
            sampler = Sampler.of(translator, self.sampling)
            draw = partial(sampler.evidence, seed=seed, features=False)
        return self.decision.gather(translator, lines, density=density, draw=draw)


#: The decision of a plan without decisions: the decoder's translations, without a folder of their own.
AS_DECODED = PlannedDecision("", Decision(MaxDerivation(), "hypergraph"))


def planned_decisions(path: Path, rows: Any) -> tuple[PlannedDecision, ...]:
    """Return the decisions of the tables of a plan; without tables, the decoder's."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError("has a 'decision' that is not a list of tables", path=path, expected="[[decision]]")
    return tuple(_planned(path, row) for row in rows) or (AS_DECODED,)


def _planned(path: Path, row: Mapping[str, Any]) -> PlannedDecision:
    use = row.get("use", row.get("name"))
    if not use or not isinstance(use, str):
        raise DataError("has a decision without a rule", path=path, expected='use = "mbr", say')
    name = str(row.get("name") or "")
    try:
        for key in row:
            if key not in _KEYS:
                raise UsageError(f"'{key}' is unknown; known are {', '.join(_KEYS)}")
        decision = _decision(path, use, row)
        found = PlannedDecision(
            name or decision.rule.name,
            decision,
            Sampling.from_dict({**(decision.sampling or Sampling()).to_dict(), **_table(row, "sampling")}),
            _scales(row),
            _count(row, "scale_lines"),
            _count(row, "decodings") or 1,
        )
        _check(found, row)
        for scale in found.scales:
            found.at(scale)
    except UsageError as error:
        raise DataError(f"has a decision '{name or use}': {error}", path=path) from None
    return found


def _decision(path: Path, use: str, row: Mapping[str, Any]) -> Decision:
    file = path.parent / use
    if use not in RULES.names() and not file.is_file():
        raise UsageError(f"no rule or file is called '{use}'; there are {', '.join(RULES.names())}")
    kind = row.get("evidence")
    if kind is not None and kind not in get_args(EvidenceKind):
        raise UsageError(f"its evidence is {kind!r}; expected one of {', '.join(get_args(EvidenceKind))}")
    found = Decision.of(use if use in RULES.names() else str(file), (), kind, _count(row, "nbest_size"))
    rule = type(found.rule).from_dict({**found.rule.to_dict(), **_table(row, "options")})
    return replace(found, rule=rule)


def _check(planned: PlannedDecision, row: Mapping[str, Any]) -> None:
    """Refuse settings that have no effect, or would fail only after tuning."""
    rule, evidence = planned.decision.rule, planned.decision.evidence
    scale = rule.to_dict().get("scale")
    if "sampling" in row and evidence != "samples":
        raise UsageError(f'sampling goes with evidence = "samples", not "{evidence}"')
    if planned.decodings > 1 and evidence != "samples":
        raise UsageError(f'decodings goes with evidence = "samples"; a decision by {evidence} is always the same')
    if "nbest_size" in row and evidence != "nbest":
        raise UsageError(f'nbest_size goes with evidence = "nbest", not "{evidence}"')
    if "scale_lines" in row and not planned.scales:
        raise UsageError("scale_lines goes with scales")
    if planned.scales and scale is None and evidence != "samples":
        raise UsageError(f"scales were given, but {rule.name} has no scale")
    if planned.scales and "scale" in _table(row, "options"):
        raise UsageError("a scale was given, and scales to choose from; expected one of them")
    if evidence == "samples" and scale not in (None, 1.0):
        raise UsageError(
            f"its scale is {scale:g}, but samples have the scale at which they are drawn; "
            f"expected sampling = {{ temperature = {1 / scale:g} }}"
        )


def _table(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = row.get(key, {})
    if not isinstance(found, dict):
        raise UsageError(f"{key} is {found!r}; expected {{ name = value, … }}")
    return found


def _count(row: Mapping[str, Any], key: str) -> int | None:
    found = row.get(key)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool) or found < 1):
        raise UsageError(f"{key} is {found!r}; expected a number of at least 1")
    return found


def _scales(row: Mapping[str, Any]) -> tuple[float, ...]:
    found = row.get("scales")
    if found is None:
        return ()
    numbers = isinstance(found, list) and all(isinstance(s, int | float) and not isinstance(s, bool) for s in found)
    if not numbers or not found or min(found) <= 0:
        raise UsageError(f"scales is {found!r}; expected one or more numbers above 0")
    return tuple(dict.fromkeys(map(float, found)))
