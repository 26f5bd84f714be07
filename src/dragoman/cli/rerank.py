"""`dragoman rerank`: tune on, and choose from, anybody's n-best lists."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Group

from dragoman.cli.score import ReferenceFiles, Seed, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Threads, command, command_group
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, UsageError
from dragoman.core.files import PathLike, open_output, read_lines
from dragoman.core.live import live_progress
from dragoman.core.nbest import NBest
from dragoman.core.options import options_from
from dragoman.core.progress import Progress, available_cores
from dragoman.core.weights import Weights
from dragoman.evaluation.statistics.significance import bootstrap_scores, confidence_interval
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat, sniff
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.references import read_references
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.tuner import Tuner
from dragoman.tuning.problems.nbest_evidence import DecodedLists
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.problems.ranges import weight_ranges
from dragoman.tuning.runs.rerank import choices, first_weights, metric_of_lists, reranked, with_features

Candidates = Annotated[Path, typer.Option(help="N-best lists of any system.")]
Format = Annotated[
    str | None, typer.Option("--format", help=f"One of {', '.join(NBEST_FORMATS.names())}; guessed by default.")
]
FormatOptions = Annotated[list[str] | None, typer.Option(help="NAME=VALUE of one of the format's options; repeatable.")]
Features = Annotated[
    list[str] | None,
    typer.Option("--feature", help="NAME=FILE: one more feature, a number a line for each hypothesis; repeatable."),
]

#: Numbers with more gaps than this, and than there are lists, do not count lines.
_MOST_GAPS = 1_000_000


def _methods() -> list[str]:
    """The methods that take lists."""
    return [name for name in TUNERS.names() if issubclass(TUNERS.get(name), Tuner)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "rerank")

    @command(
        group,
        "tune",
        examples=[
            "dragoman rerank tune --candidates dev.nbest.gz --reference dev.en --method mert --out weights.txt",
            "dragoman rerank tune --candidates dev.jsonl --reference dev.en --feature comet=dev.comet --out w.txt",
        ],
    )
    def tune(
        candidates: Candidates,
        out: Annotated[Path, typer.Option(help="Where the weights go.")],
        reference: ReferenceFiles,
        format_name: Format = None,
        format_option: FormatOptions = None,
        feature: Features = None,
        method: Annotated[str, typer.Option(help=f"One of {', '.join(_methods())}.")] = "mert",
        method_option: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the method; repeatable.")] = None,
        metric: Annotated[str, typer.Option(help="What is optimised; see `dragoman score --help`.")] = "bleu",
        start: Annotated[Path | None, typer.Option(help="Weights to begin with.")] = None,
        seed: Seed = 1,
        threads: Threads = None,
    ) -> None:
        """Find weights under which the best hypotheses of the lists score best.

        Prints what the lists' own order, the new weights, and the best and worst possible choice score. BLEU of raw
        lists has sacreBLEU's tokeniser, as `dragoman score` has; `--metric bleu:tokenise=none` takes them as they are.
        """
        progress, workers = live_progress(), threads or available_cores()
        tuner = options_from(TUNERS.get(method), method_option or [])
        if not isinstance(tuner, Tuner):
            raise UsageError(f"{method} samples derivations of a model; lists need one of {', '.join(_methods())}")
        parse_metric(metric)  # refuses what it cannot read before anything else is read
        references = read_references(reference, progress)
        lists, _ = _read(candidates, format_name, format_option, feature, len(references[0]), progress)
        chosen, note = metric_of_lists(metric, lists, references)
        begin = first_weights(lists) if start is None else _fitting(start, lists)
        names = list(lists.features.names)
        sign = 1 if chosen.higher_is_better else -1
        scorer = chosen.scorer(references)
        problem = DecodedLists(lists).problem(names, weight_ranges(names), scorer, sign=sign, threads=workers)
        rng = np.random.default_rng(seed)
        optimum = tuner.optimise(problem, begin.vector(names), rng=rng, threads=workers, progress=progress)
        if not np.any(optimum.weights):
            raise DataError(f"{method} gave weights that are all zero", path=candidates)
        Weights(dict(zip(names, optimum.weights.tolist(), strict=True))).write(out)
        terminal.output().print(_choice_table(f"{candidates}: {metric}", problem, optimum.weights, seed))
        print_signature(chosen, len(references), prepared=False, note=note)

    @command(
        group,
        "apply",
        examples=[
            "dragoman rerank apply --candidates test.nbest.gz --weights weights.txt > test.out",
            "dragoman rerank apply --candidates test.nbest.gz --weights weights.txt --out test.reranked.gz > test.out",
        ],
    )
    def apply(
        candidates: Candidates,
        weights: Annotated[Path, typer.Option(help="Weights, as `rerank tune` writes them.")],
        out: Annotated[Path | None, typer.Option(help="Write the lists, sorted anew, in the format they had.")] = None,
        format_name: Format = None,
        format_option: FormatOptions = None,
        feature: Features = None,
    ) -> None:
        """Print the best hypothesis of each list under some weights.

        Lists with numbers give the lines of these numbers, counted from 0, and a sentence without a list an empty line;
        lists with names give their lines in the order of the file.
        """
        progress = live_progress()
        lists, form = _read(candidates, format_name, format_option, feature, None, progress)
        chosen = _fitting(weights, lists)
        idle = [name for name in lists.features.names if name not in chosen]
        if idle:
            progress.warn(
                f"{weights}: {len(idle):,} of {len(lists.features.names):,} features have no weight and count"
                f" for nothing: {', '.join(idle[:3])}{', ...' if len(idle) > 3 else ''}"
            )
        sorted_lists = reranked(lists, chosen)
        firsts = first_hypotheses(sorted_lists)
        with open_output("-") as stream:
            for i in _lists_of_lines(lists.sentence_ids, candidates, progress):
                stream.write(f"{firsts.get(i, '')}\n".encode())
        if out is not None:
            form.write(out, sorted_lists)


def _lists_of_lines(ids: Sequence[int | str], path: Path, progress: Progress) -> list[int]:
    """Which list each line of the output comes from; -1 where there is none."""
    numbers = [name for name in ids if isinstance(name, int)]
    if not numbers:
        return list(range(len(ids)))
    if len(numbers) < len(ids) or min(numbers) < 0 or max(numbers) >= _MOST_GAPS + 2 * len(ids):
        odd = next(
            (name for name in ids if not isinstance(name, int)), min(numbers) if min(numbers) < 0 else max(numbers)
        )
        raise DataError(
            f"{len(ids)} lists have numbers for lines, but one has '{odd}'", path=path, expected="lines counted from 0"
        )
    places = {number: i for i, number in enumerate(numbers)}
    found = [places.get(line, -1) for line in range(max(numbers) + 1)]
    if missing := found.count(-1):
        progress.warn(
            f"{path}: {missing:,} of {len(found):,} sentences have no list, the first of them is {found.index(-1)};"
            " their lines are empty"
        )
    return found


def _choice_table(title: str, problem: Problem, weights: NDArray[np.float64], seed: int) -> Group:
    """What the lists' own order, the weights, and the best and worst possible choice score."""
    picked = choices(problem, weights)
    rows: list[tuple[object, ...]] = []
    for name in ("first", "tuned", "oracle", "worst"):
        statistics = problem.statistics[getattr(picked, name)]
        low, high = confidence_interval(bootstrap_scores(problem.scorer, [statistics], seed=seed)[0])
        rows.append((name, float(problem.scorer.score(statistics.sum(axis=0))), low, high))
    return terminal.table(title, ["choice", "score", "from", "to"], rows)


