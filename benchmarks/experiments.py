"""What benchmarks that carry out experiments share: the command, models of Multi30k, plans, and means over runs."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dragoman.core.corpus import Corpus
from dragoman.core.feature_rows import Weights
from dragoman.core.files import open_output, read_lines
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.search.limits import SearchLimits
from dragoman.search.translator import Translator
from dragoman.tuning.runs.run import Run

PLAN = """\
title = "{title}"
model = "{model}"
source = "{source}"
reference = "{target}"
{start}prepared = true
{seeds}
curves = false

[search]
pop_limit = {pop_limit}

{parts}"""


def dragoman(*arguments: object) -> None:
    """Run a command, as a user would."""
    subprocess.run([sys.executable, "-m", "dragoman.cli.main", *map(str, arguments)], check=True)


def trained_model(data: Path, out: Path, pair: str, *, hierarchical: bool = False) -> Path:
    """The plain model of a language pair, trained on Multi30k unless it is there."""
    model = out.resolve() / f"{'hierarchical' if hierarchical else 'model'}-{pair}"
    if not model.exists():
        source, target = (data.resolve() / f"multi30k/train.{language}.gz" for language in pair.split("-"))
        kind = ["--hierarchical"] if hierarchical else []
        # Plans say that their texts are prepared, so words must stay whole.
        plain = ["--preset", "moses", "--compounds", "whole", "--tokenised", *kind]
        dragoman("train", "--source", source, "--target", target, *plain, "--out", model)
    return model


def mean_text(values: Sequence[float]) -> str:
    """Mean and standard deviation, for a table."""
    if len(values) < 2:
        return "".join(f"{value:.2f}" for value in values)
    return f"{np.mean(values):.2f} ({np.std(values, ddof=1):.2f})"


def write_plan(
    folder: Path,
    title: str,
    parts: Iterable[str],
    *,
    model: Path,
    data: Path,
    pair: str,
    runs: int | Sequence[int],
    start: str = "",
    pop_limit: int = 200,
    tuning: Sequence[Path] | None = None,
) -> Path:
    """A plan; `parts` are its methods, tests and decisions, `runs` a number or seeds.

    It tunes on the source and target `tuning`, by default on Multi30k's val.
    """
    source, target = tuning or multi30k_files("val", data, pair)
    path = folder / "plan.toml"
    text = PLAN.format(
        title=title,
        model=model,
        source=source,
        target=target,
        start=start,
        seeds=f"runs = {runs}" if isinstance(runs, int) else f"seeds = {list(runs)}",
        pop_limit=pop_limit,
        parts="".join(parts),
    )
    with open_output(path) as stream:
        stream.write(text.encode())
    return path


def start_with(folder: Path, model: Path, features: int) -> str:
    """The lines of a plan for the model's own weights; with 8 features, those of reordering are 0 and stay so."""
    weights = Model.load(model).weights
    zero = [] if features == 14 else [name for name in weights if name.startswith("lr.")]
    start = folder / "start.txt"
    Weights({**weights, **dict.fromkeys(zero, 0.0)}).write(start)
    return f'start = "{start}"\nfixed = {[] if features == 14 else ["lr.*"]}\n'


def method_part(name: str) -> str:
    """A method with its defaults."""
    return f'[[method]]\nname = "{name}"\n\n'


def test_part(name: str, source: Path, target: Path) -> str:
    """A test set."""
    return f'[[test]]\nname = "{name}"\nsource = "{source}"\nreference = "{target}"\n\n'


def multi30k_files(name: str, data: Path, pair: str) -> list[Path]:
    """Source and target of a text of Multi30k."""
    return [data.resolve() / f"multi30k/{name}.{language}.gz" for language in pair.split("-")]


def multi30k_test(name: str, data: Path, pair: str) -> str:
    """A test set of Multi30k."""
    return test_part(name, *multi30k_files(name, data, pair))


def bleu_of_test(model: Path, run: Run, pair: str, data: Path, *, pop_limit: int) -> float:
    """BLEU of a run's best weights on test_2016_flickr, kept in its folder."""
    kept = run.folder / "test_2016_flickr.bleu"
    if not kept.exists():
        source, reference = multi30k_files("test_2016_flickr", data, pair)
        translator = Translator.of(Model.load(model), run.weights(), limits=SearchLimits(pop_limit=pop_limit))
        found = [each.text for each in translator.translate(read_lines(source))]
        scorer = Bleu().scorer([Corpus.from_lines(read_lines(reference))])
        score = float(scorer.score(scorer.statistics(Corpus.from_lines(found)).sum(axis=0)))
        kept.write_text(f"{score}\n", encoding="utf-8")
    return float(kept.read_text(encoding="utf-8"))


def other_domains(folder: Path, data: Path, pair: str, lines: int) -> list[str]:
    """Test sets of other domains: the first lines of Wesnoth and of LibreOffice, copied into a folder."""
    tests, languages = [], pair.split("-")
    for domain in ("wesnoth", "libreoffice"):
        files = [folder / f"{domain}.{language}" for language in languages]
        for file, language in zip(files, languages, strict=True):
            with open_output(file) as stream:
                for line in itertools.islice(read_lines(data.resolve() / f"{domain}/test.{pair}.{language}.gz"), lines):
                    stream.write(f"{line}\n".encode())
        tests.append(test_part(domain, *files))
    return tests
