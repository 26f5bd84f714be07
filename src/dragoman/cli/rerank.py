"""`dragoman rerank`: tune weights on n-best lists of any system, and rerank lists with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Group

from dragoman.cli.score import Cache, ReferenceFiles, Seed, print_signature
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Machine, command, command_group
from dragoman.cli.shell.loading import (
    FailedLines,
    Format,
    FormatOptions,
    Ids,
    MissingNumbers,
    Order,
    Source,
    chosen_format,
    output_order,
    read_numbers,
    with_id,
)
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import open_output
from dragoman.core.nbest import NBest
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.cross_validation import CrossValidation, cross_validate
from dragoman.evaluation.statistics.significance import bootstrap_scores, confidence_interval
from dragoman.formats.nbest.format import NBestFormat
from dragoman.formats.nbest.order import IdOrderCheck, read_texts
from dragoman.front.candidates import first_hypotheses
from dragoman.metrics.references import read_references, reference_files
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import names_utility
from dragoman.metrics.utility_metric import metric_of
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.rerank import (
    MARK,
    choices,
    first_weights,
    metric_of_lists,
    missing_from,
    of_file,
    problem_of_lists,
    references_of,
    rerank_nbest,
    tune_problem,
    with_features,
    without_empty,
)

Candidates = Annotated[Path, typer.Option(help="N-best lists of any system.")]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--feature", help="NAME=FILE: an additional feature, one number per line for each hypothesis; repeatable."
    ),
]

#: Ids with more gaps than this, and than there are lists, are not line numbers.
_MOST_GAPS = 1_000_000


def _methods() -> list[str]:
    """Return the methods that work on n-best lists."""
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
            "dragoman rerank tune --candidates batch.jsonl --order requests.jsonl --reference dev.en --out w.txt",
            "dragoman rerank tune --candidates dev.jsonl --reference dev.en --folds 5 --ablation --out w.txt",
            "dragoman rerank tune --candidates dev.jsonl --reference dev.en --metric comet:model=FOLDER --out w.txt",
        ],
    )
    def tune(
        candidates: Candidates,
        out: Annotated[Path, typer.Option(help="Output file for the weights.")],
        reference: ReferenceFiles,
        format_name: Format = None,
        format_option: FormatOptions = None,
        feature: Features = None,
        order: Order = None,
        source: Source = None,
        failed: FailedLines = None,
        missing: MissingNumbers = "refuse",
        method: Annotated[str, typer.Option(help=f"One of {', '.join(_methods())}.")] = "mert",
        method_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the method; repeatable.")
        ] = None,
        metric: Annotated[
            str,
            typer.Option(
                help="The metric to optimise, also a neural one, or precomputed:path=FILE with a score for each"
                " hypothesis; see `dragoman score --help`."
            ),
        ] = "bleu",
        cache: Cache = None,
        start: Annotated[Path | None, typer.Option(help="Initial weights.")] = None,
        folds: Annotated[
            int,
            typer.Option(
                min=0, help="Folds of a cross-validation, which shows the gain to expect on new lists; 0: none."
            ),
        ] = 0,
        ablation: Annotated[
            bool, typer.Option("--ablation", help="Cross-validate without each feature, too, to see what it is worth.")
        ] = False,
        seed: Seed = 1,
        machine: Machine = Machine(),
    ) -> None:
        """Tune weights so that the highest-scoring hypotheses of the lists optimise the metric.

        Prints the scores of the lists' first hypotheses, of the choices under the new weights, and of the best and
        worst possible choices. BLEU of raw text uses sacreBLEU's tokeniser, as in `dragoman score`; `--metric
        bleu:tokenise=none` turns it off.

        A neural metric scores each hypothesis once, and methods optimise the mean over sentences. It may need source
        texts: those of the lists, or --source for lists that have none.
        """
        runtime = machine.runtime()
        tuner = parse_options(TUNERS.get(method), method_option or [])
        if not isinstance(tuner, Tuner):
            raise UsageError(f"{method} samples derivations of a model; lists need one of {', '.join(_methods())}")
        metric_of(metric)  # refuses what it cannot read before anything else is read
        by_id, wanted = _references_by_id(reference), output_order(order, source)
        references = read_references(reference, runtime=runtime) if by_id is None else []
        asked = _ListRequest(candidates, format_name, format_option, feature, missing)
        # Sentences without hypotheses are skipped below, whether or not the file marks them as failed.
        failed = "refuse" if failed == "refuse" else None
        count = len(references[0]) if by_id is None and wanted is None else None
        lists = asked.read(failed=failed, sentences=count, runtime=runtime).lists
        if source is not None and wanted is not None and lists.sources is None and len(wanted) == len(lists):
            lists, wanted = replace(lists, sources=tuple(wanted.sources or ())), None
        if wanted is not None:
            lists = wanted.arrange(lists, candidates, runtime=runtime)
        elif by_id is None:
            _warn_of_order(lists, candidates, runtime)
        if by_id is not None:
            references = references_of(lists, by_id, candidates, runtime=runtime)
        elif len(lists) != len(references[0]):
            found = f"has {len(references[0])} lines, but {wanted.path if wanted else candidates} has {len(lists)}"
            raise DataError(found, path=reference[0], expected="as many")
        lists, references = without_empty(lists, references, runtime=runtime)
        store = ScoreCache(cache or ScoreCache.default_path()) if names_utility(metric) else None
        chosen, note = metric_of_lists(metric, lists, references, cache=store)
        begin = first_weights(lists) if start is None else _fitting(start, lists)
        problem = problem_of_lists(lists, chosen, references, runtime=runtime)
        vector = begin.vector(problem.names)
        tuned = tune_problem(tuner, problem, vector, seed=seed, runtime=runtime)
        if not np.any(tuned):
            raise DataError(f"{method} gave weights that are all zero", path=candidates)
        Weights(dict(zip(problem.names, tuned.tolist(), strict=True))).write(out)
        terminal.output().print(_choice_table(f"{candidates}: {metric}", problem, tuned, seed))
        if folds:
            validated = cross_validate(
                tuner, problem, vector, folds=folds, ablation=ablation, seed=seed, runtime=runtime
            )
            for table in _validation_tables(validated):
                terminal.output().print(table)
        print_signature(chosen, len(references), prepared=False, note=note)

    @command(
        group,
        "apply",
        examples=[
            "dragoman rerank apply --candidates test.nbest.gz --weights weights.txt > test.out",
            "dragoman rerank apply --candidates test.nbest.gz --weights weights.txt --out test.reranked.gz > test.out",
            "dragoman rerank apply --candidates batch.jsonl --weights weights.txt --order requests.jsonl > test.out",
        ],
    )
    def apply(
        candidates: Candidates,
        weights: Annotated[Path, typer.Option(help="Weights, as written by `rerank tune`.")],
        out: Annotated[
            Path | None, typer.Option(help="Output file for the reranked lists, in the same format.")
        ] = None,
        format_name: Format = None,
        format_option: FormatOptions = None,
        feature: Features = None,
        order: Order = None,
        source: Source = None,
        failed: FailedLines = None,
        missing: MissingNumbers = "refuse",
        ids: Ids = False,
    ) -> None:
        """Print the best hypothesis of each list under the given weights.

        If the ids of lists are numbers, they are line numbers from 0; a sentence without a list gives an empty line.
        Lists with other ids are sorted in natural order (req-2 before req-17). Lists without ids keep the order of the
        file. Use the same --missing as for tuning.
        """
        runtime = Machine().runtime()
        wanted = output_order(order, source)
        marks = [name for name in Weights.read(weights) if name.endswith(MARK)]
        asked = _ListRequest(candidates, format_name, format_option, feature, missing)
        lists, form, own = asked.read(failed=failed, marks=marks, runtime=runtime)
        chosen = _fitting(weights, lists)
        idle = [name for name in lists.features.names if name not in chosen]
        if idle:
            runtime.warn(
                f"{weights}: {len(idle):,} of {len(lists.features.names):,} features have no weight and are"
                f" ignored: {', '.join(idle[:3])}{', ...' if len(idle) > 3 else ''}"
            )
        sorted_lists = rerank_nbest(lists, chosen)
        if wanted is not None:
            sorted_lists = wanted.arrange(sorted_lists, candidates, runtime=runtime)
        elif not ids:
            _warn_of_order(lists, candidates, runtime)
        firsts, names = first_hypotheses(sorted_lists), sorted_lists.sentence_ids
        as_they_are = wanted is not None or failed == "skip"
        lines = [*range(len(names))] if as_they_are else _lists_of_lines(names, candidates, runtime)
        with open_output("-") as stream:
            for line, i in enumerate(lines):
                text = firsts.get(i, "")
                stream.write(f"{with_id(names[i] if i >= 0 else line, text) if ids else text}\n".encode())
        if out is not None:
            # Features made from the lists' own numbers do not belong to the file.
            form.write(out, replace(sorted_lists, features=sorted_lists.features.restricted(own)), runtime=runtime)


def _warn_of_order(lists: NBest, path: Path, runtime: Runtime) -> None:
    seen = IdOrderCheck()
    seen.add(lists)
    seen.warn(path, runtime=runtime)


def _references_by_id(paths: Sequence[Path]) -> list[dict[str, str]] | None:
    """Read references that have ids; None if they are plain lines."""
    files = reference_files(paths)
    found = [read_texts(file) for file in files if str(file) != "-"]
    texts = [one for one in found if one is not None]
    if texts and len(texts) < len(files):
        raise UsageError("some references have ids and some have none; expected all or none of them")
    return texts or None


def _lists_of_lines(ids: Sequence[int | str], path: Path, runtime: Runtime) -> list[int]:
    """Return the list of each output line; -1 if there is none."""
    numbers = [name for name in ids if isinstance(name, int)]
    if not numbers:
        return list(range(len(ids)))
    if len(numbers) < len(ids) or min(numbers) < 0 or max(numbers) >= _MOST_GAPS + 2 * len(ids):
        odd = next(
            (name for name in ids if not isinstance(name, int)), min(numbers) if min(numbers) < 0 else max(numbers)
        )
        raise DataError(
            f"the ids of {len(ids)} lists are line numbers, except '{odd}'", path=path, expected="numbers from 0"
        )
    places = {number: i for i, number in enumerate(numbers)}
    found = [places.get(line, -1) for line in range(max(numbers) + 1)]
    if missing := found.count(-1):
        runtime.warn(
            f"{path}: {missing:,} of {len(found):,} sentences have no list (the first has the id"
            f" {found.index(-1)}); their lines are empty"
        )
    return found


def _choice_table(title: str, problem: Problem, weights: NDArray[np.float64], seed: int) -> Group:
    """Tabulate the scores of the first hypotheses, of the tuned choices, and of the best and worst choices."""
    picked = choices(problem, weights)
    rows: list[tuple[object, ...]] = []
    for name in ("first", "tuned", "oracle", "worst"):
        statistics = problem.statistics[getattr(picked, name)]
        low, high = confidence_interval(bootstrap_scores(problem.scorer, [statistics], seed=seed)[0])
        rows.append((name, float(problem.scorer.score(statistics.sum(axis=0))), low, high))
    return terminal.table(title, ["choice", "score", "from", "to"], rows)


def _validation_tables(found: CrossValidation) -> list[Group]:
    """Tabulate the scores of cross-validation, and what is lost without each feature."""
    low, high = found.interval
    rows: list[tuple[object, ...]] = [
        ("random candidates", found.random),
        ("first candidates", found.first),
        ("reranked, by weights tuned on other sentences", found.held_out),
        ("reranked, by weights tuned on the same sentences", found.optimistic),
        ("oracle", found.oracle),
        ("gain over the first candidates", found.gain),
        ("gain, 95 % interval from", low),
        ("gain, 95 % interval to", high),
        ("p-value of the gain", found.p_value),
    ]
    tables = [terminal.table(f"cross-validation, {found.folds} folds", ["", "score"], rows)]
    if found.features:
        losses = [(one.name, one.loss) for one in found.features]
        tables.append(terminal.table("features", ["left out", "score lost"], losses))
    return tables


class _ListsAndFormat(NamedTuple):
    """N-best lists with their features, their format, and the names of features that the format must hold."""

    lists: NBest
    form: NBestFormat
    names: Sequence[str]


@dataclass(frozen=True)
class _ListRequest:
    """Request for n-best lists: a file, its format, features from other files, and a rule for missing numbers."""

    path: Path
    format: str | None
    options: Sequence[str] | None
    features: Sequence[str] | None
    missing: str

    def read(
        self,
        *,
        failed: str | None = None,
        sentences: int | None = None,
        marks: Sequence[str] = (),
        runtime: Runtime,
    ) -> _ListsAndFormat:
        """Read the lists with all features."""
        form = chosen_format(self.path, self.format, self.options, failed)
        missing = missing_from(self.missing)
        lists = form.read(self.path, sentences=sentences, runtime=runtime)
        extra = {label: of_file(lists, read_numbers(file)) for label, file in self._files().items()}
        try:
            featured = with_features(lists, extra, missing=missing, marks=marks, runtime=runtime)
        except DataError as error:
            raise DataError(str(error), path=self.path) from None
        return _ListsAndFormat(featured, form, [*lists.features.names, *extra])

    def _files(self) -> dict[str, str]:
        found = {}
        for text in self.features or []:
            label, equals, file = text.partition("=")
            if not (label and equals and file):
                raise UsageError(f"--feature is '{text}'; expected NAME=FILE")
            found[label] = file
        return found


def _fitting(path: Path, lists: NBest) -> Weights:
    weights = Weights.read(path)
    unknown = [name for name in weights if name not in lists.features.names]
    if unknown:
        raise DataError(
            f"has a weight for '{unknown[0]}', which no hypothesis has", path=path, expected="features of the lists"
        )
    return weights
