"""`dragoman rerank`: tune weights on n-best lists of any system, and rerank lists with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    with_id,
)
from dragoman.core.errors import DataError, UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.files import open_output
from dragoman.core.nbest import NBest
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.decision.system_lists import join_systems, named_files
from dragoman.evaluation.statistics.cross_validation import CrossValidation, cross_validate
from dragoman.evaluation.statistics.significance import bootstrap_scores, confidence_interval
from dragoman.formats.nbest.format import NBestFormat
from dragoman.formats.nbest.order import IdOrderCheck, read_texts
from dragoman.front.candidates import first_hypotheses
from dragoman.metrics.references import read_references, reference_files
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import asks_models
from dragoman.metrics.utility_metric import metric_of
from dragoman.tuning import TUNERS
from dragoman.tuning.methods.method import Tuner
from dragoman.tuning.problems.problem import Problem
from dragoman.tuning.runs.computed_features import ComputedFeature, features_of_weights
from dragoman.tuning.runs.rerank import (
    MARK,
    Missing,
    absent_features,
    choices,
    first_weights,
    metric_of_lists,
    missing_from,
    missing_of_weights,
    problem_of_lists,
    references_of,
    rerank_nbest,
    tune_problem,
    with_features,
    without_empty,
    write_reranker,
)

Candidates = Annotated[
    list[Path],
    typer.Option(
        help="N-best lists of any system; repeatable, for several systems, which become features called by the names of"
        " the files up to the first dot; NAME=FILE gives another name."
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--feature", help="NAME=FILE: an additional feature, one number per line for each hypothesis; repeatable."
    ),
]
LanguageModels = Annotated[
    list[str] | None,
    typer.Option(
        "--lm",
        help="NAME=PATH: a feature: the score of a language model in a model's folder or an ARPA file; repeatable.",
    ),
]
UtilityFeatures = Annotated[
    list[str] | None,
    typer.Option(
        "--utility-feature",
        help="NAME=UTILITY: a feature, the agreement with all candidates of the sentence under a utility, as in `mbr`,"
        " or a quality estimate; repeatable.",
    ),
]
Length = Annotated[bool, typer.Option("--length", help="Add the number of words as a feature, `length`.")]


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
        lm: LanguageModels = None,
        utility_feature: UtilityFeatures = None,
        length: Length = False,
        order: Order = None,
        source: Source = None,
        failed: FailedLines = None,
        missing: MissingNumbers = None,
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
        made = _computed_features(feature, lm, utility_feature, length=length)
        asked = _ListRequest(
            named_files(candidates), format_name, format_option, made, missing_from(missing or "refuse")
        )
        # Sentences without hypotheses are skipped below, whether or not the file marks them as failed.
        failed = "refuse" if failed == "refuse" else None
        count = len(references[0]) if by_id is None and wanted is None else None
        lists, file = asked.read(failed=failed, sentences=count, runtime=runtime).lists, asked.path
        if source is not None and wanted is not None and lists.sources is None and len(wanted) == len(lists):
            lists, wanted = replace(lists, sources=tuple(wanted.sources or ())), None
        if wanted is not None:
            lists = wanted.arrange(lists, file, runtime=runtime)
        elif by_id is None:
            _warn_of_order(lists, file, runtime)
        if by_id is not None:
            references = references_of(lists, by_id, file, runtime=runtime)
        elif len(lists) != len(references[0]):
            found = f"has {len(references[0])} lines, but {wanted.path if wanted else file} has {len(lists)}"
            raise DataError(found, path=reference[0], expected="as many")
        lists, references = without_empty(lists, references, runtime=runtime)
        store = ScoreCache(cache or ScoreCache.default_path()) if asks_models(metric) else None
        chosen, note = metric_of_lists(metric, lists, references, cache=store)
        begin = first_weights(lists) if start is None else _fitting(start, lists)
        problem = problem_of_lists(lists, chosen, references, runtime=runtime)
        vector = begin.vector(problem.names)
        tuned = tune_problem(tuner, problem, vector, seed=seed, runtime=runtime)
        if not np.any(tuned):
            raise DataError(f"{method} gave weights that are all zero", path=file)
        write_reranker(out, Weights(dict(zip(problem.names, tuned.tolist(), strict=True))), asked.missing, made)
        terminal.output().print(_choice_table(f"{file}: {metric}", problem, tuned, seed))
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
        lm: LanguageModels = None,
        utility_feature: UtilityFeatures = None,
        length: Length = False,
        order: Order = None,
        source: Source = None,
        failed: FailedLines = None,
        missing: MissingNumbers = None,
        ids: Ids = False,
    ) -> None:
        """Print the best hypothesis of each list under the given weights.

        Lines are in the order of the file, as in `dragoman mbr`; OpenAI batches and tables, whose lines have no fixed
        order, are sorted by their ids in natural order (req-2 before req-17). The file of weights says how features are
        computed (--lm, --utility-feature, --length) and treats missing numbers (--missing); these flags change it. Only
        numbers of --feature must be given for the new lists.
        """
        runtime = Machine().runtime()
        wanted = output_order(order, source)
        marks = [name for name in Weights.read(weights) if name.endswith(MARK)]
        rule = missing_of_weights(weights) if missing is None else missing_from(missing)
        made = _computed_features(feature, lm, utility_feature, length=length)
        made |= features_of_weights(weights, besides=made)
        asked = _ListRequest(named_files(candidates), format_name, format_option, made, rule)
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
            sorted_lists = wanted.arrange(sorted_lists, asked.path, runtime=runtime)
        elif not ids:
            _warn_of_order(lists, asked.path, runtime)
        firsts = first_hypotheses(sorted_lists)
        with open_output("-") as stream:
            for i, name in enumerate(sorted_lists.sentence_ids):
                text = firsts.get(i, "")
                stream.write(f"{with_id(name, text) if ids else text}\n".encode())
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


def _computed_features(
    files: Sequence[str] | None, models: Sequence[str] | None, utilities: Sequence[str] | None, *, length: bool
) -> dict[str, ComputedFeature]:
    """Return the features that the flags ask for."""
    found = {name: ComputedFeature.of("file", file) for name, file in _pairs("--feature", "FILE", files)}
    found |= {name: ComputedFeature.of("lm", path) for name, path in _pairs("--lm", "PATH", models)}
    found |= {
        name: ComputedFeature.of("utility", one) for name, one in _pairs("--utility-feature", "UTILITY", utilities)
    }
    return found | ({"length": ComputedFeature.of("length")} if length else {})


def _pairs(flag: str, kind: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    for text in texts or []:
        label, equals, value = text.partition("=")
        if not (label and equals and value):
            raise UsageError(f"{flag} is '{text}'; expected NAME={kind}")
        yield label, value


@dataclass(frozen=True)
class _ListRequest:
    """Request for n-best lists: files, their format, features besides, and a rule for missing numbers."""

    systems: Mapping[str, Path]
    format: str | None
    options: Sequence[str] | None
    features: Mapping[str, ComputedFeature]
    missing: Missing

    @property
    def path(self) -> Path:
        """The first file, for messages."""
        return next(iter(self.systems.values()))

    def read(
        self,
        *,
        failed: str | None = None,
        sentences: int | None = None,
        marks: Sequence[str] = (),
        runtime: Runtime,
    ) -> _ListsAndFormat:
        """Read the lists with all features."""
        paths = [*self.systems.values()]
        forms = [chosen_format(path, self.format, self.options, failed) for path in paths]
        read = [form.read(path, sentences=sentences, runtime=runtime) for form, path in zip(forms, paths, strict=True)]
        own = [*dict.fromkeys(name for lists in read for name in lists.features.names)]
        lists = read[0]
        if len(read) > 1:
            lists = join_systems(dict(zip(self.systems, read, strict=True)))
        extra = {name: feature.column(lists, runtime=runtime) for name, feature in self.features.items()}
        try:
            featured = with_features(lists, extra, missing=self.missing, marks=marks, runtime=runtime)
        except DataError as error:
            raise DataError(str(error), path=self.path) from None
        return _ListsAndFormat(featured, forms[0], [*own, *extra])


def _fitting(path: Path, lists: NBest) -> Weights:
    weights = Weights.read(path)
    unknown = absent_features(lists, weights)
    if unknown:
        raise DataError(
            f"has a weight for '{unknown[0]}', which no hypothesis has", path=path, expected="features of the lists"
        )
    return weights
