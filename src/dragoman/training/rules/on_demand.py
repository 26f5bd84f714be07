"""An aligned text as a grammar on demand, in as much memory as there is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from dragoman.core.corpus import Bitext
from dragoman.core.errors import DataError, UsageError
from dragoman.core.links import Links
from dragoman.core.progress import SILENT, Progress
from dragoman.core.store import ArrayWriter, load_arrays
from dragoman.core.work.workers import ThreadWorkers, Workers
from dragoman.core.workspace import Workspace
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.rule_instances import AlignedText, RuleExtraction
from dragoman.model.rule_scores import TargetCounts
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.rules.extract import aligned_text, instance_runs, instances_of
from dragoman.training.rules.model import RuleModel


def corpus_grammar(
    bitext: Bitext,
    links: Links,
    options: RuleModel = RuleModel(),
    *,
    workspace: Workspace | None = None,
    workers: Workers | None = None,
    threads: int = 1,
    progress: Progress = SILENT,
) -> CorpusGrammar:
    """Index an aligned text for rules on demand. All rules are extracted once, to count their target sides.

    What they count is mapped from disk if the memory of a `workspace` does not suffice.
    """
    if options.prunes:
        raise UsageError("rules on demand cannot be pruned beforehand; expected neither min-count nor a prune option")
    text, workspace = aligned_text(bitext, links), workspace or Workspace()
    counts = _target_counts(bitext, text, options, workspace, workers or ThreadWorkers(threads), threads, progress)
    with progress.stage("counting linked words"):
        weights = word_weights(bitext, text.links, lexical_tables(bitext, links))
    limits = RuleExtraction(**{field.name: getattr(options, field.name) for field in fields(RuleExtraction)})
    return CorpusGrammar.of(text, limits, weights, counts, sample=options.sample, threads=threads, progress=progress)


def _target_counts(
    bitext: Bitext,
    text: AlignedText,
    options: RuleModel,
    workspace: Workspace,
    workers: Workers,
    threads: int,
    progress: Progress,
) -> TargetCounts:
    """Count target sides; those of a partition have hashes in a range of their own."""
    runs = instance_runs(
        bitext, text, options, workspace, target=True, workers=workers, threads=threads, progress=progress
    )
    writers: dict[str, ArrayWriter] = {}
    done = 0
    with progress.stage("counting target sides") as share:
        for rows in runs.partitions():
            if not rows:
                raise DataError("no rule could be extracted", expected="a parallel text with some word links")
            instances = instances_of(rows)
            done += len(instances)
            part = TargetCounts.of(instances, text, threads=threads)
            if len(instances) == runs.rows:
                return part
            with workspace.writing():
                for name, values in part._asdict().items():
                    if name not in writers:
                        writers[name] = ArrayWriter(workspace.folder / "targets" / f"{name}.npy", np.uint64)
                    writers[name].write(values)
            share(done / runs.rows)
    with workspace.writing():
        for writer in writers.values():
            writer.finish()
    arrays: dict[str, Any] = load_arrays(workspace.folder / "targets")
    return TargetCounts(**arrays)
