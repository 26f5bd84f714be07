"""Speed of the Gibbs sampler: 10,000 scans of a sentence of 36 words with about 8.7 options a phrase.

The thesis (5.6) needs 120 s for as many with a trigram model. Make the model with
`dragoman import moses ../shared/data/moses/fr-en/moses.tuned.ini --out MODEL`; `--arpa` adds a row for its language
model replaced by another, of order 5, say.

`--proposals` measures effective samples a second of processor time instead, of plain Gibbs sampling and of scans drawn
with the language model cut to a lower order and accepted or rejected step by step or as a whole (thesis, 8.2.1).
`--arrival` compares the mean scores of short chains, heated or with adaptive jumps, with those of long chains.
"""

from __future__ import annotations

import argparse
import gzip
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.core.runtime import Runtime
from dragoman.formats.arpa import read_arpa
from dragoman.model.bundle import Model
from dragoman.model.language_model import LanguageModel
from dragoman.sampling.chains import ChainResult, ChainSettings, run_chains
from dragoman.sampling.phrase.space import PhraseSpace
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling, Schedule
from dragoman.search.limits import SpaceLimits
from dragoman.search.phrase.batch import PhraseBatch
from dragoman.search.phrase.greedy import gloss
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from timing import Timed, best_of

PROJECT = Path(__file__).resolve().parent.parent
NO_BURN_IN = np.empty(0)


def options_a_phrase(batch: PhraseBatch) -> float:
    spans = {(b, e) for b, e in zip(batch.options.begin.tolist(), batch.options.end.tolist(), strict=True)}
    return len(batch.options) / len(spans)


def sentence_of(words: int, lines: list[str]) -> str:
    """Sentences one after the other, cut to a number of words."""
    return " ".join(" ".join(lines).split()[:words])


def closest_limit(model: Model, sentence: str, wanted: float) -> tuple[PhraseTranslator, PhraseBatch]:
    """The table limit that comes closest to so many options a phrase."""
    found = []
    for limit in range(5, 60):
        translator = PhraseTranslator(model, space=SpaceLimits(table_limit=limit))
        batch = translator.batch([sentence])
        found.append((abs(options_a_phrase(batch) - wanted), limit, translator, batch))
    return min(found, key=lambda row: row[:2])[2:]


def timed(
    batch: PhraseBatch,
    limit: int,
    schedule: Schedule,
    *,
    samples: int,
    temperature: float,
    chains: int,
    runtime: Runtime,
    runs: int,
) -> Timed[ChainResult]:
    space, starts = PhraseSpace(batch=batch, reordering_limit=limit), gloss(batch)
    settings = ChainSettings(
        schedule=schedule, seed=1, samples=samples, burn_in=NO_BURN_IN, chains=chains, temperature=temperature
    )
    return best_of(runs, lambda: run_chains(space, settings, starts=starts, runtime=runtime))


def proposals(model: Model, lines: list[str], samples: int) -> None:
    """Effective samples (of scores) a second, beside plain Gibbs sampling."""
    order = next(iter(model.language_models.values())).order
    translator = PhraseTranslator(model)
    plain = Sampling(samples=samples, chains=2, initial="monotone", jump_every=0)
    rows: list[tuple[str, Sampling]] = [("none (plain Gibbs)", plain)]
    for lower in range(1, min(order, 4)):
        proposed = replace(plain, proposal_order=lower)
        rows += [
            (f"order {lower}, each step", proposed),
            (f"order {lower}, whole scans", replace(proposed, accept="scan")),
        ]
    print("| T | proposal | accepted | processor, s | effective samples | a second | times plain |")
    print("|---|---|---|---|---|---|---|")
    for temperature in (1.0, 0.2):
        reference = 0.0
        for name, options in rows:
            sampler = Sampler.of(translator, replace(options, temperature=temperature))
            list(sampler.batches(lines[:1], features=False))  # the language model is cut once
            used = time.process_time()
            batches = list(sampler.batches(lines, features=False))
            used = time.process_time() - used
            effective = float(sum(batch.agreement.effective_samples.sum() for batch in batches))
            tested = sum(int(batch.scans_tested.sum()) for batch in batches)
            accepted = sum(int(batch.scans_accepted.sum()) for batch in batches)
            rate = effective / used
            reference = reference or rate
            share = f"{accepted / tested:.1%} of scans" if tested else ""
            print(
                f"| {temperature:g} | {name} | {share} | {used:.2f} | {effective:,.0f} | {rate:,.0f} "
                f"| {rate / reference:.2f} |",
                flush=True,
            )


