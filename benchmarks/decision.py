"""Decision rules on Multi30k: their times (CPU, one thread, best of several runs), and their BLEU.

Scales are chosen on the first sentences of `val`, for each rule and each of several weights anew, and scored on test
sets. The samples that are timed are exact draws from the decoder's lattices; those of the tables come from the sampler.
`--only samples` compares rules by samples, at the scale that is best on the first sentences of `val`, with the beam's
best derivation on the rest of `val` and on test_2016, for each of several models.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dragoman import kernels
from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import FeatureRows, Weights
from dragoman.core.files import read_lines
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.ragged import Ragged
from dragoman.core.runtime import Runtime
from dragoman.core.samples import Samples
from dragoman.decision.consensus import Consensus
from dragoman.decision.lattice_mbr import LatticeMbr
from dragoman.decision.max_derivation import MaxDerivation
from dragoman.decision.max_translation import MaxTranslation
from dragoman.decision.mbr import Mbr
from dragoman.decision.rule import Evidence, Rule
from dragoman.decision.settings import Decision
from dragoman.decision.variational import Variational
from dragoman.evaluation.statistics.comparison import RuleCandidate, RuleComparison, TextSet
from dragoman.forest.derivation import derivation_scores, sample, yields
from dragoman.forest.kbest import nbest
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling
from dragoman.search.phrase.translator import PhraseTranslator
from quick import parse_arguments
from timing import best_of

PROJECT = Path(__file__).resolve().parent.parent
TESTS = ["test_2016_flickr", "test_2017_mscoco"]
#: Weights sum to 1 in absolute value here; others are as sharp as these with a scale of 10 to 50.
SCALES = "scale=2,5,10,20,50"
SAMPLED_SCALES = (10.0, 20.0, 50.0, 100.0, 200.0)
ROWS = [
    RuleCandidate("max-derivation", "hypergraph"),
    RuleCandidate("max-translation", "nbest", (SCALES,)),
    RuleCandidate("mbr", "nbest", (SCALES,)),
    RuleCandidate("lattice-mbr", "hypergraph", (SCALES, "p=0.6,0.8", "r=0.6,0.8")),
    RuleCandidate("consensus", "nbest", (SCALES,)),
    RuleCandidate("consensus", "hypergraph", (SCALES,)),
    RuleCandidate("variational", "nbest", (SCALES,)),
    RuleCandidate("variational", "hypergraph", (SCALES,)),
]


def samples_of(graph: Hypergraph, draws: int) -> Samples:
    """Draws from one lattice, each derivation once with its count."""
    rows = sample(graph, draws, 1)
    numbers, edges, offsets = kernels.intern_sequences(rows.values, rows.offsets)
    distinct = Ragged(edges, offsets)
    return Samples(
        vocab=graph.vocab,
        sentences=np.array([0, len(distinct)]),
        hypotheses=yields(graph, distinct),
        scores=derivation_scores(graph, distinct),
        features=FeatureRows.zeros(len(distinct)),
        segmentations=Ragged.of([[] for _ in range(len(distinct))], np.int32),
        counts=np.bincount(numbers)[:, None],
    )


def times(model: Model, weights: Weights, lines: Sequence[str], runs: int) -> None:
    translator = PhraseTranslator(model, weights)
    count = len(lines)
    (*parts,) = translator.search_batches(lines, forests=True)
    graphs = [part.hypergraph(i, features=False) for part in parts for i in range(len(part))]
    distinct, derivations = nbest(graphs, 1000, distinct=True), nbest(graphs, 1000)
    drawn = [samples_of(graph, 10_000) for graph in graphs[:20]]
    pairs = np.diff(distinct.sentences)
    print(f"{count} sentences, {np.mean(pairs):.0f} distinct strings in their 1000-best lists,")
    print(f"{np.mean([len(Mbr().posterior(part).strings) for part in drawn]):.0f} in 10,000 samples\n")

    print("| whole translation | ms a sentence |\n|---|---|")
    for name in ("1-best", "lattice-mbr", "mbr", "consensus", "variational", "max-translation"):

        def translate(name: str = name) -> None:
            if name == "1-best":
                list(translator.translate(lines))
                return
            decision = Decision.of(name)
            for part in decision.gather(translator, lines):
                decision.rule.decide(part)

        print(f"| {name} | {1000 * best_of(runs, translate).processor / count:.2f} |", flush=True)

    print("\n| rule, evidence at hand | ms a sentence |\n|---|---|")
    rows: list[tuple[str, Rule, Sequence[Evidence], int]] = [
        ("mbr, 1000 x 1000, BLEU", Mbr(), [distinct], count),
        ("mbr, 1000 x 1000, chrF", Mbr(metric="chrf"), [distinct], count),
        ("mbr, 10,000 samples, 1000 hypotheses, BLEU", Mbr(), drawn, len(drawn)),
        ("mbr, 100 x 100, TER", Mbr(metric="ter", hypotheses=100, evidence=100), [distinct.take(np.arange(5))], 5),
        ("consensus, n-best", Consensus(), [distinct], count),
        ("consensus, hypergraph", Consensus(), [graphs], count),
        ("variational, hypergraph", Variational(), [graphs], count),
        ("lattice-mbr", LatticeMbr(), [graphs], count),
        ("lattice-mbr, 1000-best", LatticeMbr(space="kbest"), [graphs], count),
        ("max-translation, n-best", MaxTranslation(), [derivations], count),
        ("max-translation, beam of 100 strings", MaxTranslation(), [graphs], count),
    ]
    for name, rule, evidence, sentences in rows:
        taken = best_of(runs, lambda rule=rule, evidence=evidence: [rule.decide(part) for part in evidence]).processor  # type: ignore[misc]
        print(f"| {name} | {1000 * taken / sentences:.2f} |", flush=True)


def unit_size(weights: Weights) -> Weights:
    """Return weights whose absolute values sum to 1, so that scales of several runs can be compared."""
    size = sum(abs(value) for name, value in weights.items() if name != "unknown_word")
    return Weights({name: value / size if name != "unknown_word" else value for name, value in weights.items()})


def sampled(models: Sequence[Path], pairs: Sequence[str], data: Path, held_out: int, runtime: Runtime) -> None:
    """BLEU of rules by samples at the best scale, beside the beam's best derivation."""
    metric = Bleu()
    rules: dict[str, Rule] = {
        "max-derivation, by score": MaxDerivation(samples_by="score"),
        "max-translation": MaxTranslation(),
        "mbr": Mbr(),
    }
    rows = list[str]()
    for folder, pair in zip(models, pairs, strict=True):
        sides = pair.split("-")
        model = Model.load(folder)
        translator = PhraseTranslator(model, unit_size(model.weights), runtime=runtime)
        val = [list(read_lines(data / f"multi30k/val.{side}.gz")) for side in sides]
        test = [list(read_lines(data / f"multi30k/test_2016_flickr.{side}.gz")) for side in sides]
        texts = {
            "chosen on": [side[:held_out] for side in val],
            "rest of val": [side[held_out:] for side in val],
            "test_2016": test,
        }

        def decide(
            source: Sequence[str], scale: float, names: Sequence[str], translator: PhraseTranslator = translator
        ) -> dict[str, list[str]]:
            sampler = Sampler.of(translator, Sampling(samples=500, chains=2, temperature=1 / scale))
            found: dict[str, list[str]] = {name: [] for name in names}
            for part in sampler.evidence(source, seed=1, features=False):
                for name in names:
                    found[name] += rules[name].decide(part, runtime=runtime).lines()
            return found

        def score(lines: Sequence[str], references: Sequence[str]) -> float:
            scorer = metric.scorer([Corpus.from_lines(references)])
            return float(scorer.score(scorer.statistics(Corpus.from_lines(lines)).sum(axis=0)))

        beam = [
            score([found.text for found in translator.translate(source)], references)
            for source, references in texts.values()
        ]
        rows.append(f"| {pair} | max-derivation, beam | | {' | '.join(f'{value:.2f}' for value in beam)} |")
        print(rows[-1], flush=True)
        tried = {scale: decide(texts["chosen on"][0], scale, [*rules]) for scale in SAMPLED_SCALES}
        found = {name: {scale: score(tried[scale][name], texts["chosen on"][1]) for scale in tried} for name in rules}
        print(found, flush=True)
        best = {name: max(scores, key=scores.__getitem__) for name, scores in found.items()}
        results: dict[str, list[float]] = {name: [found[name][best[name]]] for name in rules}
        for text in ("rest of val", "test_2016"):
            for scale in sorted(set(best.values())):
                names = [name for name in rules if best[name] == scale]
                for name, lines in decide(texts[text][0], scale, names).items():
                    results[name].append(score(lines, texts[text][1]))
        for name, values in results.items():
            cells = " | ".join(f"{value:.2f}" for value in values)
            rows.append(f"| {pair} | {name}, samples | {best[name]:g} | {cells} |")
            print(rows[-1], flush=True)
    print(f"\n| pair | rule | scale | first {held_out} of val | rest of val | test_2016 |\n|---|---|---|---|---|---|")
    print("\n".join(rows))


