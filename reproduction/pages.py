"""Pages of the papers and the table of all claims, made from claims, plans and raw results; nothing is run."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.claims import NOT_RUN, VERDICTS, Claim, read_claims, stale, taken_table
from reproduction.layout import HERE, Paper
from reproduction.pictures import draw
from reproduction.results import Results
from reproduction.tables import markdown, tables

_WIDTH = 120
_MADE = "<!-- Made by `make reproduce-pages` from claims, plans and results; change those. -->\n"


def page_files(paper: Paper) -> dict[Path, str]:
    """Return the page of a paper and its pictures, by file."""
    folder = paper.made
    results, plans, claims = Results(paper), paper.plans(), read_claims(paper)
    found: dict[Path, str] = {}
    sections = []
    for name, plan in plans.items():
        parts = [_heading(name, plan), *_text(plan, "about"), *tables(plan, results)]
        for picture in plan.get("picture", []):
            svg = draw(picture, results)
            if svg is not None:
                file = folder / f"{picture['name']}.svg"
                found[file] = svg
                parts.append(f"![{picture.get('alt', picture['title'])}]({file.name})\n\n{picture['title']}\n")
        parts += _text(plan, "choices", "Choices: ") + _text(plan, "differs", "What differs: ")
        parts.append(_state(plan, results))
        sections.append("\n".join(part.rstrip() + "\n" for part in parts))
    found[folder / "page.md"] = "\n".join([_opening(paper, claims), *_verdicts(claims), *sections])
    return found


def readme(papers: Sequence[Paper]) -> str:
    """Return the table of all claims and verdicts, with what to run."""
    claims = {paper: read_claims(paper) for paper in papers}
    counts = {paper: Counter(claim.verdict for claim in claims[paper]) for paper in papers}
    total: Counter[str] = sum(counts.values(), Counter())
    summary = markdown(
        ["paper", "claims", *VERDICTS],
        [
            *(
                [f"[{p.about['short']}]({p.name}/page.md)", len(claims[p]), *(counts[p][v] or "" for v in VERDICTS)]
                for p in papers
            ),
            ["all", sum(total.values()), *(total[verdict] or "" for verdict in VERDICTS)],
        ],
    )
    parts = [f"# Five papers, re-run\n\n{_MADE}", (HERE / "opening.md").read_text(encoding="utf-8"), summary]
    for paper in papers:
        rows = [
            [f"[{claim.says}]({paper.name}/page.md#{_anchor(claim)})", claim.where, f"**{claim.verdict}**"]
            for claim in claims[paper]
        ]
        parts.append(f"## {paper.about['short']}\n\n{markdown(['claim', 'where', 'verdict'], rows)}")
    return "\n".join(part.rstrip() + "\n" for part in parts)


def all_files(papers: Sequence[Paper], root: Path = HERE) -> dict[Path, str]:
    """Return everything that is made, by file."""
    found: dict[Path, str] = {}
    for paper in papers:
        found |= page_files(paper)
    return found | {root / "README.md": readme(papers)}


def write(files: Mapping[Path, str]) -> None:
    """Write what has changed."""
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")


def faults(papers: Sequence[Paper], root: Path = HERE) -> Iterator[str]:
    """Yield what is out of date: verdicts, pages, and pictures that are missing or belong to no plan.

    Texts of pictures are not compared, because other versions of matplotlib draw other ones.
    """
    for paper in papers:
        yield from stale(paper)
    files = all_files(papers, root)
    for path, text in files.items():
        if not path.exists() or (path.suffix == ".md" and path.read_text(encoding="utf-8") != text):
            yield f"{path.relative_to(root)}: is out of date; run: make reproduce-pages"
    for paper in papers:
        for path in sorted(paper.folder.glob("*.svg")):
            if path not in files:
                yield f"{path.relative_to(root)}: belongs to no plan"


def _opening(paper: Paper, claims: Sequence[Claim]) -> str:
    about = paper.about
    counts = Counter(claim.verdict for claim in claims)
    told = ", ".join(f"{counts[verdict]} {_many(verdict)}" for verdict in VERDICTS if counts[verdict])
    parts = [
        f"# {about['title']}",
        _MADE.rstrip(),
        f"Does what the paper says hold on open data? {about['reference']}",
        _wrapped(f"{len(claims)} claims: {told}. Run it again with `make reproduce-{paper.name}`."),
        _wrapped(f"**What differs everywhere.** {about['differs']}"),
    ]
    return "\n\n".join(parts) + "\n"


def _verdicts(claims: Sequence[Claim]) -> Iterator[str]:
    yield "## Claims and verdicts\n"
    for claim in claims:
        yield f'<a id="{_anchor(claim)}"></a>\n'
        judged = ", ".join(f"[{name}](#{_slug(name)})" for name in claim.plans)
        judged = f"judged by {judged}" if judged else "no plan yet" if claim.verdict == NOT_RUN else "no plan"
        reason = f" {claim.reason}" if claim.reason else ""
        yield _wrapped(f"*{claim.says}* ({claim.where}; {judged})") + "\n"
        if claim.criterion:
            yield _wrapped(f"Criterion: {claim.criterion}") + "\n"
        yield _wrapped(f"**{claim.verdict[0].upper()}{claim.verdict[1:]}.**{reason}") + "\n"
        for name in claim.taken:
            table = taken_table(name)
            topic = name.partition("/")[0]
            source = f"[{topic}](../../benchmarks/results/{topic}.md)"
            command = f", `{table['command']}`" if "command" in table else ""
            yield f"Taken over from {source} ({table['date']}{command}):\n"
            yield markdown(table["columns"], table["rows"])


def _heading(name: str, plan: Mapping[str, Any]) -> str:
    return f'<a id="{_slug(name)}"></a>\n\n## {plan["title"]}\n'


def _state(plan: Mapping[str, Any], results: Results) -> str:
    names = plan.get("results", [])
    done = [name for name in names if results.has(name)]
    if not names:
        return ""
    if not done:
        return f"Not run yet: {', '.join(names)}.\n"
    dates = sorted({f"{results.origin(name)['date']} at {results.origin(name)['commit']}" for name in done})
    left = [name for name in names if name not in done]
    left += [f"{name} ({', '.join(methods)})" for name in done if (methods := results.origin(name).get("left"))]
    missing = f" Not run yet: {', '.join(left)}." if left else ""
    where = ", ".join(f"[{name}](results/{name}/origin.toml)" for name in done)
    return _wrapped(f"Raw results: {where} ({'; '.join(dates)}).{missing}") + "\n"


def _text(plan: Mapping[str, Any], key: str, lead: str = "") -> list[str]:
    return [_wrapped(f"{lead}{plan[key].strip()}") + "\n"] if plan.get(key) else []


def _many(verdict: str) -> str:
    """Return a verdict on several claims.

    >>> _many("holds in part"), _many("does not hold")
    ('hold in part', 'do not hold')
    """
    return verdict.replace("holds", "hold").replace("does", "do")


def _anchor(claim: Claim) -> str:
    return f"claim-{_slug(claim.id)}"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)
