"""The hierarchical model of `dragoman demo`, and the verse whose derivation shows best what such models do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.runtime import Runtime
from dragoman.metrics.bleu import Bleu
from dragoman.model.features import initial_chart_weights
from dragoman.model.grammar import Grammar
from dragoman.search.limits import SearchLimits
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from dragoman.training.pipeline import Trained
from dragoman.training.rules.model import RuleModel, rules

#: Verses that rules are learnt from; the number of rules grows much faster than the length of a verse.
_VERSES = 4000
_LONGEST = 16
#: Without tuning, joining parts from left to right looks better than rules that were seen once.
_GLUE = -0.5


def hierarchical(trained: Trained, *, runtime: Runtime) -> Translator:
    """Learn rules from the first short verses, by the word links that are there, beside the same language model."""
    lengths = trained.bitext.source.sentences.lengths
    verses = np.argsort(lengths > _LONGEST, kind="stable")[:_VERSES]
    bitext, links = trained.bitext.take(verses), trained.links.take(verses)
    options = RuleModel(max_span=7, max_source_symbols=4, tight=True, prune_limit=10)
    with runtime.stage("a hierarchical model"):
        grammar = Grammar.from_pairs(rules(bitext, links, options, runtime=runtime.quiet()))
    model = trained.model
    model = replace(
        model,
        tables={},
        grammars={"tm": grammar},
        weights=initial_chart_weights({"tm": grammar.score_names}, model.language_models).updated({"glue": _GLUE}),
        settings=replace(model.settings, span_limit=options.max_span),
    )
    return Translator.of(model, limits=SearchLimits(pop_limit=50), runtime=runtime.quiet())


def good_example(translator: Translator, lines: Sequence[str], references: Sequence[str]) -> Translation:
    """Translate verses of middling length; returns the best of those in which a rule moves something."""
    fitting = [i for i, line in enumerate(lines) if 6 <= len(line.split()) <= 16] or [0]
    found = [one for part in translator.searched([lines[i] for i in fitting]) for one in part.translations()]
    scorer = Bleu().scorer([Corpus.from_lines([references[i] for i in fitting])])
    scores = scorer.sentence_scores(scorer.statistics(Corpus.from_lines([one.text for one in found]))).tolist()
    return found[max(range(len(found)), key=lambda i: (_moves(found[i]), scores[i]))]


def _moves(translation: Translation) -> bool:
    """Whether the words of some rule change places with what fills its holes, and none is unknown."""
    assert translation.tree is not None
    found = [rule for _, rule in translation.tree.rules()]
    return not any(rule.unknown for rule in found) and any(
        (ours[0] < theirs[0]) != (ours[1] < theirs[1])
        for rule in found
        for child in rule.children
        for ours in rule.links
        for theirs in child.all_links()
    )
