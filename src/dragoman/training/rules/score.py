"""The rules of a whole text, with scores."""

from __future__ import annotations

from dragoman.core.corpus import Bitext
from dragoman.core.phrases import PhrasePairs
from dragoman.core.progress import SILENT, Progress
from dragoman.model.rule_instances import AlignedText, RuleInstances
from dragoman.model.rule_scores import score_instances
from dragoman.training.lexical import LexicalTables, word_weights


def score_rules(
    instances: RuleInstances,
    bitext: Bitext,
    text: AlignedText,
    lexical: LexicalTables,
    *,
    threads: int = 1,
    progress: Progress = SILENT,
) -> PhrasePairs:
    """Count all rules of a bitext and score them; `text` is the bitext with its links, and `instances` are from it."""
    return score_instances(
        instances,
        text,
        (bitext.source.vocab, bitext.target.vocab),
        word_weights(bitext, text.links, lexical),
        threads=threads,
        progress=progress,
    )
