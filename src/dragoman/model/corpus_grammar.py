"""A grammar on demand: rules are extracted from a word-aligned corpus for given sentences (Lopez 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.corpus import Vocab, source_positions, target_positions
from dragoman.core.errors import DataError, UsageError
from dragoman.core.phrases import PHRASE_SCORES
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.store import Arrays, check_numbers, check_offsets, check_range, ragged_array, typed_array
from dragoman.model.grammar import Grammar
from dragoman.model.rule_scores import AlignedText, RuleExtraction, RuleInstances, TargetCounts, score_instances

_PART = "a corpus with its links"


@dataclass(frozen=True, eq=False)
class CorpusGrammar:
    """The rules of a word-aligned corpus, extracted when a sentence needs them.

    Stored beside the text: `suffixes`, a suffix array of its source side; `rule_counts`, the number of rules of each
    initial phrase pair, sentence by sentence; the factor of each running word in lexical weights, given its links; and
    the counts of target sides in the whole corpus.

    The rules of a source side come from at most `sample` of its occurrences, evenly spaced; 0 is no limit. Without a
    sample, rules and scores equal those of a rule table. With one, p(e|f) is estimated on the sample, and p(f|e) is the
    count that the sample stands for, divided by the count of the target side in the whole corpus, at most 1.
    """

    text: AlignedText
    options: RuleExtraction
    suffixes: NDArray[np.int32]
    rule_counts: Ragged[np.uint32]
    source_weights: NDArray[np.float64]
    target_weights: NDArray[np.float64]
    target_counts: TargetCounts
    sample: int = 0

    @classmethod
    def of(
        cls,
        text: AlignedText,
        options: RuleExtraction,
        word_weights: tuple[NDArray[np.float64], NDArray[np.float64]],
        target_counts: TargetCounts,
        *,
        sample: int = 0,
        runtime: Runtime = Runtime(),
    ) -> CorpusGrammar:
        """Index a text."""
        if options.adjacent_nonterminals:
            raise UsageError("rules on demand have no nonterminals side by side; expected a table of rules for those")
        with runtime.stage("sorting suffixes"):
            suffixes = kernels.suffix_array(text.source.values, text.source.offsets, options.max_source_symbols)
        counts = Ragged(*_rule_counts(text, options, runtime))
        return cls(text, options, suffixes, counts, *word_weights, target_counts, sample)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores that its rules have."""
        return PHRASE_SCORES

    @property
    def probability_names(self) -> tuple[str, ...]:
        """The names of the scores that are probabilities: all of them."""
        return self.score_names

    @property
    def summary(self) -> str:
        """A short description for people."""
        return f"rules on demand from {len(self.text.source):,} sentence pairs"

    def for_sentences(
        self, sentences: Ragged[np.int32], *, span_limit: int | None = None, runtime: Runtime = Runtime()
    ) -> Grammar:
        """Extract the rules whose source side matches at most `span_limit` words of some sentences.

        By default that is the longest span of an initial phrase.
        """
        with runtime.stage("looking rules up") as progress_callback:
            instances = RuleInstances(
                *kernels.look_up_rules(
                    self.text.pairs_for_kernels(),
                    self.suffixes,
                    kernels.UnsignedRows(values=self.rule_counts.values, offsets=self.rule_counts.offsets),
                    self.options.limits,
                    sentences.for_kernels(),
                    span_limit or self.options.max_span,
                    self.sample,
                    runtime.threads,
                    progress_callback,
                )
            )
        return self._indexed(instances, self.target_counts, runtime)

    def whole(self, *, runtime: Runtime = Runtime()) -> Grammar:
        """Extract all rules of the corpus, from all occurrences: the rule table that it stands for."""
        with runtime.stage("extracting rules") as progress_callback:
            text = self.text.pairs_for_kernels()
            instances = RuleInstances(
                *kernels.extract_rules(text, self.options.limits, runtime.threads, progress_callback)
            )
        return self._indexed(instances, None, runtime)

    def _indexed(self, instances: RuleInstances, target_counts: TargetCounts | None, runtime: Runtime) -> Grammar:
        # Indexing asks for no word by name.
        nameless = Vocab.of(())
        return Grammar.from_pairs(
            score_instances(
                instances,
                self.text,
                (nameless, nameless),
                (self.source_weights, self.target_weights),
                target_counts=target_counts,
                runtime=runtime,
            )
        )

    def arrays(self) -> Arrays:
        """Return the arrays that make up the grammar, by name, for storing."""
        return {
            "source": self.text.source.values,
            "source_offsets": self.text.source.offsets,
            "target": self.text.target.values,
            "target_offsets": self.text.target.offsets,
            "links": self.text.links.values,
            "link_offsets": self.text.links.offsets,
            "suffixes": self.suffixes,
            "rule_counts": self.rule_counts.values,
            "pair_offsets": self.rule_counts.offsets,
            "source_weights": self.source_weights,
            "target_weights": self.target_weights,
            "target_hashes": self.target_counts.hashes,
            "target_counts": self.target_counts.counts,
        }

    def about(self) -> dict[str, Any]:
        """Return its description in `model.toml`."""
        return {"sentence_pairs": len(self.text.source), "sample": self.sample, "rules": self.options.to_dict()}

    @classmethod
    def rebuild(cls, about: Mapping[str, Any], arrays: Arrays) -> CorpusGrammar:
        """Rebuild from a description and arrays, refusing arrays that do not fit together."""
        sample, rules = about["sample"], about["rules"]
        if not isinstance(sample, int) or sample < 0 or not isinstance(rules, dict):
            raise DataError(f"model.toml has sample {sample!r} and rules {rules!r}", expected="a number and options")
        text = AlignedText(
            ragged_array(arrays, "source", "source_offsets", np.int32, _PART),
            ragged_array(arrays, "target", "target_offsets", np.int32, _PART),
            ragged_array(arrays, "links", "link_offsets", np.uint32, _PART),
        )
        hashes = typed_array(arrays, "target_hashes", np.uint64, (None,), _PART)
        return cls(
            text,
            RuleExtraction.from_dict(rules),
            typed_array(arrays, "suffixes", np.int32, (len(text.source.values),), _PART),
            ragged_array(arrays, "rule_counts", "pair_offsets", np.uint32, _PART),
            typed_array(arrays, "source_weights", np.float64, (len(text.source.values),), _PART),
            typed_array(arrays, "target_weights", np.float64, (len(text.target.values),), _PART),
            TargetCounts(hashes, typed_array(arrays, "target_counts", np.uint64, (len(hashes),), _PART)),
            sample,
        )

    def check(self, source_vocab: Vocab, target_vocab: Vocab) -> None:
        """Refuse arrays that could lead a kernel astray; rules are counted anew."""
        text = self.text
        for name, side, vocab in (("source", text.source, source_vocab), ("target", text.target, target_vocab)):
            check_offsets(f"{name}_offsets", side.offsets, len(side.values))
            check_range(name, side.values, 0, len(vocab))
        check_offsets("link_offsets", text.links.offsets, len(text.links.values))
        if not len(text.source) == len(text.target) == len(text.links) == len(self.rule_counts):
            raise DataError("the arrays of offsets do not fit each other", expected=_PART)
        row = np.repeat(np.arange(len(text.links)), text.links.lengths)
        outside = source_positions(text.links) >= text.source.lengths[row]
        outside |= target_positions(text.links) >= text.target.lengths[row]
        same = row[:-1] == row[1:]
        if np.any(outside) or np.any(same & (text.links.values[:-1] >= text.links.values[1:])):
            raise DataError("the array 'links' has links outside their sentences, or not in order", expected=_PART)
        check_range("suffixes", self.suffixes, 0, len(text.source.values))
        counts, offsets = _rule_counts(text, self.options, Runtime())
        if not np.array_equal(offsets, self.rule_counts.offsets) or not np.array_equal(counts, self.rule_counts.values):
            raise DataError("the array 'rule_counts' has other numbers of rules than the text", expected=_PART)
        for name, weights in (("source_weights", self.source_weights), ("target_weights", self.target_weights)):
            check_numbers(name, weights)
        hashes = self.target_counts.hashes
        if np.any(self.target_counts.counts == 0) or np.any(hashes[:-1] >= hashes[1:]):
            raise DataError("the arrays 'target_hashes' and 'target_counts' are no counts", expected=_PART)


def _rule_counts(
    text: AlignedText, options: RuleExtraction, runtime: Runtime
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    with runtime.stage("counting rules") as progress_callback:
        return kernels.count_rules(text.pairs_for_kernels(), options.limits, runtime.threads, progress_callback)
