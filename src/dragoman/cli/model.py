"""`dragoman model`: show, check or filter a model, interpolate phrase tables, add features or grammars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Flags, Force, Machine, Prepared, command, command_group, refuse_existing
from dragoman.core.corpus import UNK, Bitext
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.core.ragged import Ragged
from dragoman.features import GLOBAL_FEATURES, SPARSE_FEATURES, Feature, parse_feature
from dragoman.formats.pharaoh import read_links
from dragoman.formats.tagged_text import TaggedText, read_factored, read_tags
from dragoman.model.bundle import Model, verify
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.edit import bake, encode, filter_to_text, with_grammar
from dragoman.model.grammar import Grammar
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.rule_scores import AlignedText
from dragoman.training.adapt import tuning_bitext
from dragoman.training.align import ALIGNERS
from dragoman.training.mix import Mixing, TuningText, mix_models
from dragoman.training.rules.extract import aligned_text

#: A nonterminal in a source side.
_HOLE = "[X]"

ModelFolder = Annotated[Path, typer.Argument(help="A model folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = command_group(app, "model")

    @command(
        group,
        "show",
        examples=[
            "dragoman model show model",
            "dragoman model show model 'la maison' --limit 5",
            "dragoman model show hierarchical-model 'ne [X] pas'",
        ],
    )
    def show(
        model: ModelFolder,
        phrase: Annotated[
            str | None, typer.Argument(help="A tokenised source phrase; [X] is a nonterminal of a rule.")
        ] = None,
        limit: Annotated[int, typer.Option(min=1, help="Maximum number of translations.")] = 20,
    ) -> None:
        """Show the parts of a model, or the translations of a source phrase or of the source side of a rule."""
        loaded = Model.load(model)
        if phrase is None:
            print_model(loaded, title=str(model))
        else:
            print_phrase(loaded, phrase, limit)

    @command(group, "check", examples=["dragoman model check model"])
    def check(model: ModelFolder) -> None:
        """Verify the checksums of all arrays of a model."""
        arrays = verify(model)
        Model.load(model)
        terminal.output().print(f"{model}: {arrays} arrays, all as they were written", markup=False)

    @command(group, "filter", examples=["dragoman model filter model --source test.fr --out small"])
    def filter_model(
        model: ModelFolder,
        source: Annotated[Path, typer.Option(help="Source text, tokenised like the model's training text.")],
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        machine: Machine = Machine(),
        force: Force = False,
    ) -> None:
        """Keep only the phrase pairs or rules that can be used for a given text; everything else is unchanged."""
        refuse_existing(out, force)
        loaded = Model.load(model)
        small = filter_to_text(loaded, encode(loaded, source), runtime=machine.runtime())
        small.save(out)
        print_model(small, title=str(out))

    _add_mix(group)

    @command(group, "collapse", examples=["dragoman model collapse mixture --weights run --out plain"])
    def collapse(
        model: ModelFolder,
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        weights: Annotated[
            Path | None,
            typer.Option(help="A weights file or the folder of a tuning run. Default: the model's weights."),
        ] = None,
        machine: Machine = Machine(),
        force: Force = False,
    ) -> None:
        """Write a model with mixtures (mix.* among its weights) as a plain one.

        Tables, grammars, orientations and language models are interpolated as the weights say, and become the model's
        weights without mix.*. The result translates the same.
        """
        refuse_existing(out, force)
        loaded, runtime = Model.load(model), machine.runtime()
        if not loaded.interpolation_weight_names:
            raise UsageError(f"{model} has no mixture; expected a model with interpolation weights (mix.*)")
        with runtime.stage(f"writing {out}"):
            plain = bake(loaded, None if weights is None else loaded.read_weights(weights, runtime=runtime))
            plain.save(out)
        print_model(plain, title=str(out))

    @command(
        group,
        "add-features",
        examples=[
            "dragoman model add-features model --feature phrase-length --feature word-insertion --out richer",
            "dragoman model add-features model --feature word-pair:source-words=80,target-words=80 --out richer",
            "dragoman model add-features model --feature boundary-tags --tagged train.tagged --out richer",
            "dragoman model add-features m --feature boundary-tags --text train.en --tags train.tags --out richer",
            "dragoman model add-features hierarchical-model --feature structural-distortion:grain=fine --out richer",
            "dragoman model add-features model --global length_ratio --global lexical_consistency --out richer",
        ],
    )
    def add_features(
        model: ModelFolder,
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        feature: Annotated[
            list[str] | None,
            typer.Option(
                help=f"NAME or NAME:OPTION=VALUE,...; repeatable. One of {', '.join(SPARSE_FEATURES.names())}."
            ),
        ] = None,
        global_feature: Annotated[
            list[str] | None,
            typer.Option(
                "--global",
                help=f"The same for global features: {', '.join(GLOBAL_FEATURES.names())}; only for sampling.",
            ),
        ] = None,
        tagged: Annotated[
            Path | None, typer.Option(help="Tagged target text (house|NN), tokenised like the training text.")
        ] = None,
        text: Annotated[Path | None, typer.Option(help="Target text, if the tags are in a separate file.")] = None,
        tags: Annotated[Path | None, typer.Option(help="The tags of --text, line by line.")] = None,
        source: Annotated[
            Path | None,
            typer.Option(help="Tokenised source text, for features that need a word alignment that the model lacks."),
        ] = None,
        target: Annotated[Path | None, typer.Option(help="Target text of --source, line by line.")] = None,
        alignment: Annotated[Path | None, typer.Option(help="Word alignment of both (Pharaoh format).")] = None,
        force: Force = False,
    ) -> None:
        """Add sparse or global features to a model.

        Sparse features get their names as they occur, such as twi.the (the target word `the` is not aligned), swd.ne,
        wp.maison~house, pl.s2t3 (two source and three target words), pb.NN:VB (tags on both sides of a phrase
        boundary), sd.reordered.3 (a nonterminal that covers three words is reordered). Their weights are 0 until they
        are tuned; use a method that scales to many weights, such as mira or pro.

        A global feature is a number for a whole sentence or document. Beam search cannot score it: if its weight is
        not 0, translate with --anneal, or with --decision and samples as evidence.
        """
        refuse_existing(out, force)
        if not (feature or global_feature):
            raise UsageError("no feature is given; expected --feature or --global")
        chosen: list[Feature] = [parse_feature(SPARSE_FEATURES, one) for one in feature or []]
        chosen += [parse_feature(GLOBAL_FEATURES, one) for one in global_feature or []]
        loaded, runtime = Model.load(model), Machine().runtime()
        labelled = _tagged(tagged, text, tags)
        if labelled is not None and loaded.settings.lowercase:
            labelled = labelled.lowercased()
        linked = _aligned(source, target, alignment)
        richer = loaded.with_features(chosen, tagged=labelled, aligned=linked, runtime=runtime)
        with runtime.stage(f"writing {out}"):
            richer.save(out)
        print_model(richer, title=str(out))

    @command(
        group,
        "add-grammar",
        examples=[
            "dragoman model add-grammar hierarchical --name phrases --from phrase-based --out both",
            "dragoman model add-grammar hierarchical --name general --from other-hierarchical --part tm --out both",
        ],
    )
    def add_grammar(
        model: ModelFolder,
        name: Annotated[str, typer.Option(help="Name of the new grammar; its features begin with it.")],
        other: Annotated[Path, typer.Option("--from", help="The model folder to take phrases or rules from.")],
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        part: Annotated[
            str | None, typer.Option(help="Name of the phrase table or grammar; needed if there are several.")
        ] = None,
        machine: Machine = Machine(),
        force: Force = False,
    ) -> None:
        """Add the phrases or rules of another model to a hierarchical model, as one more grammar.

        Rules can then come from one corpus and phrases from another. The new grammar has its own weights, NAME.fwd and
        so on, and NAME.penalty, which counts its rules; they are untuned. Words that only the other model knows are
        added; the language models do not change.
        """
        refuse_existing(out, force)
        runtime = machine.runtime()
        both = with_grammar(Model.load(model), name, Model.load(other), part=part, runtime=runtime)
        with runtime.stage(f"writing {out}"):
            both.save(out)
        print_model(both, title=str(out))


def _add_mix(group: typer.Typer) -> None:
    """Add `dragoman model mix`."""

    @command(
        group,
        "mix",
        examples=[
            "dragoman model mix --table in=model1 --table out=model2 --source dev.fr --reference dev.en --out mixed",
            "dragoman model mix --table in=model1 --table out=model2 --weights 0.7,0.3 --out mixed",
            "dragoman model mix --table a=m1 --table b=m2 --table c=m3 --weights uniform --keep-components --out mixed",
        ],
    )
    def mix(
        table: Annotated[
            list[str], typer.Option(help="NAME=MODEL: a model whose phrase table or grammar takes part; repeatable.")
        ],
        out: Annotated[Path, typer.Option(help="The model folder to create.")],
        mixing: Annotated[Mixing, Flags("Mixture")],
        source: Annotated[Path | None, typer.Option(help="Source text of the tuning set.")] = None,
        reference: Annotated[Path | None, typer.Option(help="Reference translation of the tuning set.")] = None,
        base: Annotated[
            Path | None, typer.Option(help="Model to take all other parts from. Default: the first.")
        ] = None,
        alignment: Annotated[
            Path | None, typer.Option(help="Word alignment of the tuning set from another tool (Pharaoh format).")
        ] = None,
        align_with: Annotated[
            str | None,
            typer.Option(help="SOURCE,TARGET: tokenised parallel text to align together with the tuning set."),
        ] = None,
        aligner: Annotated[str, typer.Option(help=f"One of {', '.join(ALIGNERS.names())}.")] = "auto",
        aligner_option: Annotated[
            list[str] | None, typer.Option(help="NAME=VALUE for an option of the aligner; repeatable.")
        ] = None,
        prepared: Prepared = False,
        machine: Machine = Machine(),
        force: Force = False,
    ) -> None:
        """Interpolate the phrase tables, or the grammars, of several models linearly.

        The result has the phrase pairs or rules of all tables; one that a table lacks has probability 0 there. Each
        score has its own interpolation weights, which sum to 1. By default they minimise the perplexity of the phrase
        pairs or rules of a tuning set. To extract these, the tuning set is aligned together with the tables' short
        phrases, unless --alignment or --align-with is given.

        With --keep-components the interpolation weights become weights of the model, such as mix.tm.fwd.in, which
        `dragoman tune --method pro-mix` tunes together with all others.
        """
        refuse_existing(out, force)
        runtime = machine.runtime()
        models = {name: Model.load(path) for name, path in parse_named(table, "--table", "MODEL").items()}
        if (source is None) != (reference is None):
            raise UsageError("--source and --reference go together")
        tuning = None
        if source is not None and reference is not None:
            text = next(iter(models.values())).preparation(prepared=prepared)
            beside = None if align_with is None else Bitext.read(*parse_two_files(align_with, "--align-with"))
            tuning = TuningText(tuning_bitext(source, reference, text, runtime=runtime), alignment, beside)
        mixed = mix_models(
            models,
            mixing,
            tuning=tuning,
            base=None if base is None else Model.load(base),
            aligner=parse_options(ALIGNERS.get(aligner), aligner_option or []),
            runtime=runtime,
        )
        with runtime.stage(f"writing {out}"):
            mixed.save(out)
        sizes = [grammar.summary for grammar in mixed.grammars.values()]
        sizes += [f"{len(table):,} phrase pairs" for table in mixed.tables.values()]
        print_interpolation_weights(mixed, title=f"{out}: {sizes[0]}")


def _tagged(tagged: Path | None, text: Path | None, tags: Path | None) -> TaggedText | None:
    if (text is None) != (tags is None):
        raise UsageError("--text and --tags go together")
    if tagged is not None and text is not None:
        raise UsageError("--tagged holds words and tags, so that --text and --tags are not needed")
    if tagged is not None:
        return read_factored(tagged)
    return None if text is None or tags is None else read_tags(text, tags)


def _aligned(source: Path | None, target: Path | None, alignment: Path | None) -> AlignedText | None:
    if source is None or target is None or alignment is None:
        if source or target or alignment:
            raise UsageError("--source, --target and --alignment go together")
        return None
    bitext = Bitext.read(source, target)
    return aligned_text(bitext, read_links(alignment, bitext))


def print_model(model: Model, title: str) -> None:
    """Print the sizes of a model's parts."""
    rows: list[tuple[object, ...]] = [
        ("source words", len(model.source_vocab), ""),
        ("target words", len(model.target_vocab), ""),
    ]
    for name, table in model.tables.items():
        details = f"{len(table.sources):,} source phrases; scores {', '.join(table.score_names)}"
        if table.components is not None:
            details += f"; mixture of {', '.join(table.components.names)}"
        rows.append((f"phrase table {name}", len(table), details))
    for name, grammar in model.grammars.items():
        scores = f"scores {', '.join(grammar.score_names)}"
        if isinstance(grammar, Grammar) and grammar.components is not None:
            scores += f"; mixture of {', '.join(grammar.components.names)}"
        if isinstance(grammar, CorpusGrammar):
            sample = f"from {grammar.sample:,} places of a source side" if grammar.sample else "from all places"
            rows.append(
                (f"grammar {name}", len(grammar.text.source), f"sentence pairs; rules on demand {sample}; {scores}")
            )
        else:
            sides = np.count_nonzero(np.diff(grammar.first_rule))
            rows.append((f"grammar {name}", len(grammar), f"{sides:,} source sides; {scores}"))
    rows += [(f"reordering {name}", 6, "msd-bidirectional-fe") for name in model.reorderings]
    for name, language_model in model.language_models.items():
        details = " + ".join(f"{n:,}" for n in language_model.sizes)
        if language_model.components:
            details += f"; mixture of {', '.join(language_model.components)}"
        if language_model.classes is not None:
            details += "; over word classes"
        rows.append((f"language model {name}", sum(language_model.sizes), details))
    for side, classes in model.word_classes.items():
        rows.append((f"word classes {side}", classes.number, f"of {len(classes):,} words"))
    for feature in model.sparse_features:
        rows.append((f"feature {feature.name}", "", f"{feature.prefix}.*; {_shown(feature.to_dict())}"))
    rows += [(f"global feature {name}", "", _shown(one.to_dict())) for name, one in model.global_features.items()]
    terminal.output().print(terminal.table(title, ["part", "size", ""], rows))


