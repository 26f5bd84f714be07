"""Tables of the sampler's diagnostics, as CSV: what `dragoman diagnose` and others write, in rows.

python -m reproduction.sampler_tables diagnosis OUT LABEL=diagnostics.json ...
python -m reproduction.sampler_tables join OUT NAME LABEL=table.csv ...     one table with a column NAME of labels
python -m reproduction.sampler_tables disconnected OUT MODEL TEXT ...
python -m reproduction.sampler_tables speed OUT MODEL WEIGHTS TEXT SAMPLES ...
python -m reproduction.sampler_tables growth OUT MODEL WEIGHTS SOURCE REFERENCE SAMPLES TEMPERATURE
python -m reproduction.sampler_tables ranks OUT MODEL WEIGHTS SOURCE REFERENCE SAMPLES TEMPERATURE
python -m reproduction.sampler_tables mbr_times OUT MODEL WEIGHTS TEXT SENTENCES SAMPLES
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.core.corpus import Corpus
from dragoman.core.files import read_lines
from dragoman.decision.settings import Decision
from dragoman.evaluation.statistics.sampler_curves import CurveOptions, SamplerCurves, sampler_curves
from dragoman.metrics.combined import parse_metric
from dragoman.model.bundle import Model
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Sampling, Schedule
from dragoman.search.translator import Translator
from reproduction.collect import write_table

Rows = list[Sequence[object]]


def diagnosis(out: str, *named: str) -> None:
    """Write divergences and entropies, expected features, and what lattices and lists miss."""
    curves: Rows = [("scale", "initial", "samples", "level", "divergence", "entropy")]
    expectations: Rows = [("scale", "condition", "feature", "value", "error")]
    missing: Rows = [("scale", "initial", "by", "samples", "derivations")]
    for label, path in (one.split("=", 1) for one in named):
        found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))["averages"]
        for curve in found["curves"]:
            for level in ("derivation", "translation"):
                rows = zip(found["sizes"], curve[f"{level}_divergence"], curve[f"{level}_entropy"], strict=False)
                curves += [(label, curve["name"], size, level, d, h) for size, d, h in rows]
        for row in found["expectations"]:
            for feature, value, error in zip(found["features"], row["values"], row["errors"], strict=True):
                condition = f"{row['evidence']} {row['size'] or ''}".strip()
                expectations.append((label, condition, feature, value, error))
        for run in found["runs"]:
            for by in ("lattice", "nbest"):
                shares = run[f"by_{by}"]
                missing.append((label, run["initial"], by, shares["samples"], shares["derivations"]))
    for name, table in (("divergence", curves), ("expectations", expectations), ("missing", missing)):
        write_table(Path(out) / f"{name}.csv", table)


def join(out: str, name: str, *named: str) -> None:
    """Write one table of several, with a column more."""
    rows: Rows = []
    for label, path in (one.split("=", 1) for one in named):
        with Path(path).open(encoding="utf-8", newline="") as stream:
            header, *found = csv.reader(stream)
        rows += [[name, *header]] if not rows else []
        rows += [[label, *row] for row in found]
    write_table(Path(out), rows)


def disconnected(out: str, model: str, *texts: str) -> None:
    """Write how many sentences of texts have segmentations that the operators cannot reach from others."""
    sampler = Sampler.of(Translator.of(Model.load(model)), Sampling(samples=1, chains=1, burn_in=0))
    rows: Rows = [("text", "sentences", "disconnected")]
    for path in map(Path, texts):
        name, lines = path.parent.name.rpartition("-")[0], list(read_lines(path))
        parts = sum(int((part.components > 1).sum()) for part in sampler.batches(lines, seed=1))
        rows.append((name, len(lines), parts))
    write_table(Path(out), rows)


def speed(out: str, model: str, weights: str, text: str, *sizes: str) -> None:
    """Write the seconds that samples of the longest sentence of a text take, by their number."""
    translator = _translator(model, weights)
    longest = max(read_lines(text), key=lambda line: len(line.split()))
    rows: Rows = [("words", "samples", "seconds")]
    for size in map(int, sizes):
        sampler = Sampler.of(translator, Sampling(samples=size // 2, chains=2, burn_in=100, temperature=0.1))
        for seed in (1, 2):
            begun = time.process_time()
            list(sampler.sample([longest], seed=seed))
            rows.append((len(longest.split()), size, time.process_time() - begun))
    write_table(Path(out), rows)


def growth(out: str, *named: str) -> None:
    """Write decisions by growing numbers of samples of two chains without jumps, and the decoder's scores."""
    curves = _curves(*named, chains=2)
    rows: Rows = [("initial", "samples", "measure", "value")]
    rows += [tuple(row.values()) for row in curves.rows()]
    decoder = (("best score so far", curves.beam_score), ("score, decoder", curves.beam_metric))
    rows += [("decoder", size, measure, value) for size in curves.sizes for measure, value in decoder]
    write_table(Path(out), rows)


def ranks(out: str, *named: str) -> None:
    """Write exact log-probabilities of sampled derivations of short sentences, the most frequent first."""
    curves = _curves(*named, chains=1, initial="beam", hypotheses=0, ranked=10, ranked_words=9)
    rows: Rows = [("sentence", "words", "rank", "count", "sampled", "best")]
    for found in curves.starts[0].ranked:
        each = zip(found.counts.tolist(), found.sampled.tolist(), found.best.tolist(), strict=True)
        rows += [(found.number, found.words, rank, *row) for rank, row in enumerate(each, 1)]
    write_table(Path(out), rows)


def _curves(
    model: str, weights: str, source: str, reference: str, samples: str, temperature: str, **options: Any
) -> SamplerCurves:
    translator = _translator(model, weights)
    lines, scorer = list(read_lines(source)), parse_metric("bleu").scorer([Corpus.from_lines(read_lines(reference))])
    chosen = CurveOptions(samples=int(samples), temperature=float(temperature), **options)
    return sampler_curves(translator, lines, scorer, chosen, Schedule(jump_every=0), seed=1)


def mbr_times(out: str, model: str, weights: str, text: str, sentences: str, samples: str) -> None:
    """Write the processor seconds of one core that decisions about the first sentences of a text take, twice each."""
    translator = _translator(model, weights)
    lines = list(islice(read_lines(text), int(sentences)))
    sampler = Sampler.of(translator, Sampling(samples=int(samples) // 2, chains=2, burn_in=100, temperature=0.1))
    decisions = {
        "max derivation by beam search": Decision.of("max-derivation"),
        "n-best MBR": Decision.of("mbr", evidence="nbest"),
        "lattice MBR": Decision.of("lattice-mbr", ["space=kbest"]),
        "sampling MBR": Decision.of("mbr", evidence="samples"),
    }
    rows: Rows = [("decision", "sentences", "samples", "milliseconds")]
    for name, decision in [*decisions.items()] * 2:
        begun = time.process_time()
        for evidence in decision.gather(translator, lines, draw=partial(sampler.evidence, seed=1, features=False)):
            decision.rule.decide(evidence)
        used = time.process_time() - begun
        rows.append((name, len(lines), samples if decision.evidence == "samples" else "", 1000 * used / len(lines)))
    write_table(Path(out), rows)


def _translator(model: str, weights: str) -> Translator:
    loaded = Model.load(model)
    return Translator.of(loaded, loaded.read_weights(Path(weights) / "weights.txt"))


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {
        "diagnosis": diagnosis,
        "join": join,
        "disconnected": disconnected,
        "speed": speed,
        "growth": growth,
        "ranks": ranks,
        "mbr_times": mbr_times,
    }
    commands[sys.argv[1]](*sys.argv[2:])
