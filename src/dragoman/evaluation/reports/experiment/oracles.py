"""What online MIRA hoped for and feared in a sentence in the end (Chiang et al. 2008, figure 1)."""

from __future__ import annotations

from dragoman.evaluation.experiments.tuned import Tuned
from dragoman.evaluation.figures.hope_plot import draw_hopes
from dragoman.evaluation.reports.experiment.sheets import Sheets
from dragoman.tuning.problems.oracle_lists import Oracle


def add_oracles(sheets: Sheets, tuned: Tuned) -> None:
    """A picture for each method whose best run left such lists."""
    for method in sheets.plan.methods:
        run = tuned.best_run(method)
        found = run.final_report()
        if "oracles" not in found:
            continue
        lists = {name: [Oracle(*row) for row in rows] for name, rows in found["oracles"].items()}
        sheets.page.heading(f"{method.name}: what it hopes for and fears")
        sheets.page.figure(
            draw_hopes(lists, str(run.options["metric"])),
            f"Sentence {found['sentence']} of the tuning set, “{found['source']}”, under the weights that the run with"
            f" seed {run.options['seed']} ended with: the best translations by (1 - µ) B + µ score, and with µ = ∞"
            " those that are good for the model and bad for the metric. The first of µ = 0.5 is the oracle.",
        )
        rows = [(name, *row) for name, row_list in lists.items() for row in row_list]
        sheets.page.table(["µ", "B", "score", "translation"], rows, folded="The translations")