def arrival(model: Model, lines: list[str], samples: int) -> None:
    """Mean scores after the burn-in, less those of long chains that were never heated, in units of the temperature."""
    translator = PhraseTranslator(model)

    def run(options: Sampling) -> tuple[NDArray[np.float64], float, float, float]:
        used = time.process_time()
        batches = list(Sampler.of(translator, options).batches(lines, seed=3, features=False))
        used = time.process_time() - used
        parts = [batch.samples.sentence(i) for batch in batches for i in range(len(batch.samples))]
        means = np.array([part.scores @ part.probabilities for part in parts]) / options.temperature
        tried, accepted = np.array([batch.counts("jump") for batch in batches]).sum(axis=0)
        effective = np.median(np.concatenate([batch.agreement.effective_samples for batch in batches]))
        return means, accepted / max(tried, 1), float(effective), used

    print("| T | burn-in | mean | worst sentence | jumps accepted | effective samples, median | processor, s |")
    print("|---|---|---|---|---|---|---|")
    for temperature in (0.05, 0.1, 0.2, 1.0):
        adaptive = Sampling(samples=200, chains=4, temperature=temperature)
        heated = replace(adaptive, adaptive_jumps=False)
        long = replace(heated, start_temperature=temperature, burn_in=500, samples=samples, jump_every=2)
        expected, *_ = run(long)
        for name, options in (("heated", heated), ("adaptive", adaptive)):
            means, accepted, effective, used = run(options)
            off = means - expected
            print(
                f"| {temperature:g} | {name} | {off.mean():.3f} | {off[np.abs(off).argmax()]:.2f} | {accepted:.1%} "
                f"| {effective:.0f} | {used:.1f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--arpa", type=Path, help="another language model")
    parser.add_argument("--words", type=int, default=36)
    parser.add_argument("--options", type=float, default=8.68)
    parser.add_argument("--scans", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--proposals", action="store_true", help="measure proposals of lower orders instead")
    parser.add_argument("--arrival", action="store_true", help="measure where chains are after the burn-in instead")
    parser.add_argument("--sentences", type=int, default=20, help="of --proposals and --arrival")
    arguments = parse_arguments(parser, "--data {data} --model {model} --words 8 --scans 200 --runs 1")
    with gzip.open(arguments.data / "multi30k/test_2016_flickr.fr.gz", "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    sentence = sentence_of(arguments.words, lines[:10])
    models = [Model.load(arguments.model)]
    if arguments.arpa:
        lm = LanguageModel.from_ngrams(read_arpa(arguments.arpa))
        models.append(replace(models[0], language_models={"lm": lm}))
    if arguments.proposals:
        proposals(models[-1], lines[: arguments.sentences], arguments.scans)
        return
    if arguments.arrival:
        arrival(models[-1], lines[: arguments.sentences], arguments.scans)
        return
    no_jumps = Schedule(jump_every=0)
    rows = [
        ("systematic scan", no_jumps, 1, 1),
        ("random scan", Schedule(jump_every=0, scan="random"), 1, 1),
        ("jumps every 10 scans", Schedule(jump_every=10), 1, 1),
        ("systematic scan, temperature 0.1", no_jumps, 1, 1),
        ("2 chains, 1 thread", no_jumps, 2, 1),
        ("2 chains, 2 threads", no_jumps, 2, 2),
    ]
    print("| order | options a phrase | | s | processor, s | changes a scan | distinct |")
    print("|---|---|---|---|---|---|---|")
    for model in models:
        translator, batch = closest_limit(model, sentence, arguments.options)
        order = next(iter(model.language_models.values())).order
        for name, schedule, chains, threads in rows:
            seconds, used, visited = timed(
                batch,
                translator.reordering_limit,
                schedule,
                samples=arguments.scans,
                temperature=0.1 if "0.1" in name else 1.0,
                chains=chains,
                runtime=Runtime(threads=threads),
                runs=arguments.runs,
            )
            changes = visited.accepted[..., :-1].sum() / (arguments.scans * chains)
            print(
                f"| {order} | {options_a_phrase(batch):.2f} | {name} | {seconds:.2f} | {used:.2f} | {changes:.1f} "
                f"| {len(visited.scores):,} |",
                flush=True,
            )
        sampler = Sampler.of(translator, Sampling(samples=arguments.scans, chains=1))
        for features in (False, True):
            begin, used = time.perf_counter(), time.process_time()
            list(sampler.sample([sentence], features=features))
            seconds, used = time.perf_counter() - begin, time.process_time() - used
            what = f"Samples {'with' if features else 'without'} features, from start to end"
            print(f"| {order} | | {what} | {seconds:.2f} | {used:.2f} | | |")


if __name__ == "__main__":
    main()
