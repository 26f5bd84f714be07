"""`dragoman translate`: text in, translations out, with n-best lists, hypergraphs and details on the side."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Documents, Flags, Threads, command
from dragoman.core.errors import UsageError
from dragoman.core.files import open_output, read_lines
from dragoman.core.options import options_from
from dragoman.core.progress import Progress, available_cores
from dragoman.decision import RULES
from dragoman.decision.evidence import Draw
from dragoman.decision.settings import Decision
from dragoman.formats.documents import read_documents
from dragoman.formats.hypergraph_jsonl import format_hypergraph
from dragoman.formats.nbest.format import NBEST_FORMATS
from dragoman.model.bundle import Model
from dragoman.sampling.annealing import annealed
from dragoman.sampling.sampler import Sampler
from dragoman.sampling.schedule import Annealing, Sampling
from dragoman.search.limits import HillClimbing, SearchLimits, SpaceLimits
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from dragoman.text.preparation import DEFAULT_LANGUAGE
from dragoman.text.tokenise import detokenise_lines

DecisionOptions = Annotated[
    list[str] | None, typer.Option("--decision-option", help="NAME=VALUE of one of the rule's options; repeatable.")
]
EvidenceChoice = Annotated[
    Literal["nbest", "hypergraph", "samples"] | None,
    typer.Option("--evidence", help="What the rule decides by; by default what suits it best."),
]
NBestSize = Annotated[
    int | None, typer.Option("--nbest-size", min=1, help="Hypotheses a sentence in n-best lists as evidence (1000).")
]
SamplingOptions = Annotated[
    list[str] | None, typer.Option("--sampling-option", help="NAME=VALUE for samples as evidence; repeatable.")
]


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
            "dragoman translate --model model --anneal --documents test.docs test.fr > test.out",
        ],
    )
    def translate(
        model: Annotated[Path, typer.Option(help="The model folder.")],
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
        weights: Annotated[Path | None, typer.Option(help="Weights in place of the model's: a file or a run.")] = None,
        prepared: Annotated[
            bool, typer.Option("--prepared", help="The text is tokenised (and lower-cased) already.")
        ] = False,
        detokenise: Annotated[bool, typer.Option("--detokenise", help="Join tokens as a person would write.")] = False,
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
        nbest: Annotated[int | None, typer.Option(min=1, help="How many hypotheses a sentence in --nbest-out.")] = None,
        nbest_out: Annotated[Path | None, typer.Option(help="Where the n-best lists go.")] = None,
        nbest_format: Annotated[
            Literal["moses", "joshua", "travatar", "jsonl"], typer.Option(help="The format of the n-best lists.")
        ] = "moses",
        distinct: Annotated[bool, typer.Option("--distinct", help="Only different strings in n-best lists.")] = False,
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
    ) -> None:
        """Translate text: one line out for each line in, in the same order, as they become ready.

        By default a translation is the string of the best derivation; --decision chooses by other rules.
        """
        rule = None
        if decision is not None:
            rule = Decision.of(decision, decision_option or [], evidence, nbest_size)
            _refuse_derivations(
                force, climb, anneal or None, details, links, nbest_out, hypergraphs, picture, show or None
            )
        elif decision_option or evidence or nbest_size or sampling_option:
            raise UsageError("--decision-option, --evidence, --nbest-size and --sampling-option go with --decision")
        if (nbest is None) != (nbest_out is None):
            raise UsageError("--nbest and --nbest-out go together")
        if anneal and (force or climb or nbest_out or hypergraphs):
            raise UsageError("--anneal finds one derivation: no --force, --climb, --nbest-out or --hypergraphs")
        if annealing_option and not anneal:
            raise UsageError("--annealing-option goes with --anneal")
        if documents is not None and not (anneal or (rule is not None and rule.evidence == "samples")):
            raise UsageError("--documents goes with --anneal, or with --decision and --evidence samples")
        if exhaustive:
            limits = replace(limits, algorithm="exhaustive")
        list_format = NBEST_FORMATS.get(nbest_format)()
        loaded = Model.load(model)
        translator = Translator.of(
            loaded,
            None if weights is None else loaded.read_weights(weights, terminal.progress()),
            limits=limits,
            space=space,
            climbing=None if climb is None else HillClimbing(start=climb),
            markup=markup,
            threads=threads or available_cores(),
        )
        preparation = loaded.preparation(prepared=prepared)
        sentences: Iterable[str] = read_lines(source)
        labels = None
        if documents is not None:
            sentences = list(sentences)
            labels = read_documents(documents, len(sentences))
        sentences = preparation.source(sentences)
        if rule is not None:
            draw = None
            if rule.evidence == "samples":
                draw = sampler(translator, sampling_option, seed, terminal.progress(), documents=labels)
            for batch in rule.gather(translator, sentences, draw=draw):
                texts = rule.rule.decide(batch, threads=translator.threads).lines()
                if detokenise:
                    texts = detokenise_lines(texts, loaded.settings.target_language or DEFAULT_LANGUAGE)
                print(*texts, sep="\n", flush=True)
            return
        with contextlib.ExitStack() as stack:
            details_to = None if details is None else stack.enter_context(open_output(details))
            links_to = None if links is None else stack.enter_context(open_output(links))
            nbest_to = None if nbest_out is None else stack.enter_context(open_output(nbest_out))
            graphs_to = None if hypergraphs is None else stack.enter_context(open_output(hypergraphs))
            number = unreached = 0
            cooling = options_from(Annealing, annealing_option or [])
            parts = (
                annealed(translator, sentences, cooling, seed=seed, documents=labels)
                if anneal
                else translator.searched(
                    sentences,
                    forests=nbest_to is not None or graphs_to is not None,
                    targets=None if force is None else read_lines(force),
                )
            )
            for part in parts:
                translations = part.translations(features=details_to is not None)
                texts = [translation.text for translation in translations]
                if detokenise:
                    texts = detokenise_lines(texts, loaded.settings.target_language or DEFAULT_LANGUAGE)
                for i, (text, translation) in enumerate(zip(texts, translations, strict=True)):
                    print(text)
                    if show:
                        print(_shown(translation))
                    if picture is not None and number + i == 0:
                        _draw(translation, picture)
                    unreached += not part.reached(i)
                    if details_to is not None:
                        details_to.write(_details(translation, number + i, part.reached(i)))
                    if links_to is not None:
                        links_to.write(_links(translation))
                    if graphs_to is not None and part.reached(i):
                        graphs_to.write(format_hypergraph(part.hypergraph(i), number + i).encode() + b"\n")
                sys.stdout.flush()
                if nbest_to is not None and nbest_out is not None and nbest is not None:
                    lists = part.nbest(nbest, distinct=distinct)
                    ids = tuple(range(number, number + len(part)))
                    for block in list_format.blocks(replace(lists, ids=ids), nbest_out, terminal.progress()):
                        nbest_to.write(block)
                number += len(part)
            if force is not None:
                terminal.progress().note(f"{number - unreached:,} of {number:,} translations can be reached")


def _refuse_derivations(*wanted: object) -> None:
    if any(thing is not None for thing in wanted):
        raise UsageError(
            "--decision chooses strings, not derivations: it goes without --force, --climb, --anneal, --details, "
            "--links, --nbest-out, --hypergraphs, --picture and --show"
        )


def sampler(
    translator: Translator,
    options: Sequence[str] | None,
    seed: int,
    progress: Progress,
    *,
    documents: Sequence[str] | None = None,
) -> Draw:
    """What draws samples as evidence; `documents` are labels of the lines."""
    chains = Sampler.of(translator, options_from(Sampling, options or []))
    return partial(chains.sample, seed=seed, documents=documents, features=False, progress=progress)


def _links(translation: Translation) -> bytes:
    links = sorted(link for phrase in translation.phrases for link in phrase.links)
    return (" ".join(f"{s}-{t}" for s, t in links) + "\n").encode()


def _details(translation: Translation, number: int, reached: bool) -> bytes:
    row = {"id": number, **asdict(translation)} if reached else {"id": number, "source": translation.source}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _shown(translation: Translation) -> str:
    from dragoman.evaluation.figures.derivation_plot import text_derivation

    drawn = text_derivation(translation.source.split(), translation.text.split(), translation.phrases)
    return "".join(f"    {line}\n" for line in [*drawn.splitlines(), f"score {translation.score:.4f}"]).rstrip("\n")


def _draw(translation: Translation, path: Path) -> None:
    from dragoman.evaluation.figures.derivation_plot import draw_derivation
    from dragoman.evaluation.figures.figures import figure_svg

    figure = draw_derivation(translation.source.split(), translation.text.split(), translation.phrases)
    with open_output(path) as stream:
        stream.write(figure_svg(figure).encode())
