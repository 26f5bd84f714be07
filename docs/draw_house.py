"""Draws docs/images/house.svg: the rooms of the package, and how data goes through them.

python docs/draw_house.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

#: Rooms: name, what it does, place and size; the last says whether it is data that goes from room to room.
ROOMS = [
    ("corpora", "recipes for real text", 20, 60, 130),
    ("text", "prepare and restore", 20, 150, 130),
    ("formats", "foreign files", 20, 240, 130),
    ("training", "align, extract, score, lm", 190, 150, 150),
    ("model", "tables, grammars, lms", 380, 150, 140),
    ("search", "phrase/, chart/", 570, 90, 130),
    ("sampling", "phrase/, chart/", 570, 210, 130),
    ("forest", "sums, k-best, posteriors", 760, 30, 150),
    ("decision", "evidence → one string", 760, 150, 150),
    ("metrics", "statistics, scores", 1010, 150, 130),
    ("tuning", "methods, problems, optimise, runs", 570, 330, 340),
    ("evaluation", "statistics, experiments, figures, reports", 950, 330, 230),
]
#: Arrows: from, to, what goes there, as points.
ARROWS = [
    ((150, 85), (265, 145), "corpus"),
    ((150, 175), (190, 175), ""),
    ((150, 265), (380, 195), "tables, ARPA, n-best"),
    ((340, 175), (380, 175), ""),
    ((520, 165), (570, 125), ""),
    ((520, 185), (570, 225), ""),
    ((700, 105), (760, 70), "Hypergraph"),
    ((700, 125), (760, 165), "NBest"),
    ((700, 235), (760, 185), "Samples"),
    ((835, 80), (835, 150), ""),
    ((910, 175), (1010, 175), "translation"),
    ((1075, 200), (1075, 330), "scores"),
    ((1065, 380), (1065, 412), "reports"),
    ((835, 200), (780, 330), "evidence"),
    ((635, 260), (635, 330), "samples"),
    ((570, 355), (450, 200), "weights"),
    ((910, 355), (950, 355), "runs"),
]
GROUND = [
    ("front", "import dragoman: what a person in a notebook uses"),
    ("serve", "the same over HTTP, and a page to look at it with"),
    ("cli", "one file a command; results on stdout"),
    ("core", "what everything speaks: corpora, weights, hypergraphs, lists, samples, options, errors"),
    ("kernels", "the inner loops in C++: arrays in, arrays out, in folders that mirror the rooms"),
]


def room(name: str, does: str, x: float, y: float, width: float) -> str:
    """A box with a name and a line below it."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="50" rx="6" fill="#e8f3f1" stroke="#00695c"/>'
        f'<text x="{x + width / 2}" y="{y + 21}" class="name">{escape(name)}</text>'
        f'<text x="{x + width / 2}" y="{y + 39}" class="does">{escape(does)}</text>'
    )


def arrow(start: tuple[float, float], end: tuple[float, float], label: str) -> str:
    """A line with a head, and what goes along it."""
    (x1, y1), (x2, y2) = start, end
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="way"/>'
    return line + f'<text x="{(x1 + x2) / 2}" y="{(y1 + y2) / 2 - 5}" class="goods">{escape(label)}</text>'


def main() -> None:
    """Write the picture."""
    ground = "".join(
        f'<rect x="20" y="{420 + 34 * i}" width="1160" height="28" rx="6" fill="#f3f3f3" stroke="#777"/>'
        f'<text x="600" y="{439 + 34 * i}" class="does"><tspan font-weight="bold">{name}</tspan>  {escape(does)}</text>'
        for i, (name, does) in enumerate(GROUND)
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 594" role="img" '
        'aria-label="The rooms of Dragoman and the data that goes through them, from corpus to report">'
        "<style>text{font-family:sans-serif;text-anchor:middle;fill:#222}.name{font-size:16px;font-weight:bold}"
        ".does{font-size:11.5px}.goods{font-size:11.5px;fill:#00695c;font-style:italic;paint-order:stroke;stroke:#fff;stroke-width:4px}"
        ".way{stroke:#555;stroke-width:1.5;marker-end:url(#head)}</style>"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs><rect width="1200" height="594" fill="#fff"/>'
        + "".join(arrow(*row) for row in ARROWS)
        + "".join(room(*row) for row in ROOMS)
        + ground
        + "</svg>\n"
    )
    (Path(__file__).parent / "images" / "house.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
