"""`dragoman translate`: translate text; optionally write n-best lists, hypergraphs and details."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Annotated, Literal, Protocol

import typer

from dragoman.cli.shell.flags import (
    DecisionOptions,
    Documents,
    EvidenceChoice,
    Flags,
    ModelFolder,
    ModelMachine,
    NBestSize,
    Prepared,
    SamplingOptions,
    Trees,
    WeightsFile,
    command,
)
from dragoman.cli.shell.loading import load_translator, quiet_beside_output, read_source, try_count_lines
from dragoman.core.errors import UsageError
from dragoman.core.files import open_output, read_lines
from dragoman.core.nbest import NBest
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.decision import RULES
from dragoman.decision.settings import Decision
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.formats.nbest.format import NBEST_FORMATS, NBestFormat
from dragoman.model.bundle import Model
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.text.preparation import TextPreparation
from dragoman.translation.stream import Outputs, SentenceResult, Stream

#: Number of n-best lists that are written at once, which is faster than one at a time.
_LISTS_TOGETHER = 32


class SideOutput(Protocol):
    """A side output."""

    def add(self, result: SentenceResult) -> None:
        """Write the result of a sentence."""


@dataclass(frozen=True)
class SideOutputs:
    """Side outputs that the user asks for."""

    details: Path | None = None
    alignment: Path | None = None
    nbest: int | None = None
    nbest_out: Path | None = None
    nbest_format: str = "moses"
    distinct: bool = True
    hypergraphs: Path | None = None
    picture: Path | None = None

    def __post_init__(self) -> None:
        if (self.nbest is None) != (self.nbest_out is None):
            raise UsageError("--nbest and --nbest-out go together")

    @property
    def any(self) -> bool:
        """True if there is a side output."""
        return any((self.details, self.alignment, self.nbest_out, self.hypergraphs, self.picture))

    @property
    def forests(self) -> bool:
        """True if the search must keep more than the best derivation."""
        return self.nbest_out is not None or self.hypergraphs is not None

    @property
    def outputs(self) -> Outputs:
        """The results that the stream must have for each sentence."""
        return Outputs(self.details is not None, self.nbest, self.distinct, self.hypergraphs is not None)

    def open(self, stack: contextlib.ExitStack, *, runtime: Runtime = Runtime()) -> list[SideOutput]:
        """Open all side outputs; the stack closes them."""
        outputs: list[SideOutput] = []
        if self.details is not None:
            outputs.append(Details(stack.enter_context(open_output(self.details))))
        if self.alignment is not None:
            outputs.append(WordAlignment(stack.enter_context(open_output(self.alignment))))
        if self.hypergraphs is not None:
            outputs.append(Hypergraphs(stack.enter_context(open_output(self.hypergraphs))))
        if self.nbest is not None and self.nbest_out is not None:
            stream = stack.enter_context(open_output(self.nbest_out))
            written = NBEST_FORMATS.get(self.nbest_format)()
            lists = NBestLists(stream, self.nbest_out, written, runtime)
            outputs.append(stack.enter_context(lists.until_the_end()))
        if self.picture is not None:
            require_matplotlib()
            outputs.append(Picture(self.picture))
        return outputs


@dataclass(frozen=True)
class Details:
    """Scores, features, phrases and word alignment as JSONL."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line; only the source if there is no derivation."""
        assert result.translation is not None
        row = result.translation.json(result.number)
        if not result.has_derivation:
            row = json.dumps({"id": result.number, "source": result.translation.source}, ensure_ascii=False)
        self.stream.write(f"{row}\n".encode())


@dataclass(frozen=True)
class WordAlignment:
    """Word alignment like `0-0 1-2`."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line."""
        assert result.translation is not None
        links = sorted(link for phrase in result.translation.phrases for link in phrase.links)
        self.stream.write((" ".join(f"{s}-{t}" for s, t in links) + "\n").encode())


@dataclass(frozen=True)
class Hypergraphs:
    """Search hypergraphs as JSONL."""

    stream: IO[bytes]

    def add(self, result: SentenceResult) -> None:
        """Write a line if the sentence has a derivation."""
        if result.hypergraph is not None:
            self.stream.write(format_hypergraph(result.hypergraph, result.number).encode() + b"\n")


@dataclass(frozen=True)
class NBestLists:
    """N-best lists in one of the formats: some at a time, or all together if the file has one header for all."""

    stream: IO[bytes]
    path: Path
    format: NBestFormat
    runtime: Runtime = Runtime()
    waiting: dict[int, NBest] = field(default_factory=dict)

    def add(self, result: SentenceResult) -> None:
        """Keep the list until there are enough to be written together."""
        assert result.nbest is not None
        self.waiting[result.number] = result.nbest
        if self.format.piecewise and len(self.waiting) == _LISTS_TOGETHER:
            self._write()

    @contextlib.contextmanager
    def until_the_end(self) -> Iterator[NBestLists]:
        """Write the remaining lists at the end."""
        yield self
        if self.waiting:
            self._write()

    def _write(self) -> None:
        lists = replace(NBest.concatenate([*self.waiting.values()]), ids=tuple(self.waiting))
        self.waiting.clear()
        for block in self.format.format_blocks(lists, self.path, runtime=self.runtime):
            self.stream.write(block)


