"""A decision rule with the evidence it is to see, as given on a command line or kept in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from dragoman.core.errors import DataError, UsageError
from dragoman.core.options import options_from
from dragoman.core.runtime import Runtime
from dragoman.core.toml import format_toml, read_toml
from dragoman.decision import RULES
from dragoman.decision.evidence import Draw, evidence_of, gather
from dragoman.decision.rule import Evidence, EvidenceKind, Rule
from dragoman.sampling.schedule import Sampling
from dragoman.search.search_result import SearchResult
from dragoman.search.translator import Translator

_KEYS = {"rule", "evidence", "nbest_size", "options", "sampling", "tuning"}


@dataclass(frozen=True)
class Decision:
    """A rule, the kind of evidence, and for n-best lists their size; `sampling` is how samples are to be drawn."""

    rule: Rule
    evidence: EvidenceKind
    nbest_size: int = 1000
    sampling: Sampling | None = None

    @classmethod
    def of(
        cls,
        text: str,
        assignments: Sequence[str] = (),
        evidence: EvidenceKind | None = None,
        nbest_size: int | None = None,
    ) -> Decision:
        """Make one from a rule's name, or from a file that `format` wrote; what is given besides comes before the file.

        >>> Decision.of("lattice-mbr", ["scale=5"]).evidence
        'hypergraph'
        """
        values: Mapping[str, Any] = {"rule": text}
        if text not in RULES.names() and (text.endswith(".toml") or Path(text).is_file()):
            values = _read(text)
        kind = RULES.get(values["rule"])
        given = {assignment.partition("=")[0].strip().replace("-", "_") for assignment in assignments}
        ours = {name: value for name, value in options_from(kind, assignments).to_dict().items() if name in given}
        rule = kind.from_dict({**values.get("options", {}), **ours})
        chosen = evidence or values.get("evidence") or rule.takes[0]
        rule.check_kind(chosen)
        sampling = Sampling.from_dict(values["sampling"]) if "sampling" in values and chosen == "samples" else None
        return cls(rule, chosen, nbest_size or values.get("nbest_size", 1000), sampling)

    def format(self, tuning: Mapping[str, Any] | None = None) -> str:
        """Write as TOML that `of` reads, with a table of how it was found if that is known."""
        values: dict[str, Any] = {"rule": self.rule.name, "evidence": self.evidence, "nbest_size": self.nbest_size}
        values["options"] = self.rule.to_dict()
        if self.sampling is not None:
            values["sampling"] = {k: v for k, v in self.sampling.to_dict().items() if v is not None}
        return format_toml({**values, **({"tuning": tuning} if tuning else {})})

    def evidence_of(self, result: SearchResult, *, runtime: Runtime = Runtime()) -> Evidence:
        """Make the evidence that the rule is to see of a search with `forests`."""
        size, distinct = self.nbest_size, self.rule.distinct_lists
        return evidence_of(result, self.evidence, size=size, distinct=distinct, density=0.0, runtime=runtime)

    def gather(
        self, translator: Translator, lines: Iterable[str], *, density: float = 0.0, draw: Draw | None = None
    ) -> Iterator[Evidence]:
        """Yield the evidence that the rule is to see about some sentences, a batch at a time."""
        return gather(
            translator,
            lines,
            self.evidence,
            size=self.nbest_size,
            distinct=self.rule.distinct_lists,
            density=density,
            draw=draw,
        )


def _read(path: str) -> dict[str, Any]:
    values = read_toml(path)
    unknown = sorted(values.keys() - _KEYS)
    if unknown:
        raise DataError(f"has a key '{unknown[0]}'", path=path, expected=f"only {', '.join(sorted(_KEYS))}")
    if not isinstance(values.get("rule"), str):
        raise DataError("names no rule", path=path, expected=f"a rule of {', '.join(RULES.names())}")
    size, evidence = values.get("nbest_size", 1000), values.get("evidence")
    if not isinstance(size, int) or size < 1:
        raise DataError(f"has an nbest_size of {size!r}", path=path, expected="a number of at least 1")
    if evidence is not None and evidence not in get_args(EvidenceKind):
        known = ", ".join(get_args(EvidenceKind))
        raise DataError(f"has the evidence {evidence!r}", path=path, expected=f"one of {known}")
    try:
        RULES.get(values["rule"]).from_dict(values.get("options", {}))
        Sampling.from_dict(values.get("sampling", {}))
    except UsageError as error:
        raise DataError(str(error), path=path) from None
    return values
