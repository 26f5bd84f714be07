"""Five papers re-run on open data: plans, raw results, and pages that say which claims hold.

Each paper has a folder:

    PAPER/claims.toml         its claims, and a verdict on each
    PAPER/table-N.toml ...    a plan for each table or figure: the paper's numbers, ours, and the results they come from
    PAPER/experiments/        plans of `dragoman experiment` that tables share
    PAPER/measures/           other commands whose output tables show
    PAPER/results/NAME/       raw results: scores, weights, seeds, times, versions, as CSV and TOML
    PAPER/page.md, *.svg      made from all of these by `make reproduce-pages`

`data.toml` has the texts and models that papers share. `python -m reproduction --help` lists the commands.
"""
