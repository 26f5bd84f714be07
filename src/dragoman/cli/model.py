"""`dragoman model`: look into a model, check it, cut it down to a test set, mix tables, add features or rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np
import typer
from numpy.typing import NDArray

from dragoman.cli.mixing import register_mix
from dragoman.cli.shell import terminal
from dragoman.cli.shell.flags import Force, Threads, command, command_group, refuse_existing
from dragoman.cli.shell.terminal import runtime_of
from dragoman.core.corpus import Bitext
from dragoman.core.errors import UsageError
from dragoman.core.options import parse_options
from dragoman.core.ragged import Ragged
from dragoman.core.registry import Registry
from dragoman.core.vocab import UNK
from dragoman.features import GLOBAL_FEATURES, SPARSE_FEATURES, Feature
from dragoman.formats.pharaoh import read_links
from dragoman.formats.tagged_text import TaggedText, read_factored, read_tags
from dragoman.model.bundle import Model, verify
from dragoman.model.corpus_grammar import CorpusGrammar
from dragoman.model.edit import bake, encode, filtered, with_grammar
from dragoman.model.grammar import Grammar
from dragoman.model.phrase_table import PhraseTable
from dragoman.model.rule_scores import AlignedText
from dragoman.training.rules.extract import aligned_text

Chosen = TypeVar("Chosen", bound=Feature)

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
            "dragoman model show model 'la maison' --most 5",
            "dragoman model show hierarchical-model 'ne [X] pas'",
        ],
    )
    def show(
        model: ModelFolder,
        phrase: Annotated[
            str | None, typer.Argument(help="A source phrase, as the model sees it; [X] is a hole in a rule.")
        ] = None,
        most: Annotated[int, typer.Option(min=1, help="How many translations at the most.")] = 20,
    ) -> None:
        """Show what a model holds, or the translations of one source phrase or source side of rules."""
        loaded = Model.load(model)
        if phrase is None:
            print_model(loaded, title=str(model))
        else:
            print_phrase(loaded, phrase, most)

    @command(group, "check", examples=["dragoman model check model"])
    def check(model: ModelFolder) -> None:
        """Read every array of a model and compare it with its checksum."""
        arrays = verify(model)
        Model.load(model)
        terminal.output().print(f"{model}: {arrays} arrays, all as they were written", markup=False)

    @command(group, "filter", examples=["dragoman model filter model --source test.fr --out small"])
    def filter_model(
        model: ModelFolder,
        source: Annotated[Path, typer.Option(help="Source text, prepared as the model's training text was.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        threads: Threads = None,
        force: Force = False,
    ) -> None:
        """Keep only the phrase pairs or rules that a given text can use; everything else stays."""
        refuse_existing(out, force)
        loaded = Model.load(model)
        small = filtered(loaded, encode(loaded, source), runtime=runtime_of(threads))
        small.save(out)
        print_model(small, title=str(out))

    register_mix(group)

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
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        feature: Annotated[
            list[str] | None,
            typer.Option(
                help=f"NAME or NAME:OPTION=VALUE,..; repeatable. One of {', '.join(SPARSE_FEATURES.names())}."
            ),
        ] = None,
        global_feature: Annotated[
            list[str] | None,
            typer.Option("--global", help=f"Likewise, one of {', '.join(GLOBAL_FEATURES.names())}; only for sampling."),
        ] = None,
        tagged: Annotated[
            Path | None, typer.Option(help="Target text with tags, house|NN, prepared as the training text was.")
        ] = None,
        text: Annotated[Path | None, typer.Option(help="Target text, if its tags are in a file of their own.")] = None,
        tags: Annotated[Path | None, typer.Option(help="The tags of the words of --text, line by line.")] = None,
        source: Annotated[
            Path | None,
            typer.Option(
                help="Prepared source text, if a feature is to learn from links that the model does not have."
            ),
        ] = None,
        target: Annotated[Path | None, typer.Option(help="Its translation, line by line.")] = None,
        alignment: Annotated[Path | None, typer.Option(help="Word links of both (Pharaoh format).")] = None,
        force: Force = False,
    ) -> None:
        """Give a model sparse or global features: every command then uses them, and tuners that scale weigh them.

        Names appear as features occur, such as twi.the (the target word `the` without a link), swd.ne, wp.maison~house,
        pl.s2t3 (two source and three target words), pb.NN:VB (tags on both sides of a phrase boundary), sd.reordered.3
        (a nonterminal that stands for three words is reordered). Their weights are 0 until they are tuned.

        A global feature is one number of a whole sentence or document. No search can score it: with a weight other than
        0 the model translates by sampling, with --anneal or with --decision and samples as evidence.
        """
        refuse_existing(out, force)
        if not (feature or global_feature):
            raise UsageError("no feature is named; expected --feature or --global")
        chosen = [_feature(SPARSE_FEATURES, one) for one in feature or []]
        chosen += [_feature(GLOBAL_FEATURES, one) for one in global_feature or []]
        loaded, runtime = Model.load(model), runtime_of()
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
        name: Annotated[str, typer.Option(help="What to call the grammar; its features begin with it.")],
        other: Annotated[Path, typer.Option("--from", help="The model folder that has the phrases or rules.")],
        out: Annotated[Path, typer.Option(help="The model folder to make.")],
        part: Annotated[
            str | None, typer.Option(help="Which of its phrase tables or grammars; needed if it has several.")
        ] = None,
        threads: Threads = None,
        force: Force = False,
    ) -> None:
        """Give a hierarchical model the phrases or rules of another model as a further grammar.

        So rules can come from one corpus and phrases from another. The new grammar has weights of its own, NAME.fwd and
        so on, and NAME.penalty, which counts its rules; they are untuned. Words that only the other model knows are
        added; the language models stay those of the first.
        """
        refuse_existing(out, force)
        runtime = runtime_of(threads)
        both = with_grammar(Model.load(model), name, Model.load(other), part=part, runtime=runtime)
        with runtime.stage(f"writing {out}"):
            both.save(out)
        print_model(both, title=str(out))


def _feature(features: Registry[Chosen], text: str) -> Feature:
    name, colon, options = text.partition(":")
    return parse_options(features.get(name), options.split(",") if colon else [])


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
        rows.append(
            (f"language model {name}", sum(language_model.sizes), " + ".join(f"{n:,}" for n in language_model.sizes))
        )
    for feature in model.sparse_features:
        rows.append((f"feature {feature.name}", "", f"{feature.prefix}.*; {_shown(feature.to_dict())}"))
    rows += [(f"global feature {name}", "", _shown(one.to_dict())) for name, one in model.global_features.items()]
    terminal.output().print(terminal.table(title, ["part", "size", ""], rows))


def _shown(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', '-')}={value}" for name, value in options.items())


def print_phrase(model: Model, phrase: str, most: int) -> None:
    """Print the translations of a source phrase, or side of a rule, with their scores."""
    ids = [-1 if word == _HOLE and model.grammars else model.source_vocab.id(word) for word in phrase.split()]
    console = terminal.output()
    grammars = {name: _rules_of(grammar, ids) for name, grammar in model.grammars.items()}
    parts: dict[str, PhraseTable | Grammar] = {**bake(model).tables, **grammars}
    for name, table in parts.items():
        found = table.lookup(ids)
        rows = []
        for row in found[:most]:
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
    """The rules with a source side, perhaps among others; those on demand are looked up for words around holes."""
    if isinstance(grammar, Grammar):
        return grammar
    hole = [UNK] * grammar.options.min_hole_source
    words = [word for symbol in side for word in (hole if symbol < 0 else [symbol])]
    return grammar.for_sentences(Ragged.of([words], np.int32))


def _spelt(model: Model, side: NDArray[np.int32]) -> str:
    """A target side in words; what fills the first hole of the source is [X1]."""
    words = model.target_vocab.text(np.maximum(side, 0)).split(" ") if len(side) else []
    return " ".join(word if symbol >= 0 else f"[X{-symbol}]" for word, symbol in zip(words, side, strict=True))
