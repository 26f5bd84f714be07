"""`dragoman sample`: draw samples of derivations from the model's distribution."""

from __future__ import annotations

import math
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import (
    Documents,
    Flags,
    ModelFolder,
    ModelMachine,
    Prepared,
    SourceFile,
    Trees,
    WeightsFile,
    command,
)
from dragoman.cli.shell.loading import load_translator, read_source, try_count_lines
from dragoman.core.errors import UsageError
from dragoman.core.files import open_output
from dragoman.core.runtime import Runtime
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.formats.samples_jsonl import format_samples
from dragoman.sampling.diagnostics.agreement import AgreementReport
from dragoman.sampling.draw import Draw
from dragoman.sampling.packing import pack
from dragoman.sampling.sampler import SampleBatch
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.translation.stream import Outputs, Stream


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "sample",
        examples=[
            "dragoman sample --model model --source test.fr --out samples.jsonl.gz",
            "dragoman sample --model model --source test.fr --samples 5000 --chains 4 --temperature 0.5 --out s.jsonl",
            "dragoman sample --model model --source test.fr --global-feature length_ratio=2 --out s.jsonl",
            "dragoman sample --model model --source test.fr --out s.jsonl --hypergraphs packed.jsonl.gz",
            "dragoman sample --model model --source test.fr --cluster tcp://10.0.0.1:8786 --out s.jsonl",
        ],
    )
    def sample(
        model: ModelFolder,
        source: SourceFile,
        out: Annotated[Path, typer.Option(help="Output file for the samples: a line of JSON for each sentence.")],
        sampling: Annotated[Sampling, Flags("Sampling")],
        limits: Annotated[SearchLimits, Flags("Search (for beam starts and jumps)")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same samples.")] = 1,
        weights: WeightsFile = None,
        proposal_weights: Annotated[
            Path | None,
            typer.Option(help="Propose steps with these weights, with a Metropolis-Hastings correction."),
        ] = None,
        global_feature: Annotated[
            list[str] | None,
            typer.Option(metavar="NAME=WEIGHT", help="A global feature to add, with its weight; repeatable."),
        ] = None,
        hypergraphs: Annotated[
            Path | None,
            typer.Option(help="JSONL with the samples of each sentence packed as a hypergraph, shared parts once."),
        ] = None,
        documents: Documents = None,
        trees: Trees = None,
        features: Annotated[bool, typer.Option("--features/--no-features", help="Write feature values.")] = True,
        prepared: Prepared = False,
        machine: ModelMachine = ModelMachine(),
    ) -> None:
        """Sample derivations of sentences from the model's distribution by Markov chain Monte Carlo.

        Each output line has the distinct derivations of a sentence, with their counts in each chain. Acceptance rates,
        the largest R-hat of scores over chains and the time are printed to standard error. The model's global features
        are used; --global-feature adds others.
        """
        runtime = machine.runtime()
        named = dict(_named_weight(text) for text in global_feature or [])
        translator = load_translator(model, weights, limits, space, runtime=runtime)
        translator = translator.reweighted(translator.weights.updated(named))
        loaded = translator.model
        proposal = None if proposal_weights is None else loaded.read_weights(proposal_weights, runtime=runtime)
        draw = Draw(
            sampling,
            seed,
            features,
            proposal_weights=proposal,
            more_features=tuple(name for name in named if name not in loaded.global_features),
        )
        parses = loaded.open_trees(trees, runtime=runtime)
        lines, labels = read_source(source, documents)
        report = _Report()
        with (
            machine.open_for(model, runtime=runtime) as opened,
            open_output(out) as stream,
            nullcontext() if hypergraphs is None else open_output(hypergraphs) as packed,
            runtime.counter("sampling", try_count_lines(source)) as more,
        ):
            text = Stream(translator, model, prepared=prepared, runtime=opened.quiet())
            for result in text.results(lines, Outputs(samples=draw), trees=parses, documents=labels):
                assert result.samples is not None
                stream.write(format_samples(result.samples.samples, 0, result.number))
                if packed is not None:
                    graph = pack(result.samples.samples, 0)
                    packed.write(format_hypergraph(graph, result.number).encode() + b"\n")
                report.add(result.samples)
                more(1)
        report.show(bool(sampling.jump_every), runtime=runtime)


def _named_weight(text: str) -> tuple[str, float]:
    name, equals, number = text.partition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not equals or not math.isfinite(weight):
        raise UsageError(f"--global-feature is '{text}'; expected NAME=WEIGHT, like length_ratio=1")
    return name.strip(), weight


@dataclass
class _Report:
    """Statistics of the samples."""

    start: float = field(default_factory=time.monotonic)
    sentences: int = 0
    derivations: int = 0
    translations: int = 0
    disconnected: int = 0
    chains: int = 0
    scans: int = 0
    scans_accepted: int = 0
    agreement: AgreementReport = field(default_factory=AgreementReport)
    tried: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)

    def add(self, part: SampleBatch) -> None:
        """Add the samples of some sentences."""
        samples = part.samples
        self.sentences += len(samples)
        self.derivations += len(samples.scores)
        self.translations += samples.count_translations()
        self.disconnected += int((part.components > 1).sum())
        self.agreement.add(part.agreement)
        self.scans += int(part.scans_tested.sum())
        self.scans_accepted += int(part.scans_accepted.sum())
        self.chains = samples.chains
        for move in part.moves:
            tried, accepted = part.counts(move)
            self.tried[move] += tried
            self.accepted[move] += accepted

    def show(self, jumps: bool, *, runtime: Runtime) -> None:
        """Print the table."""
        r_hats, effective = self.agreement.r_hats, self.agreement.effective_samples
        rows: list[tuple[str, str]] = [
            ("sentences", f"{self.sentences:,}"),
            ("with a disconnected segmentation graph", f"{self.disconnected:,}"),
            ("distinct derivations", f"{self.derivations:,}"),
            ("distinct translations", f"{self.translations:,}"),
            *(
                (f"{move.replace('_', ' ')}s accepted", _share(self.accepted[move], tried))
                for move, tried in self.tried.items()
                if tried
            ),
            *([("whole scans accepted", _share(self.scans_accepted, self.scans))] if self.scans else []),
            *(
                [("largest R-hat of scores over chains", f"{r_hats.max():.2f}")]
                if self.chains > 1 and len(r_hats)
                else []
            ),
            *([("smallest effective sample size", f"{effective.min():.0f}")] if len(effective) else []),
            ("seconds", f"{time.monotonic() - self.start:.1f}"),
        ]
        terminal.diagnostics().print(terminal.table("Samples", ["", ""], rows))
        if self.disconnected and not jumps:
            runtime.warn(
                f"{self.disconnected} sentences have segmentations that the operators cannot reach from others; "
                "use jumps (--jump-every) to reach them all"
            )


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({part / whole:.1%})"
