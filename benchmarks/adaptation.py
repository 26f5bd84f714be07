"""Systems from corpora of several domains compared (Haddow 2013, table 1): BLEU over repeated runs, with significance.

    python benchmarks/adaptation.py --data DATA --out FOLDER [--domains multi30k] [--sizes 2000 500] [--pairs fr-en]

For each domain, language pair and number of in-domain sentence pairs (0 is all): `dragoman adapt` with the other two
domains as corpora of their own, every system tuned three times by PRO (pro-mix by PRO-mix), and the domain's test set
translated. What is done is kept: the command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import gzip
import json
from itertools import islice
from pathlib import Path

import dragoman as dm
from experiments import dragoman, mean_text

DOMAINS = ("multi30k", "libreoffice", "wesnoth")
SYSTEMS = ("in", "joint", "perp", "uniform", "log-linear", "fill-up", "pro-mix")


def file_of(data: Path, domain: str, part: str, pair: str, side: int) -> Path:
    """A text of a domain: `part` is train, dev or test."""
    language = pair.split("-")[side]
    if domain == "multi30k":
        return data / f"multi30k/{ {'train': 'train', 'dev': 'val', 'test': 'test_2016_flickr'}[part] }.{language}.gz"
    stored = pair if pair.endswith("-en") else "-".join(reversed(pair.split("-")))
    return data / f"{domain}/{part}.{stored}.{language}.gz"


def first_lines(file: Path, count: int, out: Path) -> Path:
    """The first lines of a text; all of them if the count is 0."""
    if not count:
        return file
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        out.write_text("".join(islice(stream, count)), encoding="utf-8")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--domains", nargs="+", default=DOMAINS)
    parser.add_argument("--sizes", nargs="+", type=int, default=[0, 2000, 500])
    parser.add_argument("--pairs", nargs="+", default=["fr-en", "de-en", "en-fr", "en-de"])
    parser.add_argument("--systems", nargs="+", default=SYSTEMS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--dev-lines", type=int, default=0, help="tune on so many lines only; 0 is all")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for pair in arguments.pairs:
        for domain in arguments.domains:
            for size in arguments.sizes:
                compared(arguments, pair, domain, size)


def compared(arguments: argparse.Namespace, pair: str, domain: str, size: int) -> None:
    """One row of the experiment."""
    folder = arguments.out.resolve() / f"{pair}-{domain}-{size or 'all'}"
    folder.mkdir(parents=True, exist_ok=True)
    data = arguments.data.resolve()
    inside = [first_lines(file_of(data, domain, "train", pair, s), size, folder / f"in.{s}") for s in (0, 1)]
    dev = [first_lines(file_of(data, domain, "dev", pair, s), arguments.dev_lines, folder / f"dev.{s}") for s in (0, 1)]
    corpora = {"in": inside} | {
        other: [file_of(data, other, "train", pair, s) for s in (0, 1)] for other in DOMAINS if other != domain
    }
    if not all((folder / "models" / system).exists() for system in arguments.systems):
        named = [f"{name}={source},{target}" for name, (source, target) in corpora.items()]
        flags = [flag for text in named for flag in ("--corpus", text)]
        flags += [flag for system in arguments.systems for flag in ("--mixture", system)]
        texts = ["--source", dev[0], "--reference", dev[1], "--tokenised"]
        dragoman("adapt", *flags, *texts, "--threads", arguments.threads, "--force", "--out", folder / "models")
    outputs = {
        system: [translated(arguments, folder, system, run, dev, pair, domain) for run in range(1, arguments.runs + 1)]
        for system in arguments.systems
    }
    reference = file_of(data, domain, "test", pair, 1)
    scores = {system: [dm.score(file, reference, "bleu").value for file in files] for system, files in outputs.items()}
    print(f"\n## {pair}, {domain}, {size or 'all'} sentence pairs\n\n| system | BLEU | against in |\n|---|---|---|")
    base = sum(scores["in"]) / len(scores["in"])
    for system, values in scores.items():
        print(f"| {system} | {mean_text(values)} | {sum(values) / len(values) - base:+.2f} |")
    print("\n" + dm.compare(outputs, reference).order, flush=True)
    last = json.loads((folder / "pro-mix-1" / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    print(f"phrases from: {last['phrases_from']}", flush=True)


def translated(
    arguments: argparse.Namespace, folder: Path, system: str, run: int, dev: list[Path], pair: str, domain: str
) -> Path:
    """The domain's test set by a system that was tuned with the seed `run`."""
    model, tuned, out = folder / "models" / system, folder / f"{system}-{run}", folder / f"{system}-{run}.txt"
    if not out.exists():
        method = ["--method", "pro-mix" if system == "pro-mix" else "pro", "--iterations", arguments.iterations]
        texts = ["--source", dev[0], "--reference", dev[1], "--prepared"]
        threads = ["--threads", arguments.threads]
        dragoman("tune", "--model", model, *texts, *method, "--seed", run, *threads, "--out", tuned)
        source = file_of(arguments.data.resolve(), domain, "test", pair, 0)
        lines = dm.load(model, threads=arguments.threads).with_weights(tuned).translate(source, prepared=True)
        out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return out


if __name__ == "__main__":
    main()
