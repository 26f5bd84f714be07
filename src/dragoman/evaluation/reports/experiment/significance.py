"""Which differences between systems mean something."""

from __future__ import annotations

from dragoman.evaluation.experiments.systems import systems_of
from dragoman.evaluation.reports.experiment.scores import Tests
from dragoman.evaluation.reports.experiment.sheets import Rows, Sheets
from dragoman.evaluation.statistics.system_comparison import HOLM, PAIR, RAW, compare_groups, groups

_RAW_TEXT = (
    "For each pair: the difference of the means, in which share of bootstrap resamples of the sentences the first is"
    " better (Koehn 2004; 0.95 counts as significant), its one-sided p-value, and the two-sided p-value of approximate"
    " randomisation, stratified over runs (Clark et al. 2011). In the order, > is significantly better, ≥ is better on"
    " this test set, = is the same sentence by sentence."
)
_HOLM_TEXT = (
    "For each pair: the difference of the means, in which share of bootstrap resamples of the sentences the first is"
    " better (Koehn 2004), its one-sided p-value, and the two-sided p-value of approximate randomisation, stratified"
    " over runs (Clark et al. 2011). P-values are corrected by Holm's step-down method (1979) for all {tests} pairs on"
    " a test set, each kind of test by itself: of what is called significant at 0.05, the chance that anything is so by"
    " accident is 0.05. In the order, > is significantly better by the corrected p-value of the bootstrap, ≥ is better"
    " on this test set, = is the same sentence by sentence. The p-values before the correction are in pairs.csv."
)


def add_significance(sheets: Sheets, tests: Tests) -> dict[str, str]:
    """Compare all systems on all test sets by the first metric; returns the order of each group on each of them."""
    plan, page, metric = sheets.plan, sheets.page, sheets.plan.metrics[0]
    compared = {
        test.name: compare_groups(groups(systems_of(plan)), tests[test.name, metric], plan.correction)
        for test in plan.tests
    }
    page.heading("Which differences mean something")
    pairs = len(compared[plan.tests[0].name].pairs)
    page.paragraph(_RAW_TEXT if plan.correction == "none" else _HOLM_TEXT.format(tests=pairs))
    shown = [*PAIR, *(RAW if plan.correction == "none" else HOLM)]
    columns = [*PAIR, *RAW, *([] if plan.correction == "none" else HOLM)]
    orders, rows = {}, Rows()
    for test, found in compared.items():
        for title, order in found.orders.items():
            where = ", ".join(filter(None, (test, title)))
            orders[where] = order
            page.paragraph(f"{where}: {order}")
        folded = f"All {len(found.pairs)} pairs on {test}" if plan.has_decisions else ""
        page.table(shown, [tuple(pair[column] for column in shown) for pair in found.pairs], folded=folded)
        rows += [(test, metric, *(pair[column] for column in columns)) for pair in found.pairs]
    sheets.csv("pairs.csv", ["test set", "metric", *columns], rows)
    return orders
