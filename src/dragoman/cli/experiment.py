"""`dragoman experiment`: tune with several methods and seeds, compare them on test sets, and write a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import ClusterMachine, Restart, command
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.evaluation.reports.experiment_report import ExperimentReport


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "experiment",
        examples=[
            "dragoman experiment plan.toml --out results",
            "dragoman experiment plan.toml --out results --cluster slurm.toml",
        ],
    )
    def experiment(
        plan: Annotated[Path, typer.Argument(help="The plan, a TOML file; see above.")],
        out: Annotated[Path, typer.Option(help="The folder of the experiment: a new one, or one to continue.")],
        restart: Restart = False,
        runs: Annotated[
            Path | None, typer.Option(help="A folder for the runs that several experiments share. Default: in --out.")
        ] = None,
        machine: ClusterMachine = ClusterMachine(),
    ) -> None:
        """Tune with several methods and seeds, score test sets, and test the differences for significance.

        A plan names a model, a tuning set, methods and test sets (paths are relative to it): `model = "model"`,
        `source = "dev.fr"`, `reference = ["dev.en"]`, `runs = 5`, then for each method `[[method]]` with `name
        = "mert"` and optionally `use = "mert"` and `options = { restarts = 20 }`, and for each test set
        `[[test]]` with `name`, `source` and `reference`. Optional keys: `metrics` (the first is optimised),
        `prepared`, `start`, `fixed`, `curves = false` (do not score test sets after each iteration, which
        halves the work), `correction = "holm"` (correct p-values for the number of pairs), `sample_sizes =
        [300, 1000, 3000]` (sizes of test sets for which the report says how often they would be conclusive;
        `[]` for none), and tables `[loop]`, `[decoding]`, `[search]`, `[space]`, `[ranges]` with the options of
        `dragoman tune`. If the model uses source trees, give `trees` with each `source`.

        To compare decision rules as well, add tables such as `[[decision]]` with `name = "MBR"`, `use = "mbr"` (a rule,
        or a file of `tune-decision`), `evidence = "samples"`, `options = { hypotheses = 500 }`, `sampling = { samples =
        500 }`. Every test set is then translated with all weights and all decision rules. With `scales = [0.25, 0.5, 1,
        2, 4]` the scale of the rule is chosen for each run on the tuning set, or on 300 of its lines with `scale_lines
        = 300`.

        Instead of a model, a plan may have corpora: tables `[[corpus]]` with `name`, `source` and `target`, the
        in-domain corpus first, and `[adapt]` with `systems = ["in", "joint", "perp", "pro-mix"]` and options of
        `dragoman adapt`. The systems are trained once, in the folder of the experiment. Each is tuned by PRO (`pro-mix`
        by PRO-mix), or by the methods in `[[method]]` tables with `system = "perp"`.

        Runs are executed in parallel, each in its own folder. Run the same command again to continue an interrupted
        experiment. Experiments with the same --runs share the runs and translations that they have in common. The
        workers of a --cluster must see the same files under the same names. The results are report.html (one file with
        all tables and pictures) and runs, systems, pairs, conclusive, scales, curves and weights as CSV.
        """
        require_matplotlib()
        with Experiment.claimed(plan, out, restart=restart, shared=runs) as begun:
            with machine.open() as runtime:
                begun.run(runtime=runtime)
            report = ExperimentReport(begun, runtime=runtime.here().quiet())
            with runtime.stage("writing the report"):
                path = report.write()
        console = terminal.output()
        console.print(terminal.table(begun.plan.title, *report.summary))
        for name, order in report.orders.items():
            console.print(f"{name}: {order}", markup=False)
        for signature in report.signatures:
            console.print(signature, style="dim", markup=False)
        console.print(f"Full report: {path}", style="dim", markup=False)
