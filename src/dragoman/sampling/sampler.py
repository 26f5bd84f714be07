"""Sampling: lines in, samples of their derivations out, for every kind of model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import DocumentTrace, Samples
from dragoman.features import GlobalFeature
from dragoman.sampling.chains import ChainResult, ChainSettings, refuse_document_features, run_chains
from dragoman.sampling.diagnostics.agreement import AgreementReport, ChainAgreement
from dragoman.sampling.global_features import GlobalFunctions, document_parts
from dragoman.sampling.schedule import Sampling
from dragoman.sampling.search_forest import Forest
from dragoman.sampling.space import AnySpace, space_for
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator

#: Sentences that are sampled together, for each thread.
_BATCH = 8

#: Translations that are forced at once.
_FORCED = 256


@dataclass(frozen=True, eq=False)
class SampleBatch:
    """Samples of some sentences, with statistics of the chains that drew them.

    `derivations` has a row for each row of the samples: the derivation as its kind of model writes it, which a `Forest`
    can look up. `tried` and `accepted` count the `moves` by sentence, chain and move. `collected` is the number of
    samples by sentence and chain: fewer than asked for if time ran out. `components` is the number of parts that the
    derivations of each sentence fall into, between which only jumps lead. Where whole scans are accepted or rejected,
    `scans_tested` and `scans_accepted` count them by sentence and chain.
    """

    samples: Samples
    derivations: Ragged[np.int32]
    moves: tuple[str, ...]
    tried: NDArray[np.int64]
    accepted: NDArray[np.int64]
    collected: NDArray[np.int64]
    components: NDArray[np.int64]
    scans_tested: NDArray[np.int64]
    scans_accepted: NDArray[np.int64]
    agreement: ChainAgreement

    def counts(self, move: str) -> tuple[int, int]:
        """Return how often a move was tried and accepted in total."""
        place = self.moves.index(move)
        return int(self.tried[..., place].sum()), int(self.accepted[..., place].sum())

    def sentence(self, i: int) -> SampleBatch:
        """Return the samples of one sentence, without copying; see `Samples.sentence`."""
        at, rows = slice(i, i + 1), slice(*self.samples.sentences[i : i + 2].tolist())
        return replace(
            self,
            samples=self.samples.sentence(i),
            derivations=self.derivations.part(rows),
            tried=self.tried[at],
            accepted=self.accepted[at],
            collected=self.collected[at],
            components=self.components[at],
            scans_tested=self.scans_tested[at],
            scans_accepted=self.scans_accepted[at],
            agreement=self.agreement.sentence(i),
        )


class SampleArguments(TypedDict, total=False):
    """Arguments of a sampler.

    Each sentence and chain has random numbers of its own, which depend on the `seed`, the sentence's place among the
    lines and the chain's number: more samples, chains or threads do not change the first ones. `first` is added to that
    place if the lines are part of a text. `documents` are labels of the lines for global features of documents:
    consecutive lines with the same label form one document, by default all lines. `features=False` leaves out features,
    which take longer than the sampling itself; `trace` keeps the order in time. `runtime` defaults to the
    translator's.
    """

    seed: int
    first: int
    documents: Iterable[object] | None
    features: bool
    trace: bool
    runtime: Runtime


@dataclass(frozen=True)
class _Arguments:
    """Arguments of a sampler with their defaults; see `SampleArguments`."""

    seed: int = 1
    first: int = 0
    documents: Iterable[object] | None = None
    features: bool = True
    trace: bool = False
    runtime: Runtime = Runtime()


class Sampler:
    """Sampler of derivations by Markov chains, with p(derivation) ∝ exp(score / temperature)."""

    def __init__(
        self,
        translator: Translator,
        options: Sampling,
        proposal_weights: Weights | None,
        global_features: Sequence[GlobalFeature],
    ):
        self.translator = translator
        self.options = options
        self._proposal_weights = proposal_weights
        translator.weights.check_finite()
        if proposal_weights is not None:
            proposal_weights.check_finite()
        ours = translator.model.features_of(GlobalFeature)
        weights = translator.weights
        if ours:
            weights = Weights({feature.name: 0.0 for feature in ours}).updated(weights)
        names = {feature.name for feature in global_features}
        chosen = [*(feature for feature in ours if feature.name not in names), *global_features]
        self._functions = GlobalFunctions(chosen, weights) if chosen else None
        # Features of weight 0 change nothing, and are skipped if nobody asks for their values.
        weighted = [feature for feature in chosen if weights.get(feature.name) != 0]
        self._weighted_functions = GlobalFunctions(weighted, weights) if weighted else None
        self._space_type = space_for(translator.model.kind)
        options.refuse(self._space_type.foreign_options, self._space_type.model_kind)
        refuse_document_features(self._space_type, self._weighted_functions)

    @property
    def sees_documents(self) -> bool:
        """True if some feature sees several sentences together."""
        return self._functions is not None and self._functions.see_documents

    @classmethod
    def of(
        cls,
        translator: Translator,
        options: Sampling = Sampling(),
        *,
        proposal_weights: Weights | None = None,
        global_features: Sequence[GlobalFeature] = (),
    ) -> Sampler:
        """Return a sampler for a translator's model.

        With `proposal_weights`, steps are drawn from the same model under other weights and accepted so that samples
        still follow the translator's weights; `options.proposal_order` draws them with smaller language models (8.2.1
        of Arun's thesis). The model's global features take part, and so do `global_features`; the translator's weights
        have a weight for each, by name.
        """
        return cls(translator, options, proposal_weights, global_features)

    def sample(self, lines: Iterable[str], **how: Unpack[SampleArguments]) -> Iterator[Samples]:
        """Sample tokenised sentences, in order, a batch at a time; for the arguments see `SampleArguments`."""
        return (part.samples for part in self.batches(lines, **how))

    def evidence(self, lines: Iterable[str], **how: Unpack[SampleArguments]) -> Iterator[Samples]:
        """Sample like `sample`, and warn at the end if the chains of some sentence disagree."""
        report = AgreementReport()
        for part in self.batches(lines, **how):
            report.add(part.agreement)
            yield part.samples
        report.warn(how.get("runtime", self.translator.runtime))

    def batches(self, lines: Iterable[str], **how: Unpack[SampleArguments]) -> Iterator[SampleBatch]:
        """Sample like `sample`, and return statistics of the chains too."""
        return self._run(lines, replace(_Arguments(runtime=self.translator.runtime), **how))

    def _run(self, lines: Iterable[str], request: _Arguments) -> Iterator[SampleBatch]:
        number, runtime = request.first, request.runtime
        functions = self._functions if request.features or request.trace else self._weighted_functions
        together = functions is not None and functions.see_documents and self._space_type.joins_documents
        for part, bounds in document_parts(lines, request.documents, _BATCH * runtime.threads, together=together):
            space = replace(
                self._space(part),
                functions=functions if self._space_type.joins_documents else self._weighted_functions,
                documents=bounds,
            )
            space = replace(space, proposal=self._proposal(space.batch))
            # The order in time says how many samples are effective, whether or not the caller needs it.
            settings = ChainSettings.sampling(self.options, seed=request.seed, trace=True, first_number=number)
            space, starts = self._starts(space, request.seed, number, runtime)
            chains = run_chains(space, settings, starts=starts, runtime=runtime)
            short = int((chains.collected.min(axis=1) < self.options.samples).sum())
            if short:
                runtime.warn(f"the time was over for {short} of sentences {number + 1} to {number + len(part)}")
            samples = _samples(space, chains, functions, features=request.features)
            assert samples.trace is not None
            yield SampleBatch(
                samples=samples if request.trace else replace(samples, trace=None, documents=None),
                derivations=chains.derivations,
                moves=space.moves,
                tried=chains.tried,
                accepted=chains.accepted,
                collected=chains.collected,
                components=space.components(runtime),
                scans_tested=chains.scans_tested,
                scans_accepted=chains.scans_accepted,
                agreement=ChainAgreement.of(samples, samples.trace),
            )
            number += len(part)

    def _proposal(self, batch: Any) -> Any:
        """Return the batch that steps are drawn from, if it is not the batch itself."""
        proposal = None if self._proposal_weights is None else batch.reweighted(self._proposal_weights)
        order = self.options.proposal_order
        return proposal if order is None else (proposal or batch).of_lower_order(order)

    def _space(self, lines: Sequence[str]) -> AnySpace:
        return self._space_type.of(self.translator, lines)

    def _starts(
        self, space: AnySpace, seed: int, first_number: int, runtime: Runtime
    ) -> tuple[AnySpace, Ragged[np.int32] | None]:
        """Return where chains start, and the space with what a search found, if starts or jumps need one."""
        initial = self.options.initial
        forests = bool(self.options.jump_every) and space.jumps_use_forests
        if forests or initial == "beam":
            space = space.search(self.translator.limits, forests=forests, runtime=runtime)
        if initial == "random":
            return space, None
        if initial == "gloss":
            return space, space.gloss(runtime)
        monotone = space.monotone(runtime)
        if initial == "monotone":
            return space, monotone
        found = space.best_found() if initial == "beam" else None
        if found is None:
            found = space.random_decoding(self.translator.limits, seed, first_number, runtime)
        # Sentences that are too large for the search start with the best monotone derivation.
        rows = [row if len(row) else plain for row, plain in zip(found, monotone, strict=True)]
        return space, Ragged.concatenate([Ragged(row, np.array([0, len(row)])) for row in rows])

    def forest(self, line: str, limits: SearchLimits) -> Forest | None:
        """Return what a search under these limits keeps of a sentence, for comparison; None if that is too large.

        Scores are divided by the temperature of the samples.
        """
        return self._space([line]).forest(limits, self.options.temperature, self.translator.runtime)

    def log_scores(self, line: str, translations: Ragged[np.int32]) -> NDArray[np.float64]:
        """Return for each translation of a sentence ln Σ exp(score / temperature) over all derivations that write it.

        Less log Z it is the translation's log-probability; -inf where there is no derivation. Words are numbers of the
        vocabulary of the sentence's samples. The search is forced to write each of them, which costs far less than to
        intersect the forest of all derivations with each.
        """
        count = len(translations)
        sums = np.empty(count)
        copies = self._space([line] * min(_FORCED, count))
        for begin in range(0, count, _FORCED):
            # The last block is filled up with its last translation.
            rows = np.minimum(np.arange(begin, begin + min(_FORCED, count)), count - 1)
            sums[rows] = copies.forced_log_sums(
                translations.take(rows), self.options.temperature, self.translator.runtime
            )
        return sums


def _samples(space: AnySpace, chains: ChainResult, functions: GlobalFunctions | None, *, features: bool) -> Samples:
    sentences = np.repeat(np.arange(len(chains.sentences) - 1), np.diff(chains.sentences))
    spelling = space.spell(sentences, chains.derivations)
    rows = spelling.features() if features else FeatureRows.zeros(len(sentences))
    scores, documents = chains.scores, None
    if functions is not None:
        values = functions.values(space.source, sentences, space.vocab, spelling.words)
        scores = scores + values.dot(space.batch.weights)
        rows = FeatureRows.join([rows, values]) if features else rows
        if chains.document_values is not None and space.documents is not None:
            documents = DocumentTrace(functions.of_documents, space.documents, chains.document_values)
    return Samples(
        vocab=space.vocab,
        sentences=chains.sentences,
        hypotheses=spelling.words,
        scores=scores,
        features=rows,
        segmentations=spelling.parts,
        counts=chains.counts,
        trace=chains.trace,
        documents=documents,
    )
