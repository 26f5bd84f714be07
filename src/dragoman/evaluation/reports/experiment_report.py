"""The report of an experiment: settings, scores, significance, and further sections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Rule
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.plan import Plan
from dragoman.evaluation.experiments.plan_parts import PlannedDecision
from dragoman.evaluation.experiments.results import (
    ExperimentSystem,
    ExperimentTranslations,
    SystemStatistics,
    TuningResults,
    Vector,
    WeightVectors,
    systems_of,
)
from dragoman.evaluation.figures.decisions import system_chart
from dragoman.evaluation.reports.experiment_sections import (
    Rows,
    Sheets,
    add_best_run,
    add_curves,
    add_mixtures,
    add_numbers,
    add_oracles,
    add_scales,
    add_weights,
)
from dragoman.evaluation.reports.report import in_words
from dragoman.evaluation.statistics.comparison import HOLM, PAIR, RAW, compare_groups, conclusive_pairs, groups
from dragoman.evaluation.statistics.intervals import geometric_mean, mean_sd
from dragoman.tuning.methods.method import TuningMethod

_OF_ONE_RUN = {"method", "options", "seed"}


def add_settings(sheets: Sheets) -> None:
    """Add all options of tuning, methods and decisions."""
    plan = sheets.plan
    described = plan.job.description().items()
    rows: Rows = [(key.replace("_", " "), in_words(value)) for key, value in described if key not in _OF_ONE_RUN]
    if plan.systems is not None:
        rows += [(f"corpus {name}", in_words(files)) for name, files in plan.systems.corpora.items()]
        rows += [("systems", in_words(plan.systems.names))]
        rows += [
            (kind.replace("_", " "), in_words(options)) for kind, options in plan.systems.recipe.described().items()
        ]
    rows += [(f"options of {method.name}", _options(method.tuner)) for method in plan.methods]
    if plan.has_decisions:
        rows += [(f"decision {decision.name}", _described(decision)) for decision in plan.decisions]
    sheets.page.heading("Settings")
    sheets.page.table(["", ""], rows)


def _described(decision: PlannedDecision) -> str:
    parts = [_options(decision.decision.rule), f"by {decision.decision.evidence}"]
    parts += [f"sampling: {in_words(decision.sampling.to_dict())}"] if decision.by_samples else []
    parts += [f"{decision.decision.nbest_size} best"] if decision.decision.evidence == "nbest" else []
    parts += [f"{decision.decodings} decodings"] if decision.decodings > 1 else []
    parts += [f"scale of {', '.join(f'{scale:g}' for scale in decision.scales)}"] if decision.scales else []
    return "; ".join(parts)


def _options(chosen: TuningMethod | Rule) -> str:
    """Return the name of a method or rule, and its options."""
    options = chosen.to_dict()
    return f"{chosen.name}: {in_words(options)}" if options else chosen.name


#: Statistics by test set and metric.
Tests = dict[tuple[str, str], SystemStatistics]
Table = tuple[list[str], Rows]

_UNCHANGED = "with start weights"


def summary(sheets: Sheets, tuned: TuningResults, translated: ExperimentTranslations, tests: Tests) -> Table:
    """Return the first table: a row for each system."""
    plan = sheets.plan
    scaled = any(decision.scales for decision in plan.decisions)
    columns = [*sheets.naming, "runs", f"{plan.metrics[0]} on the tuning set", *(f"{m} on {t}" for t, m in tests)]
    columns += [*(["scale"] if scaled else []), "iterations", "seconds"]
    rows: Rows = []
    for system in systems_of(plan):
        # Numbers of a method stand in the row of its first decision.
        method = system.method if system.decision == plan.decisions[0] else None
        changed = _changed(tuned, system)
        row: list[object] = [*sheets.named(system), _counted(changed)]
        row += [_means(tuned.scores(method), changed) if method else ""]
        row += [_means(found.scores(system), changed) for found in tests.values()]
        row += [geometric_mean([chosen.scale for chosen in translated.scales(system)])] if scaled else []
        row += [mean_sd(tuned.iterations(method), 1), mean_sd(tuned.seconds(method), 1)] if method else ["", ""]
        rows.append(tuple(row))
    return columns, rows


def _changed(tuned: TuningResults, system: ExperimentSystem) -> NDArray[np.bool_]:
    """Return which runs of a system found new weights; the untuned weights count as new."""
    return np.ones(1, bool) if system.method is None else ~tuned.unchanged(system.method)


def _counted(changed: NDArray[np.bool_]) -> int | str:
    unchanged = int(np.count_nonzero(~changed))
    return f"{len(changed)} ({unchanged} {_UNCHANGED})" if unchanged else len(changed)


def _means(scores: Vector, changed: NDArray[np.bool_]) -> str:
    """Return the mean of all runs, and if some found no new weights, also the mean of the others."""
    if changed.all() or not changed.any():
        return mean_sd(scores)
    return f"{mean_sd(scores)} (without those {mean_sd(scores[changed])})"


def add_scores(sheets: Sheets, table: Table, tests: Tests) -> None:
    """Add the first table, with a figure if the table is large."""
    plan, page = sheets.plan, sheets.page
    page.heading("Scores")
    page.paragraph(
        f"Means over {len(plan.seeds)} runs, ± their standard deviation."
        if len(plan.seeds) > 1
        else "One run each: scores of single runs often vary more by chance than methods differ."
    )
    if plan.has_decisions:
        panels = {
            f"{name} on {test}": {
                decision.name: {s.method_name: found.scores(s) for s in systems_of(plan) if s.decision == decision}
                for decision in plan.decisions
            }
            for (test, name), found in tests.items()
        }
        page.figure(
            system_chart(panels),
            "Means over runs, ± 1 standard deviation; pale dots are runs. An arrow with a number is a score far"
            " from the others.",
        )
    page.table(*table)
    page.paragraph("; ".join(dict.fromkeys(found.signature for found in tests.values())))
    if any(_UNCHANGED in str(cell) for row in table[1] for cell in row):
        page.paragraph(
            f"Runs “{_UNCHANGED}” found no weights that score better on the tuning set: they ended with their initial"
            " weights. The means include them, though they are no result of tuning; in brackets beside each mean is"
            " the mean without those runs, if there are others."
        )


def write_runs(sheets: Sheets, tuned: TuningResults, tests: Tests) -> None:
    """Write the score of each run; the untuned weights come last."""
    systems = sorted(systems_of(sheets.plan), key=lambda system: system.method is None)
    rows: Rows = []
    for (test, name), found in tests.items():
        for system in systems:
            for seed, score, tuning in _runs(sheets.plan, system, tuned, found):
                rows.append((*sheets.named(system), seed, test, name, score, tuning))
    columns = [*sheets.naming, "seed", "test set", "metric", "score", "score on the tuning set"]
    sheets.csv("runs.csv", columns, rows)


def _runs(
    plan: Plan, system: ExperimentSystem, tuned: TuningResults, found: SystemStatistics
) -> list[tuple[object, float, object]]:
    scores = found.scores(system).tolist()
    if system.method is None:
        return [("", scores[0], "")]
    return list(zip(plan.seeds, scores, tuned.scores(system.method).tolist(), strict=True))


def add_spread(sheets: Sheets, tuned: TuningResults, tests: Tests) -> None:
    """Add mean, deviation, worst and best run of every system, and the mean of runs that found new weights."""
    rows: Rows = []
    for (test, name), found in tests.items():
        for system in systems_of(sheets.plan):
            scores = found.scores(system)
            deviation = float(scores.std(ddof=1)) if len(scores) > 1 else ""
            numbers = float(scores.mean()), deviation, float(scores.min()), float(scores.max())
            changed = _changed(tuned, system)
            without = float(scores[changed].mean()) if changed.any() else ""
            own = int(np.count_nonzero(~changed)), without
            rows.append((*sheets.named(system), test, name, len(scores), *numbers, *own))
    columns = [*sheets.naming, "test set", "metric", "runs", "mean", "sd", "min", "max"]
    columns += [_UNCHANGED, "mean without those"]
    sheets.csv("systems.csv", columns, rows)
    if len(sheets.plan.seeds) > 1:
        sheets.page.heading("Variation over runs")
        shown = [tuple(f"{v:.2f}" if isinstance(v, float) else v for v in row) for row in rows]
        folded = "Means, worst and best runs of all systems" if sheets.plan.has_decisions else ""
        sheets.page.table(columns, shown, folded=folded)


def add_decodings(sheets: Sheets, tests: Tests) -> None:
    """Add how much scores vary within and between the weights of a system whose decisions are made several times."""
    plan = sheets.plan
    systems = [system for system in systems_of(plan) if system.decision.decodings > 1]
    if not systems:
        return
    rows: Rows = []
    single: Rows = []
    for (test, name), found in tests.items():
        for system in systems:
            scores = found.decoding_scores(system)
            within = float(np.sqrt(scores.var(axis=1, ddof=1).mean()))
            between = float(scores.mean(axis=1).std(ddof=1)) if len(scores) > 1 else ""
            numbers = float(scores.mean()), float(scores.std(ddof=1)), float(scores.min()), float(scores.max())
            rows.append((*sheets.named(system), test, name, *scores.shape, *numbers, within, between))
            seeds = [""] if system.method is None else [str(seed) for seed in plan.seeds]
            for seed, row in zip(seeds, scores.tolist(), strict=True):
                single += [(*sheets.named(system), seed, i, test, name, score) for i, score in enumerate(row, 1)]
    columns = [*sheets.naming, "test set", "metric", "runs", "decodings", "mean", "sd", "min", "max"]
    columns += ["sd within a run", "sd between runs"]
    sheets.csv("decodings.csv", columns, rows)
    sheets.csv("decoding_scores.csv", [*sheets.naming, "seed", "decoding", "test set", "metric", "score"], single)
    sheets.page.heading("Variation over decodings")
    sheets.page.paragraph(
        "Decisions by samples, made several times under the weights of each run. Mean, standard deviation, worst and"
        " best are over all decodings of all runs; within a run is the root of the mean variance over its decodings,"
        " between runs the standard deviation of their means. Other tables have the mean of each run."
    )
    shown = [tuple(f"{v:.2f}" if isinstance(v, float) else v for v in row) for row in rows]
    sheets.page.table(columns, shown)


_RAW_TEXT = (
    "For each pair: the difference of the means, the proportion of bootstrap resamples of the sentences in which the"
    " first is better (Koehn 2004; 0.95 counts as significant), its one-sided p-value, and the two-sided p-value of"
    " approximate randomisation, stratified over runs (Clark et al. 2011). In the order, > is significantly better, ≥"
    " is better on this test set, = is equal on every sentence."
)
_HOLM_TEXT = (
    "For each pair: the difference of the means, the proportion of bootstrap resamples of the sentences in which the"
    " first is better (Koehn 2004), its one-sided p-value, and the two-sided p-value of approximate randomisation,"
    " stratified over runs (Clark et al. 2011). P-values are corrected by Holm's step-down method (1979) for all"
    " {tests} pairs on a test set, separately for each kind of test: at a level of 0.05, the probability of one or"
    " more false positives is at most 0.05. In the order, > is significantly better by the corrected p-value of the"
    " bootstrap, ≥ is better on this test set, = is equal on every sentence. Uncorrected p-values are in pairs.csv."
)


def add_significance(sheets: Sheets, tests: Tests) -> dict[str, str]:
    """Compare all systems on all test sets by the first metric, and return the order of each group on each."""
    plan, page, metric = sheets.plan, sheets.page, sheets.plan.metrics[0]
    compared = {
        test.name: compare_groups(groups(systems_of(plan)), tests[test.name, metric], plan.correction)
        for test in plan.tests
    }
    page.heading("Significance of differences")
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


def add_sample_sizes(sheets: Sheets, tests: Tests) -> None:
    """Add how often test sets of other sizes would be conclusive for each pair of systems."""
    plan, page, metric = sheets.plan, sheets.page, sheets.plan.metrics[0]
    rows: Rows = []
    for test in plan.tests:
        pairs = conclusive_pairs(groups(systems_of(plan)), tests[test.name, metric], plan.sample_sizes)
        if not pairs:
            continue
        if not rows:
            page.heading("How many sentences a comparison needs")
            page.paragraph(_SIZES_TEXT)
        sizes = list(pairs[0].shares)
        folded = f"All {len(pairs)} pairs on {test.name}" if plan.has_decisions else ""
        columns = [*PAIR[:3], *(f"{size:,} sentences" for size in sizes)]
        table: Rows = [pair.row() for pair in pairs]
        conclusive = [f"{np.mean([sum(pair.shares[size]) for pair in pairs]):.2f}" for size in sizes]
        page.paragraph(
            f"{test.name}: of all pairs and test sets, conclusive are "
            + ", ".join(f"{share} with {size:,} sentences" for share, size in zip(conclusive, sizes, strict=True))
            + "."
        )
        page.table(columns, table, folded=folded)
        rows += [
            (test.name, metric, pair.better, pair.worse, pair.difference, size, *shares)
            for pair in pairs
            for size, shares in pair.shares.items()
        ]
    if rows:
        columns = ["test set", "metric", *PAIR[:3], "sentences", "right", "wrong"]
        sheets.csv("conclusive.csv", columns, rows)


_SIZES_TEXT = (
    "The proportion of test sets that show a significant difference, as 0.15/0.01 if 15 % show the first to be better"
    " and 1 % the second (Koehn 2004, table 3; Schuth 2010, table 7.12): 100 test sets of each size are drawn with"
    " replacement, and each is tested by its own paired bootstrap. Sizes beyond the test set's own stand for more"
    " sentences of exactly the same kind, and are optimistic."
)


class ExperimentReport:
    """The report of an experiment: `report.html` and CSV files in its folder.

    `summary` is the first table, `signatures` are its metrics', `orders` is the order of systems on each test
    set.
    """

    def __init__(self, experiment: Experiment, *, runtime: Runtime = Runtime()):
        self._experiment = experiment
        self._runtime = runtime
        self.summary: Table = ([], [])
        self.signatures: list[str] = []
        self.orders: dict[str, str] = {}

    def write(self) -> Path:
        """Write all parts, in the order of the page, and return the page's path."""
        plan = self._experiment.plan
        tuned = TuningResults(self._experiment)
        translated = ExperimentTranslations(self._experiment, runtime=self._runtime)
        weights = WeightVectors(plan)
        sheets = Sheets(plan, self._experiment.out)
        tests = {
            (test.name, metric): translated.statistics(test, metric) for test in plan.tests for metric in plan.metrics
        }
        self.summary = summary(sheets, tuned, translated, tests)
        self.signatures = list(dict.fromkeys(found.signature for found in tests.values()))
        add_scores(sheets, self.summary, tests)
        write_runs(sheets, tuned, tests)
        add_spread(sheets, tuned, tests)
        add_decodings(sheets, tests)
        self.orders = add_significance(sheets, tests)
        add_sample_sizes(sheets, tests)
        add_scales(sheets, translated)
        add_curves(sheets, tuned, translated, weights, runtime=self._runtime)
        add_numbers(sheets, tuned)
        add_weights(sheets, tuned, weights)
        add_mixtures(sheets, tuned)
        add_oracles(sheets, tuned)
        for method in plan.methods:
            add_best_run(sheets, method, tuned, weights, runtime=self._runtime)
        add_settings(sheets)
        return sheets.write_page()
