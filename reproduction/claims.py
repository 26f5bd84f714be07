"""Claims of a paper and verdicts on them, with digests of the results that these were judged on.

[[claim]]
id = "lus-best"
says = "LUS(1/100) has the highest BLEU of all methods on the development set"
where = "7.2.1, tables 7.6 and 7.7"
criterion = "…"                                 # what numbers decide, written before there are results
plans = ["table-7.6", "table-7.7"]              # tables and figures whose results decide
taken = ["tuning/methods-over-five-runs"]       # tables of benchmarks/results that are taken over
verdict = "holds in part"
reason = "…"
judged = "1a2b3c4d"                             # of these results; `python -m reproduction confirm` writes it
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.core.errors import DataError
from dragoman.core.options import read_toml
from reproduction.layout import HERE, Paper
from reproduction.results import Results

NOT_RUN = "not run yet"
VERDICTS = ("holds", "holds in part", "does not hold", "cannot be told here", NOT_RUN)

_KEYS = {"id", "says", "where", "criterion", "plans", "taken", "verdict", "reason", "judged"}


@dataclass(frozen=True)
class Claim:
    """A claim, where it stands, by what it is judged, and the verdict."""

    id: str
    says: str
    where: str
    criterion: str = ""
    verdict: str = NOT_RUN
    reason: str = ""
    plans: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    judged: str = ""

    def basis(self, paper: Paper, results: Results) -> str:
        """Return a digest of all results that decide the claim; empty if there are none."""
        plans = paper.plans()
        found = results.digest(name for plan in self.plans for name in plans[plan].get("results", []))
        tables = "".join(_table_text(name) for name in self.taken)
        if not found and not tables:
            return ""
        return hashlib.sha256(f"{found}\n{tables}".encode()).hexdigest()[:8]


def read_claims(paper: Paper) -> list[Claim]:
    """Read and check the claims of a paper."""
    path, plans = paper.folder / "claims.toml", set(paper.plans())
    claims = []
    for row in read_toml(path).get("claim", []):
        if unknown := set(row) - _KEYS:
            raise DataError(f"has a claim with '{sorted(unknown)[0]}'", path=path)
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}
        claim = Claim(**values)
        if claim.verdict not in VERDICTS:
            raise DataError(f"{claim.id}: verdict {claim.verdict!r}", path=path, expected=", ".join(VERDICTS))
        if missing := [name for name in claim.plans if name not in plans]:
            raise DataError(f"{claim.id} is judged by {missing[0]}, for which there is no plan", path=path)
        if claim.verdict != NOT_RUN and not claim.reason:
            raise DataError(f"{claim.id} has a verdict without a reason", path=path)
        for name in claim.taken:
            taken_table(name)
        claims.append(claim)
    names = [claim.id for claim in claims]
    if len(set(names)) < len(names):
        raise DataError("has two claims of the same id", path=path)
    return claims


def stale(paper: Paper) -> Iterator[str]:
    """Yield a sentence for each claim whose results have changed since it was judged."""
    results = Results(paper)
    for claim in read_claims(paper):
        basis, decided = claim.basis(paper, results), claim.verdict != NOT_RUN
        if decided and basis != claim.judged:
            yield (
                f"{paper.name}/{claim.id}: was judged on other results; read them, correct the verdict, then run: "
                f"python -m reproduction confirm {paper.name} {claim.id}"
            )
        elif not decided and basis and basis != claim.judged:
            yield (
                f"{paper.name}/{claim.id}: has results and no verdict; judge it, then run: "
                f"python -m reproduction confirm {paper.name} {claim.id}"
            )


def confirm(paper: Paper, ids: list[str]) -> None:
    """Store that claims, all of a paper if none are named, were judged on the results as they are now."""
    path, results = paper.folder / "claims.toml", Results(paper)
    text = path.read_text(encoding="utf-8")
    known = {claim.id: claim for claim in read_claims(paper)}
    for name in ids or known:
        if name not in known:
            raise DataError(f"has no claim '{name}'", path=path, expected=", ".join(known))
        basis = known[name].basis(paper, results)
        text = _with_digest(text, name, basis)
    path.write_text(text, encoding="utf-8")


def _with_digest(text: str, name: str, basis: str) -> str:
    """Return the text of a claims file with another digest of one claim."""
    head, mark, rest = text.partition(f'id = "{name}"\n')
    block, gap, after = rest.partition("\n[[claim]]")
    block = re.sub(r'^judged = ".*"\n', "", block, flags=re.M)
    line = f'judged = "{basis}"\n' if basis else ""
    return f"{head}{mark}{block.rstrip()}\n{line}{gap}{after}"


@cache
def _topic(name: str) -> dict[str, Any]:
    path = HERE.parent / "benchmarks" / "results" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def taken_table(name: str) -> dict[str, Any]:
    """Return a table of `benchmarks/results`, by topic and id."""
    topic, _, identifier = name.partition("/")
    for table in _topic(topic).get("table", []) if _is_topic(topic) else []:
        if table["id"] == identifier:
            return dict(table)
    raise DataError(f"no table is called {name}", expected="TOPIC/ID of benchmarks/results/*.toml")


def _is_topic(name: str) -> bool:
    return Path(HERE.parent / "benchmarks" / "results" / f"{name}.toml").exists()


def _table_text(name: str) -> str:
    table = taken_table(name)
    return f"{name} {table['columns']} {table['rows']}\n"
