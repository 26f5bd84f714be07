"""Markov chains over the derivations of a batch of sentences, for every kind of model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman import kernels
from dragoman.core.errors import DataError, UsageError
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.sampling.global_features import GlobalFunctions
from dragoman.sampling.schedule import Annealing, Sampling, Schedule, checked_seed
from dragoman.sampling.space import AnySpace


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainSettings:
    """The length of chains, their temperatures and random numbers, and what they collect.

    `burn_in` are the temperatures of the scans before the first sample. With `per_pass` there is a sample for each
    operator's pass, not for each scan. `trace` keeps the order of samples in time. Sentence `s` has random numbers of
    its own that depend on the seed, on `first_number + s` and on the chain only. For `adaptive_jumps`, `by_changes` and
    `whole_scans` see the options `adaptive_jumps`, `positions` and `accept` of `Sampling`.
    """

    schedule: Schedule
    seed: int
    samples: int
    burn_in: NDArray[np.float64]
    chains: int = 1
    temperature: float = 1.0
    thin: int = 1
    per_pass: bool = False
    trace: bool = False
    first_number: int = 0
    adaptive_jumps: bool = False
    by_changes: bool = False
    whole_scans: bool = False

    @classmethod
    def sampling(cls, options: Sampling, *, seed: int, trace: bool, first_number: int) -> ChainSettings:
        """Return the settings of chains that sample."""
        return cls(
            schedule=options,
            seed=seed,
            samples=options.samples,
            burn_in=options.burn_in_temperatures,
            chains=options.chains,
            temperature=options.temperature,
            thin=options.thin,
            per_pass=options.collect == "pass",
            trace=trace,
            first_number=first_number,
            # The trial scans are part of a burn-in, and a start temperature that is asked for is used.
            adaptive_jumps=options.adaptive_jumps and options.burn_in > 0 and options.start_temperature is None,
            by_changes=options.positions == "changes",
            whole_scans=options.accept == "scan",
        )

    @classmethod
    def annealing(cls, options: Annealing, *, seed: int, first_number: int) -> ChainSettings:
        """Return the settings of chains that only cool down."""
        return cls(
            schedule=options,
            seed=seed,
            samples=0,
            burn_in=options.temperatures,
            chains=options.chains,
            first_number=first_number,
        )

    def for_kernels(self, rates: tuple[float, ...]) -> kernels.Schedule:
        """Return what the kernels know of it."""
        schedule = self.schedule
        return kernels.Schedule(
            chains=self.chains,
            seed=checked_seed(self.seed),
            first_number=self.first_number,
            rates=rates,
            random=schedule.scan == "random",
            per_pass=self.per_pass,
            samples=self.samples,
            thin=self.thin,
            burn_in=self.burn_in,
            temperature=self.temperature,
            jump_every=schedule.jump_every,
            forward_share=schedule.forward_share,
            max_seconds=np.inf if schedule.max_seconds is None else schedule.max_seconds,
            trace=self.trace,
            adaptive_jumps=self.adaptive_jumps,
            by_changes=self.by_changes,
            whole_scans=self.whole_scans,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainResult:
    """Distinct derivations of each sentence, with counts, and the best that each chain was in.

    The derivations of sentence `s` are rows `sentences[s]` to `sentences[s + 1]`, in the terms of their kind of model;
    their `scores` are without global features. `counts` are by derivation and chain, and `trace` has the row of each
    sample. Other arrays have sentence and chain as their first axes; columns of `tried` and `accepted` are the moves of
    the space. Where whole scans are accepted or rejected, `scans_tested` and `scans_accepted` count them.

    `best_scores` have the global features of sentences, but not those of documents. `document_scores`, by document and
    chain, have all features: where some see documents, the `best` derivations of a document are those that were best
    together. Then, with a trace, `document_values` are their values by document, chain, sample and feature: at sample
    i, when all sentences of the document are in the derivations that their traces have at i.
    """

    sentences: NDArray[np.int64]
    derivations: Ragged[np.int32]
    scores: NDArray[np.float64]
    counts: NDArray[np.int64]
    trace: NDArray[np.int32] | None
    best: Ragged[np.int32]
    best_scores: NDArray[np.float64]
    collected: NDArray[np.int64]
    seconds: NDArray[np.float64]
    tried: NDArray[np.int64]
    accepted: NDArray[np.int64]
    scans_tested: NDArray[np.int64]
    scans_accepted: NDArray[np.int64]
    document_scores: NDArray[np.float64]
    document_values: NDArray[np.float64] | None


def run_chains(
    space: AnySpace,
    settings: ChainSettings,
    *,
    starts: Ragged[np.int32] | None = None,
    runtime: Runtime = Runtime(),
) -> ChainResult:
    """Run chains from one derivation of each sentence, or from random ones where `starts` has none."""
    rates = _checked_rates(space, settings)
    space.check_scores(settings.first_number)
    count = len(space.source)
    if starts is None:
        starts = Ragged(np.empty(0, np.int32), np.zeros(count + 1, np.int64))
    if len(starts) != count:
        raise ValueError(f"{len(starts)} derivations to start from for {count} sentences")
    functions, features = space.functions, list[kernels.GlobalFeature]()
    if functions is not None:
        refuse_document_features(type(space), functions)
        features = functions.for_kernels(space.source, space.vocab, space.kernel_words)
    try:
        out = space.run_kernel(features, starts.for_kernels(), settings.for_kernels(rates), runtime.threads)
    except kernels.FunctionError as error:
        if functions is None:
            raise
        raise functions.failure(error) from None
    for sentence in np.flatnonzero(out["found"] == 0).tolist():
        raise DataError(
            f"sentence {settings.first_number + sentence + 1} ('{space.source.line(sentence)}') has no derivation",
            expected=space.expected,
        )
    return _result(out, settings, () if functions is None else functions.of_documents)


def _result(out: dict[str, NDArray[Any]], settings: ChainSettings, document_features: tuple[str, ...]) -> ChainResult:
    """Return what a kernel gave, by sentence and chain."""
    chains, samples = settings.chains, settings.samples
    best_scores = out["best_scores"].reshape(-1, chains)
    # Steps and changes of three operators each, jumps tried and accepted, samples, whole scans tried and accepted.
    statistics = out["statistics"].reshape(len(best_scores), chains, -1)
    document_values = None
    if settings.trace and document_features:
        document_values = out["document_values"].reshape(-1, chains, samples, len(document_features))
    return ChainResult(
        sentences=out["rows"],
        derivations=Ragged(out["derivations"], out["offsets"]),
        scores=out["scores"],
        counts=out["counts"].reshape(-1, chains),
        trace=out["trace"].reshape(len(best_scores), chains, samples) if settings.trace else None,
        best=Ragged(out["best"], out["best_offsets"]),
        best_scores=best_scores,
        collected=statistics[:, :, 8],
        seconds=out["seconds"].reshape(-1, chains),
        tried=statistics[:, :, [0, 1, 2, 6]],
        accepted=statistics[:, :, [3, 4, 5, 7]],
        scans_tested=statistics[:, :, 9],
        scans_accepted=statistics[:, :, 10],
        document_scores=out["document_scores"].reshape(-1, chains) if "document_scores" in out else best_scores,
        document_values=document_values,
    )


def _checked_rates(space: AnySpace, settings: ChainSettings) -> tuple[float, ...]:
    """Return the rates of a space's operators, after refusing settings that its chains cannot follow."""
    schedule, operators = settings.schedule, space.moves[:-1]
    schedule.refuse(space.foreign_options, space.model_kind)
    rates = tuple(float(getattr(schedule, name)) for name in operators)
    if not any(rates):
        names = ", ".join(name.replace("_", "-") for name in operators)
        if not schedule.jump_every:
            raise UsageError(f"the chain has no moves and no jumps; expected {names} or jumps")
        if settings.per_pass:
            raise UsageError(f"a sample for each operator's pass was asked for, and no operator; expected {names}")
    if settings.by_changes and schedule.scan != "random":
        raise UsageError("positions are drawn by their changes in random scans; expected --scan random")
    if settings.whole_scans and space.proposal is None:
        raise UsageError(
            "whole scans are accepted or rejected if they are proposed with other models or weights; "
            "expected --proposal-order or --proposal-weights"
        )
    if settings.whole_scans and settings.per_pass:
        raise UsageError(
            "a sample for each operator's pass was asked for, and passes are not accepted or rejected one by one"
        )
    for value in (settings.temperature, *settings.burn_in.tolist()):
        if not (np.isfinite(value) and value > 0):
            raise UsageError(f"the temperature is {value}; expected a finite number above 0")
    return rates


def refuse_document_features(space: type[AnySpace], functions: GlobalFunctions | None) -> None:
    """Refuse features that see several sentences, where chains cannot score them."""
    for name in () if functions is None or space.joins_documents else functions.of_documents:
        raise UsageError(
            f"the global feature {name} sees documents, and chains of a {space.model_kind} model see one sentence at a "
            "time: give it no weight, or use a phrase-based model"
        )
