"""Translation of text: lines are prepared, searched or sampled, and the results are restored."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from dragoman.core.errors import UsageError
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.rule import Evidence, Rule
from dragoman.decision.settings import Decision
from dragoman.formats.penn_trees import TreeFile
from dragoman.sampling.annealing import anneal
from dragoman.sampling.diagnostics.agreement import AgreementReport, ChainAgreement
from dragoman.sampling.draw import Draw, document_shards
from dragoman.sampling.sampler import SampleBatch
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.fixed_translations import parse_markup, prepare_markup, without_markup
from dragoman.search.translation import SearchResult, Translation
from dragoman.search.translator import BATCH, SEARCH_BATCH, Shard, ShardedTranslator, Translator
from dragoman.text.preparation import TextPreparation


@dataclass(frozen=True)
class Outputs:
    """Outputs requested for each sentence; by default the best derivation of the search, and its text.

    `features` adds the features of that derivation, `nbest` an n-best list of this size (of `distinct` strings, or of
    derivations), and `hypergraph` the search hypergraph. With `annealing`, simulated annealing from there, with a
    `seed`, gives the derivation. A `decision` chooses a string by evidence, and no derivation; `more_rules` are further
    rules that use the same evidence. `samples` sets how samples are drawn: for a decision by samples, or to be returned
    instead of a translation.
    """

    features: bool = False
    nbest: int | None = None
    distinct: bool = True
    hypergraph: bool = False
    annealing: Annealing | None = None
    seed: int = 1
    decision: Decision | None = None
    more_rules: tuple[Rule, ...] = ()
    samples: Draw | None = None

    def __post_init__(self) -> None:
        derivations = self.features or self.forests or self.annealing is not None
        if self.decision is None and self.more_rules:
            raise UsageError("more rules go with a decision, whose evidence they see")
        if self.decision is not None and derivations:
            raise UsageError("a decision chooses strings, not derivations: no features, lists, hypergraphs, annealing")
        if self.annealing is not None and self.forests:
            raise UsageError("annealing finds one derivation: no n-best lists or hypergraphs")
        if self.decision is not None and (self.decision.evidence == "samples") != (self.samples is not None):
            raise UsageError("samples need a sampler" if self.samples is None else "the rule does not see samples")
        if self.decision is None and self.samples is not None and derivations:
            raise UsageError("samples are drawn in place of a search: no features, lists, hypergraphs, annealing")

    @property
    def forests(self) -> bool:
        """True if the search must keep more than its best derivation."""
        return self.nbest is not None or self.hypergraph

    @property
    def by_chains(self) -> bool:
        """True if Markov chains do the work, which can score global features."""
        return self.samples is not None or self.annealing is not None


@dataclass(frozen=True, eq=False)
class SentenceResult:
    """The result of sentence `number` of a text, whose line is `source`; only requested outputs are set.

    `text` is the translation in the requested form, empty if there is none, and `translation` its derivation, in the
    words of the model. A forced target may have no derivation, for instance because the search for it would have been
    too large. `more_texts` are the choices of `more_rules`. Of samples by which a decision was made, `entropy` is that
    of the relative frequencies of derivations, in nats, and `agreement` says whether their chains agree.
    """

    text: str = ""
    translation: Translation | None = None
    nbest: NBest | None = None
    hypergraph: Hypergraph | None = None
    samples: SampleBatch | None = None
    more_texts: tuple[str, ...] = ()
    entropy: float | None = None
    agreement: ChainAgreement | None = None
    has_derivation: bool = True
    is_too_large: bool = False
    number: int = 0
    source: str = ""


#: A line, or a block of lines that does not wait for more.
Lines = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Stream:
    """Translates text, by threads of this process or by workers that load the model from its folder.

    Lines are raw, and prepared as in the model's training, unless they are `prepared` already. Translations are
    restored to the same form, or as `restoration` does it. Lines may have markup, if the translator obeys it.

    >>> import dragoman as dm
    >>> stream = Stream(dm.example().translator)
    >>> [(found.number, found.text) for found in stream.results(["Un homme dort.", "Un chat dort."])]
    [(0, 'A man sleeps.'), (1, 'A cat sleeps.')]
    """

    translator: Translator
    folder: Path | None = None
    _: KW_ONLY
    prepared: bool = False
    restoration: TextPreparation | None = None
    runtime: Runtime = Runtime()

    def results(
        self,
        lines: Iterable[Lines],
        outputs: Outputs = Outputs(),
        *,
        trees: TreeFile | None = None,
        documents: Sequence[object] | None = None,
        targets: Iterable[str] | None = None,
    ) -> Iterator[SentenceResult]:
        """Yield the result for each sentence, in order, as it becomes ready.

        Lines that come in blocks, as through a pipe, do not wait for the next block. `trees` are the source trees,
        `documents` labels for features of documents, and `targets` the only translations that are allowed, raw or
        prepared like the lines.
        """
        if isinstance(lines, str) or isinstance(targets, str):
            raise TypeError("expected an iterable of lines, found one string")
        if targets is not None and (outputs.decision is not None or outputs.by_chains):
            raise UsageError("only a search can be forced: no decisions, samples or annealing")
        if not outputs.by_chains:
            self.translator.refuse_global_features()
        preparation = self.translator.model.preparation(prepared=self.prepared)
        return itertools.chain.from_iterable(self._results(lines, outputs, preparation, trees, documents, targets))

    def _results(
        self,
        lines: Iterable[Lines],
        outputs: Outputs,
        preparation: TextPreparation,
        trees: TreeFile | None,
        documents: Sequence[object] | None,
        targets: Iterable[str] | None,
    ) -> Iterator[list[SentenceResult]]:
        """Yield the results of each shard."""
        restoration = self.restoration or preparation
        sharded = ShardedTranslator(self.translator, self.folder, runtime=self.runtime)
        forced = None if targets is None else iter(preparation.target(targets))
        together, work, number = self._sees_documents(outputs), ShardResults(outputs), 0
        report = AgreementReport()
        for block in [itertools.chain.from_iterable(_blocks(lines))] if together else _blocks(lines):
            block, raw = itertools.tee(block)
            words = self._words(block, preparation, trees)
            size = BATCH if outputs.by_chains else SEARCH_BATCH
            shards = sharded.shards(words, forced, first=number, sentences=size)
            if together:
                shards = document_shards(sharded, words, documents)
            for found in sharded.map(work, shards):
                sources = [*itertools.islice(raw, len(found))]
                # Source words that pass through untranslated keep their case.
                cased = [without_markup(line, preparation) for line in sources] if self.translator.markup else sources
                texts = restoration.restore([result.text for result in found], cased)
                numbers = range(number, number + len(found))
                for result in found:
                    report.add(result.agreement)
                yield [
                    replace(result, number=i, source=source, text=text)
                    for result, i, source, text in zip(found, numbers, sources, texts, strict=True)
                ]
                number += len(found)
        report.warn(self.runtime)
        if trees is not None:
            trees.finish()

    def _sees_documents(self, outputs: Outputs) -> bool:
        """Tell whether a feature looks at several sentences together."""
        if not outputs.by_chains:
            return False
        draw = outputs.samples or Draw(Sampling())
        return draw.sampler(self.translator).sees_documents

    def _words(self, lines: Iterable[str], preparation: TextPreparation, trees: TreeFile | None) -> Iterator[str]:
        """Prepare lines, and attach their trees."""
        markup = self.translator.markup
        words = preparation.source(lines, runtime=self.runtime)
        if markup:
            words = (prepare_markup(line, preparation) for line in lines)
        if trees is None:
            return words
        return (trees.attach(line, parse_markup(line)[0] if markup else None) for line in words)


def _blocks(lines: Iterable[Lines]) -> Iterator[Iterable[str]]:
    """Group lines as they come: each block by itself, and consecutive single lines together."""
    for alone, group in itertools.groupby(lines, lambda item: isinstance(item, str)):
        if alone:
            yield group  # type: ignore[misc]
        else:
            yield from group


@dataclass(frozen=True)
class ShardResults:
    """Computes the requested outputs for the sentences of a shard; their texts are in the words of the model."""

    outputs: Outputs

    def __call__(self, translator: Translator, shard: Shard, runtime: Runtime) -> list[SentenceResult]:
        """Search, sample, anneal or decide."""
        outputs = self.outputs
        if outputs.decision is not None:
            return self._decide(translator, shard, outputs.decision, runtime)
        if outputs.samples is not None:
            drawn = outputs.samples(translator, shard, runtime)
            return [
                SentenceResult(samples=part.sentence(i), agreement=part.agreement.sentence(i))
                for part in drawn
                for i in range(len(part.samples))
            ]
        if outputs.annealing is not None:
            return self._anneal(translator, shard, outputs.annealing)
        if outputs.forests or shard.targets is not None:
            return self._of_search(translator.search_shard(shard, forests=outputs.forests))
        translations = translator.translate_shard(shard, features=outputs.features)
        return [SentenceResult(found.text, found) for found in translations]

    def _anneal(self, translator: Translator, shard: Shard, annealing: Annealing) -> list[SentenceResult]:
        seed, first, documents = self.outputs.seed, shard.first, shard.documents
        parts = anneal(translator, shard.lines, annealing, seed=seed, first=first, documents=documents)
        return [result for part in parts for result in self._of_search(part)]

    def _of_search(self, found: SearchResult) -> list[SentenceResult]:
        outputs = self.outputs
        lists = None if outputs.nbest is None else found.nbest(outputs.nbest, distinct=outputs.distinct)
        return [
            SentenceResult(
                translation.text,
                translation,
                nbest=None if lists is None else lists.list(i),
                hypergraph=found.hypergraph(i) if outputs.hypergraph and found.has_derivation(i) else None,
                has_derivation=found.has_derivation(i),
                is_too_large=found.is_too_large(i),
            )
            for i, translation in enumerate(found.translations(features=outputs.features))
        ]

    def _decide(
        self, translator: Translator, shard: Shard, decision: Decision, runtime: Runtime
    ) -> list[SentenceResult]:
        evidence: list[tuple[Evidence, ChainAgreement | None]]
        if self.outputs.samples is not None:
            drawn = self.outputs.samples(translator, shard, runtime)
            evidence = [(part.samples, part.agreement) for part in drawn]
        else:
            evidence = [(decision.evidence_of(translator.search_shard(shard, forests=True), runtime=runtime), None)]
        rules = (decision.rule, *self.outputs.more_rules)
        results = list[SentenceResult]()
        for part, agreement in evidence:
            texts = zip(*(rule.decide(part, runtime=runtime).lines() for rule in rules), strict=True)
            entropies = part.entropies.tolist() if isinstance(part, Samples) else [None] * len(part)
            for i, ((text, *more), entropy) in enumerate(zip(texts, entropies, strict=True)):
                chains = None if agreement is None else agreement.sentence(i)
                results.append(SentenceResult(text, more_texts=tuple(more), entropy=entropy, agreement=chains))
        return results
