"""An aligned text as a grammar on demand, in as much memory as there is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from dragoman.core.corpus import Bitext
from dragoman.core.errors import UsageError
from dragoman.core.links import Links
from dragoman.core.runtime import Runtime
from dragoman.core.store import ArrayWriter, load_arrays
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.rule_instances import AlignedText, RuleExtraction
from dragoman.model.rule_scores import TargetCounts
from dragoman.training.lexical import lexical_tables, word_weights
from dragoman.training.rules.extract import aligned_text, instances_of, rule_runs
from dragoman.training.rules.model import RuleModel


def corpus_grammar(
    bitext: Bitext, links: Links, options: RuleModel = RuleModel(), *, runtime: Runtime = Runtime()
) -> CorpusGrammar:
    """Index an aligned text for rules on demand. All rules are extracted once, to count their target sides.

    What they count is mapped from disk if the memory of a workspace does not suffice.
    """
    if options.prunes:
        raise UsageError("rules on demand cannot be pruned beforehand; expected neither min-count nor a prune option")
    text = aligned_text(bitext, links)
    counts = _target_counts(bitext, text, options, runtime)
    with runtime.stage("counting linked words"):
        weights = word_weights(bitext, text.links, lexical_tables(bitext, links))
    limits = RuleExtraction(**{field.name: getattr(options, field.name) for field in fields(RuleExtraction)})
    return CorpusGrammar.of(text, limits, weights, counts, sample=options.sample, runtime=runtime)


def _target_counts(bitext: Bitext, text: AlignedText, options: RuleModel, runtime: Runtime) -> TargetCounts:
    """Count target sides; those of a partition have hashes in a range of their own."""
    runs, workspace = rule_runs(bitext, text, options, target=True, runtime=runtime), runtime.workspace
    writers: dict[str, ArrayWriter] = {}
    done = 0
    with runtime.stage("counting target sides") as share:
        for rows in runs.partitions():
            instances = instances_of(rows)
            done += len(instances)
            part = TargetCounts.of(instances, text, runtime=runtime.quiet())
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
