"""Draw docs/images/house.svg: the rooms of the package, and the data that moves between them.

Run `python docs/draw_house.py` after a change.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

#: Rooms: name, what it does, x, y and width of its box.
ROOMS = [
    ("corpora", "recipes for real text", 20, 60, 140),
    ("text", "prepare and restore", 20, 150, 140),
    ("formats", "files of other toolkits", 20, 240, 140),
    ("training", "align, extract, score, lm", 200, 150, 150),
    ("features", "sparse and global", 390, 60, 140),
    ("model", "tables, grammars, lms", 390, 150, 140),
    ("search", "phrase/, chart/", 580, 90, 130),
    ("sampling", "phrase/, chart/", 580, 210, 130),
    ("forest", "sums, k-best, posteriors", 800, 30, 150),
    ("decision", "evidence → one string", 800, 150, 150),
    ("metrics", "statistics, scores", 1030, 150, 140),
    ("translation", "one stream: prepare, search or sample, decide, restore", 580, 310, 370),
    ("normalisation", "on top: old spelling → modern spelling, by characters", 20, 410, 330),
    ("tuning", "one loop: methods, problems, optimise, runs", 580, 410, 370),
    ("evaluation", "significance, figures, reports", 1000, 410, 180),
]
#: Arrows: where they start and end, and what moves along them.
ARROWS = [
    ((160, 85), (265, 148), "corpus"),
    ((160, 175), (200, 175), ""),
    ((160, 265), (388, 195), "tables, ARPA, weights"),
    ((350, 175), (390, 175), ""),
    ((460, 110), (460, 150), ""),
    ((530, 165), (580, 125), ""),
    ((530, 185), (580, 225), ""),
    ((710, 105), (800, 70), "Hypergraph"),
    ((710, 125), (800, 165), "NBest"),
    ((710, 235), (800, 185), "Samples"),
    ((875, 80), (875, 150), ""),
    ((645, 260), (645, 310), "results"),
    ((875, 200), (875, 310), "choices"),
    ((950, 325), (1045, 200), "translations"),
    ((1100, 200), (1100, 410), "scores"),
    ((750, 360), (750, 410), "evidence"),
    ((580, 425), (470, 200), "weights"),
    ((950, 435), (1000, 435), "runs"),
]
GROUND = [
    ("front", "import dragoman: what a person in a notebook uses"),
    ("serve", "the same over HTTP, and a page to look at it with"),
    ("cli", "one file for each command; results on standard output"),
    ("core", "what every room speaks: corpora, weights, hypergraphs, n-best lists, samples, options, the runtime"),
    ("kernels", "the inner loops in C++: arrays in, arrays out, in folders that mirror the rooms"),
]


def room(name: str, does: str, x: float, y: float, width: float) -> str:
    """Return a box with a name and a line below it."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="50" rx="6" fill="#e8f3f1" stroke="#00695c"/>'
        f'<text x="{x + width / 2}" y="{y + 21}" class="name">{escape(name)}</text>'
        f'<text x="{x + width / 2}" y="{y + 39}" class="does">{escape(does)}</text>'
    )


def arrow(start: tuple[float, float], end: tuple[float, float], label: str) -> str:
    """Return a line with a head, and a label for what moves along it."""
    (x1, y1), (x2, y2) = start, end
    line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="way"/>'
    return line + f'<text x="{(x1 + x2) / 2}" y="{(y1 + y2) / 2 - 5}" class="goods">{escape(label)}</text>'


def main() -> None:
    """Write the picture."""
    ground = "".join(
        f'<rect x="20" y="{490 + 34 * i}" width="1160" height="28" rx="6" fill="#f3f3f3" stroke="#777"/>'
        f'<text x="600" y="{509 + 34 * i}" class="does"><tspan font-weight="bold">{name}</tspan>  {escape(does)}</text>'
        for i, (name, does) in enumerate(GROUND)
    )
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 664" role="img" '
        'aria-label="The rooms of Dragoman and the data that moves between them, from corpus to report">'
        "<style>text{font-family:sans-serif;text-anchor:middle;fill:#222}.name{font-size:16px;font-weight:bold}"
        ".does{font-size:11.5px}.goods{font-size:11.5px;fill:#00695c;font-style:italic;paint-order:stroke;stroke:#fff;stroke-width:4px}"
        ".way{stroke:#555;stroke-width:1.5;marker-end:url(#head)}</style>"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs><rect width="1200" height="664" fill="#fff"/>'
        + "".join(arrow(*row) for row in ARROWS)
        + "".join(room(*row) for row in ROOMS)
        + ground
        + "</svg>\n"
    )
    (Path(__file__).parent / "images" / "house.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