@dataclass(frozen=True)
class Picture:
    """The first sentence's derivation as SVG."""

    path: Path

    def add(self, result: SentenceResult) -> None:
        """Draw the very first sentence."""
        if result.number == 0 and result.translation is not None:
            from dragoman.evaluation.figures.derivations import draw_translation
            from dragoman.evaluation.figures.svg import write_svg

            write_svg(self.path, draw_translation(result.translation))


_RULES = ", ".join(RULES.names())


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(
        app,
        "translate",
        examples=[
            "dragoman translate --model model < test.fr > test.out",
            "dragoman translate --model model --weights tuned.txt --details details.jsonl test.fr.gz",
            "dragoman translate --model model --nbest 100 --nbest-out test.nbest.gz test.fr > test.out",
            "echo 'la maison bleue' | dragoman translate --model model --show",
            "dragoman translate --model model --force test.en test.fr",
            "dragoman translate --model model --decision mbr --decision-option scale=2 test.fr > test.out",
            "dragoman translate --model model --trees test.trees.gz test.en > test.out",
            "dragoman translate --model model --anneal --documents test.docs test.fr > test.out",
            "dragoman translate --model model --cluster local:4 large.fr.gz > large.out",
        ],
    )
    def translate(
        model: ModelFolder,
        limits: Annotated[SearchLimits, Flags("Search")],
        space: Annotated[SpaceLimits, Flags("Search space (default: the model's settings)")],
        source: Annotated[Path, typer.Argument(help="Source text, one sentence per line.")] = Path("-"),
        exhaustive: Annotated[
            bool, typer.Option("--exhaustive", help="Search the whole space; the same as --algorithm exhaustive.")
        ] = False,
        climb: Annotated[
            Literal["gloss", "beam"] | None,
            typer.Option(help="Greedy hill-climbing from a gloss, or from the beam search's result."),
        ] = None,
        anneal: Annotated[
            bool,
            typer.Option(
                "--anneal", help="Simulated annealing from the beam search's result; can repair search errors."
            ),
        ] = False,
        annealing_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of --anneal, such as scans=500; repeatable.")
        ] = None,
        weights: WeightsFile = None,
        trees: Trees = None,
        prepared: Prepared = False,
        words: Annotated[bool, typer.Option("--words", help="Print tokenised text in the model's case.")] = False,
        detokenise: Annotated[
            bool, typer.Option("--detokenise", help="Detokenise even if the input is --prepared.")
        ] = False,
        markup: Annotated[
            bool,
            typer.Option(
                "--markup", help='Use translations given in the input: <x translation="the dog">der hund</x>.'
            ),
        ] = False,
        force: Annotated[
            Path | None,
            typer.Option(help="Forced decoding: allow only these translations; unreachable ones give empty lines."),
        ] = None,
        details: Annotated[
            Path | None, typer.Option(help="JSONL with scores, features, phrases and word alignment.")
        ] = None,
        alignment_out: Annotated[
            Path | None, typer.Option(help="Word alignment of the translations, like `0-0 1-2`.")
        ] = None,
        nbest: Annotated[
            int | None, typer.Option(min=1, help="Number of hypotheses per sentence in --nbest-out.")
        ] = None,
        nbest_out: Annotated[Path | None, typer.Option(help="Output file for n-best lists.")] = None,
        nbest_format: Annotated[
            Literal["moses", "joshua", "travatar", "jsonl", "csv"], typer.Option(help="Format of the n-best lists.")
        ] = "moses",
        distinct: Annotated[
            bool,
            typer.Option("--distinct/--derivations", help="N-best lists of distinct strings, or of all derivations."),
        ] = True,
        hypergraphs: Annotated[Path | None, typer.Option(help="JSONL with the search hypergraphs.")] = None,
        picture: Annotated[Path | None, typer.Option(help="SVG of the first sentence's derivation.")] = None,
        show: Annotated[bool, typer.Option("--show", help="Print the derivation below each translation.")] = False,
        decision: Annotated[
            str | None,
            typer.Option(help=f"A decision rule ({_RULES}), or a file from `tune-decision`."),
        ] = None,
        decision_option: DecisionOptions = None,
        evidence: EvidenceChoice = None,
        nbest_size: NBestSize = None,
        sampling_option: SamplingOptions = None,
        documents: Documents = None,
        seed: Annotated[int, typer.Option(min=0, help="Random seed of sampling and annealing.")] = 1,
        machine: ModelMachine = ModelMachine(),
    ) -> None:
        """Translate text: one output line for each input line, in the same order, as soon as it is ready.

        Raw text is tokenised (and lower-cased) as the model needs it, and its translation is detokenised and recased.
        With --prepared, input and output are tokenised.

        By default, the translation is the best derivation; --decision chooses another decision rule.
        """
        rule = None if decision is None else Decision.of(decision, decision_option or [], evidence, nbest_size)
        sides = SideOutputs(details, alignment_out, nbest, nbest_out, nbest_format, distinct, hypergraphs, picture)
        has_side_outputs, forests, outputs = sides.any, sides.forests, sides.outputs
        for_rules = bool(decision_option or evidence or nbest_size or sampling_option)
        _refuse_for_rules(rule, for_rules, bool(force or climb or anneal or show or has_side_outputs))
        _refuse_for_annealing(anneal, bool(annealing_option), bool(force or climb or forests))
        if documents is not None and not (anneal or (rule is not None and rule.evidence == "samples")):
            raise UsageError("--documents goes with --anneal, or with --decision and --evidence samples")
        if exhaustive:
            limits = replace(limits, algorithm="exhaustive")
        runtime = machine.runtime()
        translator = load_translator(model, weights, limits, space, climb=climb, markup=markup, runtime=runtime)
        form = _restoration(translator.model, prepared=prepared, detokenise=detokenise, words=words)
        parses = translator.model.open_trees(trees, runtime=runtime)
        lines, labels = read_source(source, documents)
        if rule is not None:
            outputs = _decision_outputs(rule, sampling_option, seed)
        elif anneal:
            outputs = replace(outputs, annealing=parse_options(Annealing, annealing_option or []), seed=seed)
        targets = None if force is None else read_lines(force)
        with (
            machine.open_for(model, runtime=runtime) as opened,
            quiet_beside_output(runtime=runtime).counter("translating", try_count_lines(source)) as more,
        ):
            stream = Stream(translator, model, prepared=prepared, restoration=form, runtime=opened.quiet())
            results = stream.results(lines, outputs, trees=parses, documents=labels, targets=targets)
            count = _write(results, sides, show, more, stream.runtime)
            if force is not None:
                count.tell(stream.runtime)