def quality(model: Model, runs: Sequence[Weights], data: Path, held_out: int, runtime: Runtime) -> None:
    """BLEU of each rule over runs of a tuner: options chosen on the first sentences of val, for each run anew."""
    metric = Bleu()

    def text_set(name: str, most: int | None = None) -> TextSet:
        sides = [list(read_lines(data / f"multi30k/{name}.{side}.gz"))[:most] for side in ("fr", "en")]
        return TextSet(sides[0], metric.scorer([Corpus.from_lines(sides[1])]))

    val, tests = text_set("val", held_out), {name: text_set(name) for name in TESTS}
    chosen: dict[RuleCandidate, list[str]] = {}
    scores: dict[RuleCandidate, list[list[float]]] = {}
    for number, weights in enumerate(runs):
        translator = PhraseTranslator(model, unit_size(weights), runtime=runtime)
        comparison = RuleComparison(translator, metric, val, tests, runtime=runtime)
        for found in comparison.compare(ROWS):
            chosen.setdefault(found.candidate, []).append(" ".join(value for _, value in found.point.options))
            row = [float(tests[name].scorer.score(found.statistics[name].sum(axis=0))) for name in TESTS]
            scores.setdefault(found.candidate, []).append(row)
            print(f"run {number + 1}: {found.candidate.rule} by {found.candidate.evidence}: {row}", flush=True)
    print(f"\n| rule | evidence | chosen on val | {' | '.join(TESTS)} |\n|---|---|---|{'---|' * len(TESTS)}")
    for candidate, rows in scores.items():
        mean, deviation = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) if len(rows) > 1 else None
        cells = [f"{m:.2f}" + ("" if deviation is None else f" ± {deviation[k]:.2f}") for k, m in enumerate(mean)]
        print(f"| {candidate.rule} | {candidate.evidence} | {'; '.join(chosen[candidate])} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=PROJECT / "../shared/data")
    parser.add_argument("--model", type=Path, help="a French-English model of Multi30k")
    parser.add_argument("--weights", type=Path, nargs="+", help="weights in place of the model's: files or runs")
    parser.add_argument("--held-out", type=int, default=300, help="sentences of val to choose options on")
    parser.add_argument("--sentences", type=int, default=200, help="how many to time")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="for the table of BLEU")
    parser.add_argument("--only", choices=["times", "quality", "samples"])
    parser.add_argument("--models", type=Path, nargs="+", help="of --only samples: a model for each pair")
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en"], help="of --only samples")
    options = parse_arguments(parser, "--data {data} --model {model} --held-out 5 --sentences 5 --runs 1")
    if options.only in ("samples", None):
        models = options.models or [options.model]
        pairs = options.pairs[: len(models)]
        sampled(models, pairs, options.data, options.held_out, Runtime(threads=options.threads))
    if options.only == "samples":
        return
    model = Model.load(options.model)
    runs = [model.weights] if options.weights is None else [model.read_weights(path) for path in options.weights]
    if options.only in ("times", None):
        lines = list(read_lines(options.data / "multi30k/val.fr.gz"))[: options.sentences]
        times(model, runs[0], lines, options.runs)
    if options.only in ("quality", None):
        quality(model, runs, options.data, options.held_out, Runtime(threads=options.threads))


if __name__ == "__main__":
    main()
