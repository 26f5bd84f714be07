"""`dragoman translate`: text in, translations out, with n-best lists, hypergraphs and details on the side."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.shell.flags import (
    DecisionOptions,
    Documents,
    EvidenceChoice,
    Flags,
    ModelFolder,
    NBestSize,
    Prepared,
    SamplingOptions,
    Threads,
    Trees,
    WeightsFile,
    command,
)
from dragoman.cli.shell.loading import beside_output, lines_in, load_translator, read_source
from dragoman.cli.shell.side_outputs import Wanted
from dragoman.cli.shell.terminal import Cluster, ClusterWait, SendModel, opened_runtime, runtime_of
from dragoman.core.errors import UsageError
from dragoman.core.files import read_lines
from dragoman.core.options import parse_options
from dragoman.core.runtime import Runtime
from dragoman.decision import RULES
from dragoman.decision.settings import Decision
from dragoman.model.bundle import Model
from dragoman.model.source_trees import trees_for
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.text.preparation import TextPreparation
from dragoman.translation.outputs import Outputs, SentenceResult
from dragoman.translation.stream import Stream


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
        space: Annotated[SpaceLimits, Flags("Space (the model's own by default)")],
        source: Annotated[Path, typer.Argument(help="Source text, one sentence a line.")] = Path("-"),
        exhaustive: Annotated[
            bool, typer.Option("--exhaustive", help="Look at everything; the same as --algorithm exhaustive.")
        ] = False,
        climb: Annotated[
            Literal["gloss", "beam"] | None,
            typer.Option(help="Greedy hill-climbing from a gloss, or from the beam's result."),
        ] = None,
        anneal: Annotated[
            bool, typer.Option("--anneal", help="Simulated annealing from the beam's result; finds what a beam misses.")
        ] = False,
        annealing_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for --anneal, such as scans=500; repeatable.")
        ] = None,
        weights: WeightsFile = None,
        trees: Trees = None,
        prepared: Prepared = False,
        words: Annotated[
            bool, typer.Option("--words", help="Print the model's own words: tokenised, and in its case.")
        ] = False,
        detokenise: Annotated[
            bool, typer.Option("--detokenise", help="Join tokens also if the text is prepared.")
        ] = False,
        markup: Annotated[
            bool, typer.Option("--markup", help='Obey <x translation="the dog">der hund</x> in the input.')
        ] = False,
        force: Annotated[
            Path | None, typer.Option(help="Only allow these translations; unreachable ones give empty lines.")
        ] = None,
        details: Annotated[
            Path | None, typer.Option(help="JSONL with scores, features, phrases and word links.")
        ] = None,
        links: Annotated[Path | None, typer.Option(help="Word links of the translations, like `0-0 1-2`.")] = None,
        nbest: Annotated[int | None, typer.Option(min=1, help="How many a sentence in --nbest-out.")] = None,
        nbest_out: Annotated[Path | None, typer.Option(help="Where the n-best lists go.")] = None,
        nbest_format: Annotated[
            Literal["moses", "joshua", "travatar", "jsonl", "csv"], typer.Option(help="The format of the n-best lists.")
        ] = "moses",
        distinct: Annotated[
            bool,
            typer.Option("--distinct/--derivations", help="N-best lists of different strings, or of all derivations."),
        ] = True,
        hypergraphs: Annotated[Path | None, typer.Option(help="JSONL with all that the search kept.")] = None,
        picture: Annotated[Path | None, typer.Option(help="SVG of the first sentence's derivation.")] = None,
        show: Annotated[bool, typer.Option("--show", help="Print derivations below translations.")] = False,
        decision: Annotated[
            str | None,
            typer.Option(help=f"A decision rule ({', '.join(RULES.names())}), or a file of `tune-decision`."),
        ] = None,
        decision_option: DecisionOptions = None,
        evidence: EvidenceChoice = None,
        nbest_size: NBestSize = None,
        sampling_option: SamplingOptions = None,
        documents: Documents = None,
        seed: Annotated[int, typer.Option(min=0, help="Seed of samples and of annealing.")] = 1,
        threads: Threads = None,
        cluster: Cluster = None,
        cluster_wait: ClusterWait = 10.0,
        send_model: SendModel = False,
    ) -> None:
        """Translate text: one line out for each line in, in the same order, as they become ready.

        Raw text becomes text as a person would write it: prepared as the model says, and its translation joined and
        given its case again. Prepared text (--prepared) becomes text in the model's words.

        By default a translation is the string of the best derivation; --decision chooses by other rules.
        """
        rule = None if decision is None else Decision.of(decision, decision_option or [], evidence, nbest_size)
        wanted = Wanted(details, links, nbest, nbest_out, nbest_format, distinct, hypergraphs, picture)
        for_rules = bool(decision_option or evidence or nbest_size or sampling_option)
        _refuse_for_rules(rule, for_rules, bool(force or climb or anneal or show or wanted.anything))
        _refuse_for_annealing(anneal, bool(annealing_option), bool(force or climb or wanted.forests))
        if documents is not None and not (anneal or (rule is not None and rule.evidence == "samples")):
            raise UsageError("--documents goes with --anneal, or with --decision and --evidence samples")
        if exhaustive:
            limits = replace(limits, algorithm="exhaustive")
        runtime = runtime_of(threads)
        translator = load_translator(model, weights, limits, space, climb=climb, markup=markup, runtime=runtime)
        parses = trees_for(translator.model, trees, runtime=runtime)
        lines, labels = read_source(source, documents)
        outputs = wanted.outputs
        if rule is not None:
            outputs = _deciding(rule, sampling_option, seed)
        elif anneal:
            outputs = replace(outputs, annealing=parse_options(Annealing, annealing_option or []), seed=seed)
        form = _restoring(translator.model, prepared=prepared, detokenise=detokenise, words=words)
        targets = None if force is None else read_lines(force)
        with (
            opened_runtime(cluster, threads, cluster_wait, model=model, send=send_model, runtime=runtime) as opened,
            beside_output(runtime=runtime).counter("translating", lines_in(source)) as more,
        ):
            stream = Stream(translator, model, prepared=prepared, restoration=form, runtime=opened.quiet())
            results = stream.results(lines, outputs, trees=parses, documents=labels, targets=targets)
            count = _write(results, wanted, show, more, stream.runtime)
            if force is not None:
                count.tell(stream.runtime)


def _refuse_for_rules(rule: Decision | None, for_rules: bool, for_derivations: bool) -> None:
    if rule is not None and for_derivations:
        raise UsageError(
            "--decision chooses strings, not derivations: it goes without --force, --climb, --anneal, --details, "
            "--links, --nbest-out, --hypergraphs, --picture and --show"
        )
    if rule is None and for_rules:
        raise UsageError("--decision-option, --evidence, --nbest-size and --sampling-option go with --decision")


def _refuse_for_annealing(anneal: bool, for_annealing: bool, for_searches: bool) -> None:
    if anneal and for_searches:
        raise UsageError("--anneal finds one derivation: no --force, --climb, --nbest-out or --hypergraphs")
    if for_annealing and not anneal:
        raise UsageError("--annealing-option goes with --anneal")


def _restoring(model: Model, *, prepared: bool, detokenise: bool, words: bool) -> TextPreparation:
    """What gives translations the form in which they are printed: that of raw input, unless the input was prepared."""
    if words and detokenise:
        raise UsageError("--words keeps tokens, --detokenise joins them; give one or the other")
    form = model.preparation(prepared=prepared or words)
    return replace(form, target_language=model.settings.target_language, tokenise=True) if detokenise else form


def _deciding(rule: Decision, sampling: Sequence[str] | None, seed: int) -> Outputs:
    """Ask for the strings that a decision rule chooses."""
    if rule.evidence != "samples":
        return Outputs(decision=rule)
    draw = Draw(parse_options(Sampling, sampling or [], rule.sampling), seed, features=False)
    return Outputs(decision=rule, samples=draw)


@dataclass
class _Count:
    """How many sentences have a derivation."""

    sentences: int = 0
    reached: int = 0
    too_large: int = 0

    def add(self, result: SentenceResult) -> None:
        """Count one more."""
        self.sentences += 1
        self.reached += result.has_derivation
        self.too_large += result.is_too_large

    def tell(self, runtime: Runtime) -> None:
        """Say how many forced translations were found."""
        runtime.note(f"{self.reached:,} of {self.sentences:,} translations can be reached")
        if self.too_large:
            runtime.warn(
                f"{self.too_large:,} sentences were left out: to look for all derivations needs more than --max-size"
            )


def _write(
    results: Iterable[SentenceResult], wanted: Wanted, show: bool, more: Callable[[int], None], runtime: Runtime
) -> _Count:
    """Print translations as they become ready, and write what is wanted on the side; `more` hears of each."""
    count = _Count()
    with contextlib.ExitStack() as stack:
        sides = wanted.opened(stack, runtime=runtime)
        for result in results:
            # At once, so that whoever interrupts finds whole lines.
            sys.stdout.write("".join(f"{line}\n" for line in [result.text, *(_drawn(result) if show else ())]))
            sys.stdout.flush()
            more(1)
            for side in sides:
                side.add(result)
            count.add(result)
    return count


def _drawn(result: SentenceResult) -> list[str]:
    """Draw the derivation of a sentence in text."""
    from dragoman.evaluation.figures.derivations import text_translation

    assert result.translation is not None
    lines = [*text_translation(result.translation).splitlines(), f"score {result.translation.score:.4f}"]
    return [f"    {line}" for line in lines]