def _refuse_for_rules(rule: Decision | None, for_rules: bool, for_derivations: bool) -> None:
    if rule is not None and for_derivations:
        raise UsageError(
            "--decision chooses strings, not derivations: it goes without --force, --climb, --anneal, --details, "
            "--alignment-out, --nbest-out, --hypergraphs, --picture and --show"
        )
    if rule is None and for_rules:
        raise UsageError("--decision-option, --evidence, --nbest-size and --sampling-option go with --decision")


def _refuse_for_annealing(anneal: bool, for_annealing: bool, for_searches: bool) -> None:
    if anneal and for_searches:
        raise UsageError("--anneal finds one derivation: no --force, --climb, --nbest-out or --hypergraphs")
    if for_annealing and not anneal:
        raise UsageError("--annealing-option goes with --anneal")


def _restoration(model: Model, *, prepared: bool, detokenise: bool, words: bool) -> TextPreparation:
    """Return the preparation that restores translations: to raw text, unless the input was prepared."""
    if words and detokenise:
        raise UsageError("--words keeps tokens, but --detokenise joins them; give one of them")
    form = model.preparation(prepared=prepared or words)
    return replace(form, target_language=model.settings.target_language, tokenise=True) if detokenise else form


def _decision_outputs(rule: Decision, sampling: Sequence[str] | None, seed: int) -> Outputs:
    """Ask for the strings that a decision rule chooses."""
    if rule.evidence != "samples":
        return Outputs(decision=rule)
    draw = Draw(parse_options(Sampling, sampling or [], rule.sampling), seed, features=False)
    return Outputs(decision=rule, samples=draw)


@dataclass
class _Count:
    """Number of sentences, and of those with a derivation."""

    sentences: int = 0
    reached: int = 0
    too_large: int = 0

    def tell(self, runtime: Runtime) -> None:
        """Report the number of forced translations that were found."""
        runtime.note(f"{self.reached:,} of {self.sentences:,} translations can be reached")
        if self.too_large:
            runtime.warn(
                f"{self.too_large:,} sentences were skipped: the search for all derivations needs more than --max-size"
            )


def _write(
    results: Iterable[SentenceResult], sides: SideOutputs, show: bool, more: Callable[[int], None], runtime: Runtime
) -> _Count:
    """Print translations as they become ready, and write the side outputs; call `more` after each."""
    count = _Count()
    with contextlib.ExitStack() as stack:
        opened = sides.open(stack, runtime=runtime)
        for result in results:
            # In one call, so that an interrupted run leaves whole lines.
            sys.stdout.write("\n".join([result.text, *(_draw_derivation(result) if show else ()), ""]))
            sys.stdout.flush()
            more(1)
            for side in opened:
                side.add(result)
            count.sentences += 1
            count.reached += result.has_derivation
            count.too_large += result.is_too_large
    return count


def _draw_derivation(result: SentenceResult) -> list[str]:
    """Draw the derivation of a sentence in text."""
    from dragoman.evaluation.figures.derivations import text_translation

    assert result.translation is not None
    lines = [*text_translation(result.translation).splitlines(), f"score {result.translation.score:.4f}"]
    return [f"    {line}" for line in lines]