def _shown(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', '-')}={value}" for name, value in options.items())


def print_phrase(model: Model, phrase: str, limit: int) -> None:
    """Print the translations of a source phrase, or of the source side of a rule, with their scores."""
    ids = [-1 if word == _HOLE and model.grammars else model.source_vocab.id(word) for word in phrase.split()]
    console = terminal.output()
    plain = bake(model)
    grammars = {name: _rules_of(grammar, ids) for name, grammar in plain.grammars.items()}
    parts: dict[str, PhraseTable | Grammar] = {**plain.tables, **grammars}
    for name, table in parts.items():
        found = table.lookup(ids)
        rows = []
        for row in found[:limit]:
            target = _spelt(model, table.targets[row if isinstance(table, Grammar) else int(table.target_ids[row])])
            links = (
                ""
                if table.alignments is None
                else " ".join(f"{link >> 8}-{link & 255}" for link in table.alignments[row].tolist())
            )
            scores = np.exp(table.log_scores[row].astype(np.float64)).tolist()
            rows.append((target, *scores, links))
        title = f"{name}: {len(found)} translations of '{phrase}'"
        console.print(terminal.table(title, ["target", *table.score_names, "links"], rows))


def _rules_of(grammar: Grammar | CorpusGrammar, side: Sequence[int]) -> Grammar:
    """Return a grammar that has the rules of a source side; rules on demand are extracted for it."""
    if isinstance(grammar, Grammar):
        return grammar
    hole = [UNK] * grammar.options.min_hole_source
    words = [word for symbol in side for word in (hole if symbol < 0 else [symbol])]
    return grammar.for_sentences(Ragged.of([words], np.int32))


def _spelt(model: Model, side: NDArray[np.int32]) -> str:
    """Write a target side in words; [X1] is the first nonterminal of the source side."""
    words = model.target_vocab.text(np.maximum(side, 0)).split(" ") if len(side) else []
    return " ".join(word if symbol >= 0 else f"[X{-symbol}]" for word, symbol in zip(words, side, strict=True))


def parse_named(texts: Sequence[str], flag: str, what: str) -> dict[str, str]:
    """Parse NAME=VALUE texts; refuse names and values that are given twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{flag} is '{text}'; expected NAME={what}")
        if name in found:
            raise UsageError(f"{flag} {name} is given twice; expected different names")
        same = [other for other, before in found.items() if before == value]
        if same:
            raise UsageError(f"{flag} {name} is {value}, and so is {same[0]}; expected different values")
        found[name] = value
    return found


def parse_two_files(text: str, flag: str) -> tuple[Path, Path]:
    """Parse SOURCE,TARGET."""
    source, comma, target = text.partition(",")
    if not (source and comma and target) or "," in target:
        raise UsageError(f"{flag} is '{text}'; expected two files, SOURCE,TARGET")
    return Path(source), Path(target)


def print_interpolation_weights(model: Model, title: str) -> None:
    """Print the interpolation weights of a mixture, a row for each score."""
    about = model.history["mixture"]
    tables, shares = about["tables"], about["shares"]
    scores = dict.fromkeys(name.removeprefix("mix.").rpartition(".")[0] for name in shares)
    rows = [(score, *(f"{shares[f'mix.{score}.{table}']:.4f}" for table in tables)) for score in scores]
    terminal.output().print(terminal.table(title, ["score", *tables], rows))
