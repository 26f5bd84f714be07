"""Run the reproduction, make its pages, or check them.

    python -m reproduction run [PAPER ...] --data DATA [--minutes 60] [--only table-7.6] [--list] [--quick]
    python -m reproduction pages              make all pages from raw results
    python -m reproduction check              fail if a page or a verdict is out of date
    python -m reproduction confirm PAPER [CLAIM ...]   say that claims were judged on the results as they are

What is done is kept in the working folder, and the same command goes on after an interruption. With --minutes, only
steps that should end in time are begun.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from dragoman.core.errors import DragomanError
from reproduction import pages
from reproduction.claims import confirm
from reproduction.layout import HERE, PAPERS, Paper
from reproduction.materials import Materials
from reproduction.runner import Settings, chosen, listing, quick_folder, run_all
from reproduction.times import Times
from reproduction.work import works


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="do the steps that are not done")
    run.add_argument("papers", nargs="*", metavar="PAPER", help=f"some of {', '.join(PAPERS)}; by default all")
    run.add_argument("--data", type=Path, default=HERE.parent / "../shared/data", help="folder with the corpora")
    run.add_argument("--work", type=Path, default=HERE.parent / "build/reproduction", help="folder to work in")
    run.add_argument("--minutes", type=float, help="begin only steps that should end within these")
    run.add_argument("--only", nargs="+", default=[], help="tables, figures, experiments or measures to do")
    run.add_argument("--list", action="store_true", help="only say what there is to do, and how long it will take")
    run.add_argument("--processes", type=int, default=2, help="steps to do side by side")
    run.add_argument("--quick", action="store_true", help="small texts and one run; results and pages are kept apart")
    commands.add_parser("pages", help="make all pages from raw results")
    commands.add_parser("check", help="fail if a page or a verdict is out of date")
    judged = commands.add_parser("confirm", help="say that claims were judged on the results as they are")
    judged.add_argument("paper")
    judged.add_argument("claims", nargs="*")
    options = parser.parse_args()
    papers = Paper.all()
    try:
        if options.command == "run":
            _run(options, papers)
        elif options.command == "pages":
            pages.write(pages.all_files(papers))
        elif options.command == "check":
            found = list(pages.faults(papers))
            print(*found, sep="\n", end="\n" if found else "")
            raise SystemExit(bool(found))
        else:
            confirm(Paper(options.paper, HERE / options.paper), options.claims)
    except DragomanError as error:
        raise SystemExit(f"reproduction: error: {error}") from None


def _run(options: argparse.Namespace, papers: list[Paper]) -> None:
    begun = time.monotonic()
    unknown = set(options.papers) - set(PAPERS)
    if unknown:
        raise SystemExit(f"reproduction: error: no paper is called {sorted(unknown)[0]}; expected {', '.join(PAPERS)}")
    papers = [paper for paper in papers if not options.papers or paper.name in options.papers]
    materials = Materials(HERE / "data.toml", options.data, options.work.resolve(), options.quick)
    published = sorted(path.parent for paper in papers for path in paper.folder.glob("results/*/origin.toml"))
    times, quick = Times(materials.work / "times.jsonl", tuple(published)), quick_folder(materials)
    wanted = chosen(list(works(papers, materials)), options.only)
    if options.list:
        print(*listing(wanted, times, quick), sep="\n")
        return
    deadline = None if options.minutes is None else begun + 60 * options.minutes
    complete = run_all(wanted, times, quick, Settings(options.processes, deadline))
    if quick is None:
        pages.write(pages.all_files(Paper.all()))
    else:
        for paper in papers:
            pages.write(pages.page_files(paper.elsewhere(quick)))
    print(f"took {(time.monotonic() - begun) / 60:.1f} minutes{'' if complete else '; some steps are left'}")
    raise SystemExit(0 if complete or deadline is not None else 1)


if __name__ == "__main__":
    main()