def _read(
    path: Path,
    name: str | None,
    options: Sequence[str] | None,
    features: Sequence[str] | None,
    sentences: int | None,
    progress: Progress,
) -> tuple[NBest, NBestFormat]:
    form = chosen_format(path, name, options)
    lists = form.read(path, sentences=sentences, progress=progress)
    extra = {}
    for text in features or []:
        label, equals, file = text.partition("=")
        if not (label and equals and file):
            raise UsageError(f"--feature is '{text}'; expected NAME=FILE")
        extra[label] = read_numbers(file)
    return with_features(lists, extra), form


def chosen_format(path: Path, name: str | None, options: Sequence[str] | None) -> NBestFormat:
    """The format that was named, or that the file looks like, with its options."""
    return options_from(sniff(path) if name is None else NBEST_FORMATS.get(name), options or [])


def first_hypotheses(lists: NBest) -> dict[int, str]:
    """The first hypothesis of each sentence that has one."""
    filled = np.flatnonzero(np.diff(lists.sentences))
    texts = Corpus(lists.vocab, lists.hypotheses.take(lists.sentences[:-1][filled])).lines()
    return dict(zip(filled.tolist(), texts, strict=True))


def read_numbers(path: PathLike) -> NDArray[np.float64]:
    """Read a file with a number a line."""
    values = []
    for line, text in enumerate(read_lines(path), 1):
        try:
            values.append(float(text))
        except ValueError:
            raise DataError(f"found '{text}'", path=path, line=line, expected="a number") from None
    return np.array(values)


def _fitting(path: Path, lists: NBest) -> Weights:
    weights = Weights.read(path)
    unknown = [name for name in weights if name not in lists.features.names]
    if unknown:
        raise DataError(f"has a weight for '{unknown[0]}', which no hypothesis has", path=path, expected="its features")
    return weights
