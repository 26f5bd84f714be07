"""From dataclasses to command-line flags: a parameter of a command whose type is a dataclass becomes its flags.

Fields of an `Options` class have their help and limits with them; `Flags` says how the flags look. Fields of other
dataclasses are annotated with `typer.Option`, as parameters of commands are (see `machine`).

A parameter of a command whose type is one of these classes becomes its flags (see `flags`).
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from dragoman.cli.main import EXAMPLE, HEADING, HelpCommand, HelpGroup, command_entries
from dragoman.core.errors import UsageError
from dragoman.core.options import Options, Registry
from dragoman.core.own_files import clear_leftovers_of, refuse_foreign_files
from dragoman.core.progress import available_cores, live_progress
from dragoman.core.runtime import RequiredFile, Runtime, Workers
from dragoman.model.bundle import model_digest


@dataclass(frozen=True)
class Kind:
    """A kind of objects that are chosen by name, such as metrics."""

    title: str
    registry_module: str
    registry_name: str
    usage: str
    #: Parameters of commands whose values are such names.
    chosen_by: tuple[str, ...] = ()

    @property
    def registry(self) -> Registry[Options]:
        """The registry of the kind."""
        found: Registry[Options] = getattr(importlib.import_module(self.registry_module), self.registry_name)
        return found


#: All kinds, by their names in `dragoman methods`.
KINDS = {
    "aligner": Kind(
        "aligner",
        "dragoman.training.align",
        "ALIGNERS",
        "dragoman train --aligner {}, options with --aligner-option NAME=VALUE",
        ("aligner",),
    ),
    "corpus": Kind(
        "corpus",
        "dragoman.corpora",
        "CORPORA",
        "dragoman corpora build {} --out FOLDER, options with --option NAME=VALUE",
    ),
    "decision": Kind(
        "decision rule",
        "dragoman.decision",
        "RULES",
        "dragoman translate --decision {}, options with --decision-option NAME=VALUE",
        ("decision",),
    ),
    "estimator": Kind(
        "estimator of expected utility",
        "dragoman.decision.estimators",
        "ESTIMATORS",
        "dragoman mbr --estimator {}, options with --estimator-option NAME=VALUE",
        ("estimator",),
    ),
    "feature": Kind(
        "extra feature",
        "dragoman.features",
        "SPARSE_FEATURES",
        "dragoman model add-features MODEL --feature {}:OPTION=VALUE,..",
        ("feature",),
    ),
    "format": Kind(
        "format of n-best lists",
        "dragoman.formats.nbest.format",
        "NBEST_FORMATS",
        "dragoman mbr --format {}, options with --format-option NAME=VALUE",
        ("format_name", "evidence_format"),
    ),
    "global-feature": Kind(
        "global feature",
        "dragoman.features",
        "GLOBAL_FEATURES",
        "dragoman model add-features MODEL --global {}:OPTION=VALUE,..",
        ("global_feature",),
    ),
    "method": Kind(
        "tuning method",
        "dragoman.tuning",
        "TUNERS",
        "dragoman tune --method {}, options with --method-option NAME=VALUE",
        ("method",),
    ),
    "metric": Kind(
        "metric",
        "dragoman.metrics",
        "METRICS",
        "--metric {} or --metric {}:OPTION=VALUE,.. of many commands",
        ("metric",),
    ),
    "tagger": Kind(
        "tagger",
        "dragoman.training.tag",
        "TAGGERS",
        "dragoman tag --tagger {}, options with --tagger-option NAME=VALUE",
        ("tagger",),
    ),
    "utility": Kind(
        "neural metric",
        "dragoman.metrics.utility",
        "UTILITIES",
        "dragoman mbr --utility {}:model=FOLDER,OPTION=VALUE,..",
        ("utility",),
    ),
}


def chosen_by(parameter: str) -> Kind | None:
    """Return the kind of objects that a parameter of a command chooses from."""
    return next((kind for kind in KINDS.values() if parameter in kind.chosen_by), None)


Command = TypeVar("Command", bound=Callable[..., None])

ModelFolder = Annotated[Path, typer.Option("--model", help="The model folder.")]
WeightsFile = Annotated[
    Path | None, typer.Option("--weights", help="Weights to use instead of the model's: a file or a run.")
]
SourceFile = Annotated[Path, typer.Option("--source", help="Source text, one sentence per line.")]
Prepared = Annotated[
    bool,
    typer.Option(
        "--prepared", help="The input is already tokenised (and lower-cased); the model still splits compounds."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Documents = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        help="A label for each line. Consecutive lines with the same label form a document. Default: the whole input "
        "is one document.",
    ),
]
Trees = Annotated[
    Path | None,
    typer.Option("--trees", help="A parse tree for each line in Penn brackets, for models with tree features."),
]
DecisionOptions = Annotated[
    list[str] | None,
    typer.Option("--decision-option", help="NAME=VALUE for an option of the decision rule; repeatable."),
]
EvidenceChoice = Annotated[
    Literal["nbest", "hypergraph", "samples"] | None,
    typer.Option("--evidence", help="Evidence for the decision rule. Default: the best one for the rule."),
]
NBestSize = Annotated[
    int | None,
    typer.Option("--nbest-size", min=1, help="Hypotheses per sentence in n-best lists as evidence. Default: 1000."),
]
SamplingOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--sampling-option", help="NAME=VALUE for an option of the sampler, if samples are the evidence; repeatable."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists and was made by Dragoman.")]


Restart = Annotated[
    bool, typer.Option("--restart", help="Start again if the folder belongs to a run with other options or texts.")
]


def refuse_existing(out: Path, force: bool) -> None:
    """Raise an error before the work begins if the output exists and may not be replaced, or is not Dragoman's.

    Remove leftovers of killed processes first; this restores a folder that was being replaced.
    """
    clear_leftovers_of(out)
    if out.exists() and not force:
        raise UsageError(f"{out} exists; use --force to replace it")
    refuse_foreign_files(out)


@dataclasses.dataclass(frozen=True)
class Flags:
    """Help panel and prefix of an options parameter: `Annotated[KneserNey, Flags("Language model", prefix="lm-")]`."""

    panel: str
    prefix: str = ""


def command(
    app: typer.Typer,
    name: str,
    *,
    examples: Sequence[str],
    panels: Mapping[str, Sequence[str]] | None = None,
    several: Mapping[str, Callable[[str], bool]] | None = None,
    absent: Mapping[str, str] | None = None,
    **settings: Any,
) -> Callable[[Command], Command]:
    """Register a function as a command; its docstring and examples become its help.

    `panels` are sections of the help with their parameters; main options come first. `several` are parameters whose
    flags may be followed by several values, with a test of what is a value; `absent` are flags of another program, with
    what to do instead.
    """
    kind = type("RegisteredCommand", (HelpCommand,), {"several": several or {}, "absent": absent or {}})

    def register(function: Command) -> Command:
        shown = "\n\n".join(f"{EXAMPLE}{example}" for example in examples)
        text = f"{inspect.getdoc(function) or ''}\n\n{HEADING}Examples\n\n{shown}"
        call = _expanded(function, panels or {})
        required = any(p.default is inspect.Parameter.empty for p in inspect.signature(call).parameters.values())
        app.command(name, cls=kind, help=text, no_args_is_help=required, **settings)(call)
        return function

    return register


def command_group(app: typer.Typer, name: str) -> typer.Typer:
    """Register a group of commands, and return it for `command`."""
    group = typer.Typer(cls=HelpGroup, no_args_is_help=True, help=command_entries()[name].summary)
    app.add_typer(group, name=name)
    return group


#: The parameter by which a command gets its context, which says what was given on the command line.
_CONTEXT = "typer_context"


def _expanded(function: Callable[..., None], panels: Mapping[str, Sequence[str]]) -> Callable[..., None]:
    hints = typing.get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type, str, dict[str, str]]] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        arguments = typing.get_args(hint) if typing.get_origin(hint) is Annotated else ()
        flags = next((extra for extra in arguments if isinstance(extra, Flags)), None)
        if flags is not None:
            fields = _flags_of(arguments[0], flags)
            groups[parameter.name] = (arguments[0], flags.prefix, {p.name: field for field, p in fields.items()})
            parameters += fields.values()
        elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
            annotated = _annotated_fields(hint)
            groups[parameter.name] = (hint, "", {p.name: p.name for p in annotated})
            parameters += annotated
        else:
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    panel_of = {name: panel for panel, names in panels.items() for name in names}
    unknown = panel_of.keys() - {parameter.name for parameter in parameters}
    if unknown:
        raise TypeError(f"there is no parameter {', '.join(sorted(unknown))}")
    parameters = [_described(parameter, panel_of.get(parameter.name)) for parameter in parameters]
    if any(getattr(options, "presets", None) for options, _, _ in groups.values()):
        parameters.append(inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @functools.wraps(function)
    def call(**values: Any) -> None:
        context = values.pop(_CONTEXT, None)
        given = {name: {field: values.pop(flag) for flag, field in group[2].items()} for name, group in groups.items()}
        for name, (options, _, fields) in groups.items():
            if getattr(options, "presets", None):
                given[name] = {f: given[name][f] for flag, f in fields.items() if _on_command_line(context, flag)}
        for name, (options, prefix, _) in groups.items():
            try:
                values[name] = options(**given[name])
            except UsageError as error:  # which begins with the name of the option
                name, space, rest = str(error).partition(" ")
                raise UsageError(f"--{prefix}{name.replace('_', '-')}{space}{rest}") from None
        function(**values)

    signature = inspect.Signature(sorted(parameters, key=lambda p: p.default is not inspect.Parameter.empty))
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call


def _on_command_line(context: typer.Context | None, flag: str) -> bool:
    """Return whether a value is from the command line, and no default that a preset may replace."""
    source = None if context is None else context.get_parameter_source(flag)
    return source is None or source.name != "DEFAULT"


_TEXTS = (str, str | None, list[str], list[str] | None)


def _described(parameter: inspect.Parameter, panel: str | None) -> inspect.Parameter:
    """Return a parameter with its section of the help, and with completion if its values are names of a kind."""
    arguments = typing.get_args(parameter.annotation) if typing.get_origin(parameter.annotation) is Annotated else ()
    kind = chosen_by(parameter.name) if arguments and arguments[0] in _TEXTS else None
    declared = next((extra for extra in arguments if isinstance(extra, typer.models.OptionInfo)), None)
    if declared is None or (panel is None and kind is None):
        return parameter
    changed = copy.copy(declared)  # others may share it
    changed.rich_help_panel = panel or changed.rich_help_panel
    if kind is not None and changed.autocompletion is None:
        changed.autocompletion = lambda: kind.registry.names()
    others = [changed if extra is declared else extra for extra in arguments[1:]]
    return parameter.replace(annotation=Annotated[(arguments[0], *others)])


def _flags_of(options: type[Options], flags: Flags) -> dict[str, inspect.Parameter]:
    hints = typing.get_type_hints(options)
    parameters = {}
    for field in dataclasses.fields(options):
        flag = flags.prefix + field.name.replace("_", "-")
        names = f"--{flag}/--no-{flag}" if hints[field.name] is bool else f"--{flag}"
        declared = typer.Option(names, help=_sentence(field.metadata["help"]), rich_help_panel=flags.panel)
        parameters[field.name] = inspect.Parameter(
            flag.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[hints[field.name], declared],
        )
    return parameters


def _annotated_fields(cls: type) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(cls, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(cls)
    ]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


_PANEL = "Cluster (needs dragoman[cluster])"


@dataclass(frozen=True)
class Machine:
    """Threads of this process."""

    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Number of worker threads. Default: all cores.")
    ] = None

    def runtime(self) -> Runtime:
        """Return a runtime of this process that reports its progress on the terminal."""
        threads = self.threads or available_cores()
        return Runtime(threads=threads, progress=live_progress())


@dataclass(frozen=True)
class ClusterMachine(Machine):
    """Threads of this process, or the workers of a cluster."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            rich_help_panel=_PANEL,
            help="Workers: local:4 (processes), tcp://host:8786 (a Dask scheduler), or a TOML file of a job queue.",
        ),
    ] = None
    cluster_wait: Annotated[
        float,
        typer.Option(
            "--cluster-wait", min=0.1, rich_help_panel=_PANEL, help="Seconds to wait for the scheduler's answer."
        ),
    ] = 10.0

    @contextlib.contextmanager
    def open(self, *, needs: Sequence[RequiredFile] = (), runtime: Runtime | None = None) -> Iterator[Runtime]:
        """Yield a runtime with the workers of the cluster, if there is one; check that these have what is needed.

        `runtime` is the one of this process, if the command has made it already.
        """
        if self.cluster is not None and self.threads is not None:
            raise UsageError("--threads are those of this process; expected that or --cluster")
        here = runtime or self.runtime()
        if self.cluster is None:
            yield here
            return
        with Workers.of(
            self.cluster, threads=here.threads, patience=self.cluster_wait, progress=here.progress
        ) as workers:
            workers.require(needs)
            yield replace(here, workers=workers)


@dataclass(frozen=True)
class ModelMachine(ClusterMachine):
    """Threads of this process, or the workers of a cluster, which need the model."""

    send_model: Annotated[
        bool,
        typer.Option(
            "--send-model",
            rich_help_panel=_PANEL,
            help="Send the model once to each worker, for workers that do not see its folder.",
        ),
    ] = False

    def open_for(self, model: Path, *, runtime: Runtime | None = None) -> AbstractContextManager[Runtime]:
        """Do as `open` does, and check that workers have the model; send it to them if the user says so."""
        if self.send_model and self.cluster is None:
            raise UsageError("--send-model goes with --cluster")
        if self.cluster is None:
            return self.open(runtime=runtime)
        return self.open(needs=[RequiredFile.of(model, model_digest, send=self.send_model)], runtime=runtime)
