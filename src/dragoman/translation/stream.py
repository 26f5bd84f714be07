"""The way of every text through a model: lines are prepared, searched or sampled, and what comes of it is restored."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from dragoman.core.errors import UsageError
from dragoman.core.runtime import Runtime
from dragoman.decision.rule import Evidence
from dragoman.decision.settings import Decision
from dragoman.formats.penn_trees import TreeFile
from dragoman.sampling.draw import Draw, document_shards
from dragoman.sampling.sampler import annealed
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.markup import parse_markup, prepare_markup, without_markup
from dragoman.search.shards import ShardedTranslator
from dragoman.search.translation import SearchResult
from dragoman.search.translator import Shard, Translator
from dragoman.text.preparation import TextPreparation
from dragoman.translation.outputs import Outputs, SentenceResult

#: A line, or lines that have come together and are not to wait for more.
Lines = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Stream:
    """Translates text, by threads of this process or by workers that load the model from its folder.

    Lines are raw, and prepared as in the model's training, unless they are `prepared` already. Translations are
    restored to the same form, or to that of `restoration`. Lines may have markup, if the translator obeys it.

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

        Lines that come in blocks, as through a pipe, do not wait for those of the next block. `trees` are those of the
        sentences, `documents` labels by which features of documents know theirs, and `targets` the only translations
        that are allowed, raw or prepared like the lines.
        """
        if isinstance(lines, str) or isinstance(targets, str):
            raise TypeError("expected an iterable of lines, found one string")
        if targets is not None and (outputs.decision is not None or outputs.by_chains):
            raise UsageError("only a search can be forced: no decisions, samples or annealing")
        if not outputs.by_chains:
            self.translator.refuse_global_features()
        return self._results(lines, outputs, trees, documents, targets)

    def _results(
        self,
        lines: Iterable[Lines],
        outputs: Outputs,
        trees: TreeFile | None,
        documents: Sequence[object] | None,
        targets: Iterable[str] | None,
    ) -> Iterator[SentenceResult]:
        preparation = self.translator.model.preparation(prepared=self.prepared)
        restoration = self.restoration or preparation
        sharded = ShardedTranslator(self.translator, self.folder, runtime=self.runtime)
        forced = None if targets is None else iter(preparation.target(targets))
        together, work, number = self._sees_documents(outputs), ShardResults(outputs), 0
        raw: deque[str] = deque()  # lines that have been prepared, and have no result yet
        for block in [itertools.chain.from_iterable(_blocks(lines))] if together else _blocks(lines):
            words = self._words(block, preparation, trees, raw)
            shards = sharded.shards(words, forced, first=number)
            if together:
                shards = document_shards(sharded, words, documents)
            for found in sharded.map(work, shards):
                sources = [raw.popleft() for _ in found]
                # Words of the source that the translation has too are written as they are there.
                cased = [without_markup(line, preparation) for line in sources] if self.translator.markup else sources
                texts = restoration.restore([result.text for result in found], cased)
                for result, source, text in zip(found, sources, texts, strict=True):
                    yield replace(result, number=number, source=source, text=text)
                    number += 1
        if trees is not None:
            trees.finish()

    def _sees_documents(self, outputs: Outputs) -> bool:
        """Whether some feature sees several sentences together."""
        draw = outputs.samples or Draw(Sampling())
        return outputs.by_chains and draw.sampler(self.translator).sees_documents

    def _words(
        self, lines: Iterable[str], preparation: TextPreparation, trees: TreeFile | None, raw: deque[str]
    ) -> Iterator[str]:
        """Prepare lines, and note them as they were."""
        markup = self.translator.markup
        words = preparation.source(_noted(lines, raw), runtime=self.runtime)
        if markup:
            words = (prepare_markup(line, preparation) for line in _noted(lines, raw))
        if trees is None:
            return words
        return (trees.attach(line, parse_markup(line)[0] if markup else None) for line in words)


def _blocks(lines: Iterable[Lines]) -> Iterator[Iterable[str]]:
    """Group lines as they come: each block by itself, and lines in a row together, as many as there are."""
    for alone, group in itertools.groupby(lines, lambda item: isinstance(item, str)):
        if alone:
            yield group  # type: ignore[misc]
        else:
            yield from group


def _noted(lines: Iterable[str], raw: deque[str]) -> Iterator[str]:
    for line in lines:
        raw.append(line)
        yield line


@dataclass(frozen=True)
class ShardResults:
    """Makes what is wanted of the sentences of a shard; their texts are in the words of the model."""

    outputs: Outputs

    def __call__(self, translator: Translator, shard: Shard, runtime: Runtime) -> list[SentenceResult]:
        """Search, sample, anneal or decide."""
        outputs = self.outputs
        if outputs.decision is not None:
            return self._decide(translator, shard, outputs.decision, runtime)
        if outputs.samples is not None:
            drawn = outputs.samples(translator, shard, runtime)
            return [SentenceResult(samples=part.sentence(i)) for part in drawn for i in range(len(part.samples))]
        if outputs.annealing is not None:
            return self._anneal(translator, shard, outputs.annealing)
        if outputs.forests or shard.targets is not None:
            return self._of_search(translator.search_shard(shard, forests=outputs.forests))
        translations = translator.translate_shard(shard, features=outputs.features)
        return [SentenceResult(found.text, found) for found in translations]

    def _anneal(self, translator: Translator, shard: Shard, annealing: Annealing) -> list[SentenceResult]:
        seed, first, documents = self.outputs.seed, shard.first, shard.documents
        parts = annealed(translator, shard.lines, annealing, seed=seed, first=first, documents=documents)
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
        evidence: list[Evidence]
        if self.outputs.samples is not None:
            evidence = [part.samples for part in self.outputs.samples(translator, shard, runtime)]
        else:
            evidence = [decision.evidence_of(translator.search_shard(shard, forests=True), runtime=runtime)]
        rules = (decision.rule, *self.outputs.more_rules)
        results = list[SentenceResult]()
        for part in evidence:
            texts = zip(*(rule.decide(part, runtime=runtime).lines() for rule in rules), strict=True)
            results += [SentenceResult(text, more_texts=tuple(more)) for text, *more in texts]
        return results
