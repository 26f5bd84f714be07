"""Word aligners judged by translations: BLEU after tuning by MIRA, over near and distant pairs, and their time.

    python benchmarks/aligners.py --data DATA --out FOLDER [--pairs ja-en fr-en ...] [--aligners diagonal hmm ...]

An aligner may have options: `diagonal:gradient=exact`. What is done is kept: the command goes on where it was
stopped. `--iterations 0` only looks at untuned models. Time is that of the processor, for alignment in both directions.
"""

from __future__ import annotations

import argparse
import json
import resource
from dataclasses import dataclass
from pathlib import Path

from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import read_lines
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.formats.pharaoh import write_links
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from dragoman.training.align import ALIGNERS
from dragoman.training.align.base import symmetrise
from dragoman.tuning.runs.run import Run
from experiments import dragoman
from quick import parse_arguments

#: Training, tuning and test text of each pair, below the folder of data.
PAIRS = {
    "fr-en": ("multi30k/train", "multi30k/val", "multi30k/test_2016_flickr"),
    "de-en": ("multi30k/train", "multi30k/val", "multi30k/test_2016_flickr"),
    "de-en LibreOffice": ("libreoffice/train.de-en", "libreoffice/dev.de-en", "libreoffice/test.de-en"),
    "fr-en LibreOffice": ("libreoffice/train.fr-en", "libreoffice/dev.fr-en", "libreoffice/test.fr-en"),
    "ja-en": ("enja/train", "enja/val", "enja/test"),
    "en-ja": ("enja/train", "enja/val", "enja/test"),
}


@dataclass(frozen=True)
class Search:
    """How texts are translated."""

    limits: SearchLimits
    threads: int


ALL = ["diagonal", "diagonal:gradient=exact", "hmm", "eflomal"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", nargs="+", choices=list(PAIRS), default=list(PAIRS))
    parser.add_argument("--aligners", nargs="+", default=ALL)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--pop-limit", type=int, default=200)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", type=int, default=2)
    arguments = parse_arguments(parser, "--data {data} --out {out} --pairs fr-en --aligners diagonal --iterations 1")
    search = Search(SearchLimits(pop_limit=arguments.pop_limit), arguments.threads)
    print("| pair | aligner | processor s | reordering limit | untuned dev | seed | tuned dev | tuned test |")
    print("|---" * 8 + "|")
    for pair in arguments.pairs:
        for aligner in arguments.aligners:
            folder = arguments.out.resolve() / f"{pair.replace(' ', '-')}-{aligner.replace(':', '-').replace('=', '-')}"
            aligned = trained(folder, arguments.data, pair, aligner, search)
            row = f"| {pair} | {aligner} | {aligned['seconds']:.1f} | {aligned['limit']} | {aligned['untuned']:.2f} |"
            if not arguments.iterations:
                print(row, " | | |", flush=True)
            for seed in arguments.seeds if arguments.iterations else []:
                dev, test = tuned(folder, arguments.data, pair, seed, arguments.iterations, search)
                print(row, f"{seed} | {dev:.2f} | {test:.2f} |", flush=True)


def files(data: Path, name: str, pair: str) -> tuple[Path, Path]:
    source, target = pair.split()[0].split("-")
    return data.resolve() / f"{name}.{source}.gz", data.resolve() / f"{name}.{target}.gz"


def processor_time() -> float:
    """Seconds of this process and of the programs that it has run."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def trained(folder: Path, data: Path, pair: str, aligner: str, search: Search) -> dict[str, float]:
    """Align, train on the links, and measure the untuned model on the tuning set, unless that is done."""
    done, links, model = folder / "aligned.json", folder / "links", folder / "model"
    if not done.exists():
        source, target = files(data, PAIRS[pair][0], pair)
        name, *options = aligner.split(":")
        bitext = Bitext.read(source, target)
        start = processor_time()
        directions = parse_options(ALIGNERS.get(name), options).align(bitext)
        seconds = processor_time() - start
        folder.mkdir(parents=True, exist_ok=True)
        write_links(links, symmetrise(directions))
        trainer = ["train", "--source", source, "--target", target, "--tokenised", "--alignment", links, "--force"]
        trainer += ["--preset", "moses"]
        dragoman(*trainer, "--out", model)
        found = Model.load(model)
        untuned = bleu(found, found.weights, files(data, PAIRS[pair][1], pair), search)
        done.write_text(
            json.dumps({"seconds": seconds, "untuned": untuned, "limit": found.settings.reordering_limit}),
            encoding="utf-8",
        )
    result: dict[str, float] = json.loads(done.read_text(encoding="utf-8"))
    return result


def tuned(folder: Path, data: Path, pair: str, seed: int, iterations: int, search: Search) -> tuple[float, float]:
    """The best score on the tuning set, and that of these weights on the test set."""
    source, reference = files(data, PAIRS[pair][1], pair)
    out = folder / f"mira-{seed}"
    options = ["--prepared", "--pop-limit", search.limits.pop_limit, "--iterations", iterations]
    texts = ["--source", source, "--reference", reference]
    dragoman(
        "tune",
        "--model",
        folder / "model",
        *texts,
        "--method",
        "mira",
        "--seed",
        seed,
        *options,
        "--threads",
        search.threads,
        "--out",
        out,
    )
    run, model = Run(out), Model.load(folder / "model")
    return max(event["score"] for event in run.events()), bleu(
        model, run.weights(), files(data, PAIRS[pair][2], pair), search
    )


def bleu(model: Model, weights: Weights, text: tuple[Path, Path], search: Search) -> float:
    translator = Translator.of(model, weights, limits=search.limits, runtime=Runtime(threads=search.threads))
    lines = list(read_lines(text[0]))
    found = [each.text for each in translator.translate(lines)]
    scorer = Bleu().scorer([Corpus.from_lines(read_lines(text[1]))])
    return float(scorer.score(scorer.statistics(Corpus.from_lines(found)).sum(axis=0)))


if __name__ == "__main__":
    main()
