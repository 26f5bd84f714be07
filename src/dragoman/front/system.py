"""Systems: models with weights that translate raw text; loading and training them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, overload

from dragoman.core.checkpoint import StageCheckpoint
from dragoman.core.display import html_table, pluralise
from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.hypergraph import Hypergraph
from dragoman.core.nbest import NBest
from dragoman.core.options import split_options
from dragoman.core.progress import Progress, available_cores, choose_progress
from dragoman.core.runtime import RequiredFile, Runtime
from dragoman.core.samples import Samples
from dragoman.core.workspace import Workspace, free_memory, memory_size
from dragoman.decision.settings import Decision
from dragoman.features import SPARSE_FEATURES, parse_feature
from dragoman.formats.penn_trees import TreeFile
from dragoman.front.run import TuningRun
from dragoman.front.texts import File, Sentences, Text, TextFiles, file_of, files_of, open_runtime, sentences_of
from dragoman.model.bundle import Model, model_digest
from dragoman.model.edit import bake
from dragoman.sampling.draw import Draw
from dragoman.sampling.schedule import Sampling
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from dragoman.training.align import ALIGNERS
from dragoman.training.lm.kneser_ney import KneserNey
from dragoman.training.phrase_model import PhraseModel
from dragoman.training.pipeline import TrainRecipe, train_model
from dragoman.training.prepare import Cleaning, Preparation, prepare_bitext, read_target
from dragoman.training.refinements import Refinements
from dragoman.training.rules.model import RuleModel
from dragoman.translation.stream import Outputs, SentenceResult, Stream
from dragoman.tuning import TUNERS
from dragoman.tuning.problems.evidence import Decoding
from dragoman.tuning.runs.job import HeldOut, Job
from dragoman.tuning.runs.loop import Loop
from dragoman.tuning.runs.run import Run
from dragoman.tuning.runs.validator import Validation


class System:
    """A model with weights and search limits, to translate with, to inspect, and to tune.

    Text is raw: it is tokenised (and lower-cased) as in training, and translations are detokenised and recased. With
    `prepared=True`, input and output are tokenised.

    >>> import dragoman as dm
    >>> model = dm.example()
    >>> model.translate("Un homme dort dans la rue.")
    'A man sleeps in the street.'
    >>> model.translate(["Un chien noir court."], decision="mbr", scale=0.5)
    ['A black dog runs.']
    >>> model.nbest("un homme dort", 2).texts()
    ['a man sleeps', 'a sleeps man']
    >>> model.with_limits(reordering_limit=0).hypergraph("un homme dort")
    Hypergraph(8 nodes, 11 edges, 15 features)
    >>> model.with_weights({"lm": 1.0}).weights["lm"]
    1.0
    """

    def __init__(
        self,
        model: Model,
        weights: Weights | None = None,
        *,
        folder: File | None = None,
        limits: SearchLimits = SearchLimits(),
        space: SpaceLimits = SpaceLimits(),
        threads: int | None = None,
    ):
        self.model = model
        self.weights = model.weights if weights is None else weights
        self.folder = None if folder is None else Path(folder)
        self.limits, self.space = limits, space
        self.threads = threads or available_cores()

    def __repr__(self) -> str:
        settings = self.model.settings
        kind = "hierarchical" if self.model.kind == "chart" else "phrase-based"
        pair = "-".join(filter(None, (settings.source_language, settings.target_language)))
        parts = repr(self.model).removeprefix("Model(").removesuffix(")")
        weights = pluralise(len(self.model.weight_names), "weight")
        return f"System({self.folder or 'not saved'}: {' '.join(filter(None, (kind, pair)))}; {parts}; {weights})"

    def _repr_html_(self) -> str:
        rows = [(name, self.weights.get(name, 0.0)) for name in self.model.weight_names]
        return html_table(["feature", "weight"], rows, repr(self))

    def with_weights(self, weights: Run | Weights | Mapping[str, float] | File) -> System:
        """Return the same system with other weights, from a run, from a file, or from a mapping.

        Weights that are not in a mapping keep their values; files and runs must have all of them.
        """
        if isinstance(weights, Run):
            chosen = self.model.read_weights(weights.folder)
        elif isinstance(weights, Mapping):
            unknown = [name for name in weights if not self.model.can_weigh(name)]
            if unknown:
                raise UsageError(
                    f"the model has no feature '{unknown[0]}'; it has {', '.join(self.model.weight_names)}"
                )
            chosen = weights if isinstance(weights, Weights) else self.weights.updated(weights)
        else:
            chosen = self.model.read_weights(weights)
        return self._shared(chosen, self.threads)

    def with_threads(self, threads: int) -> System:
        """Return the same system with another number of threads; results do not depend on it."""
        return self._shared(self.weights, threads)

    def with_limits(self, **options: Any) -> System:
        """Return the same system with other limits, such as `pop_limit=1000` or `reordering_limit=12`."""
        limits, space = split_options(options, SearchLimits, SpaceLimits)
        return self._changed(limits=replace(self.limits, **limits), space=replace(self.space, **space))

    def collapsed(self) -> System:
        """Return the same system with each mixture as a plain table, grammar or language model, as its weights say."""
        model = bake(self.model, self.weights)
        return System(model, limits=self.limits, space=self.space, threads=self.threads)

    def _shared(self, weights: Weights, threads: int) -> System:
        """Return the system with other weights or threads; reuse the parts of the translator that do not change."""
        other = self._changed(weights=weights)
        other.threads = threads
        if "translator" in self.__dict__:
            other.__dict__["translator"] = self.translator.reweighted(weights, runtime=Runtime(threads=threads))
        return other

    def _changed(self, **values: Any) -> System:
        now = {"weights": self.weights, "limits": self.limits, "space": self.space}
        return System(self.model, folder=self.folder, threads=self.threads, **{**now, **values})

    @cached_property
    def translator(self) -> Translator:
        """The decoder, which works on prepared text."""
        runtime = Runtime(threads=self.threads)
        return Translator.of(self.model, self.weights, limits=self.limits, space=self.space, runtime=runtime)

    @overload
    def translate(self, text: str, **options: Any) -> str: ...
    @overload
    def translate(self, text: PathLike[str] | Iterable[str], **options: Any) -> list[str]: ...
    def translate(
        self,
        text: Sentences,
        *,
        decision: str | Decision | None = None,
        evidence: str | None = None,
        samples: int = 1000,
        seed: int = 1,
        trees: Sentences | None = None,
        prepared: bool = False,
        cluster: str | None = None,
        **options: Any,
    ) -> str | list[str]:
        """Translate a text: a string (one sentence per line), a list of lines, or a file (a `Path`).

        `decision` is the name of a decision rule, such as "mbr" or "consensus", or a file from `tune-decision`; by
        default the best derivation is the translation. `evidence` is the evidence of the rule ("nbest", "hypergraph",
        or "samples" with `samples` samples per chain), and `options` are options of the rule. `trees` are parse trees
        of the sentences in Penn brackets, given like the text, for models with tree features. `cluster` names workers
        to use instead of this process ("local:4", "tcp://host:8786", "slurm.toml"); the model must have been saved.
        """
        if decision is None and (evidence or options):
            raise UsageError("evidence and options need a decision")
        outputs = Outputs()
        if decision is not None:
            outputs = _decision_outputs(_decision_of(decision, evidence, options), samples, seed)
        with self._runtime(cluster) as runtime:
            stream = Stream(self.translator, self.folder, prepared=prepared, runtime=runtime)
            found = [one.text for one in stream.results(sentences_of(text), outputs, trees=self._trees(trees))]
        return "\n".join(found) if isinstance(text, str) else found

    def _runtime(self, cluster: str | None) -> AbstractContextManager[Runtime]:
        """Open a runtime: threads of this process, or a cluster that has the model."""
        if cluster is None:
            return open_runtime(None, self.threads)
        if self.folder is None:
            raise UsageError("a cluster loads the model from its folder; call save first")
        return open_runtime(cluster, self.threads, needs=[RequiredFile.of(self.folder, model_digest)])

    @overload
    def explain(self, line: str, *, tree: str | None = None, prepared: bool = False) -> Translation: ...  # type: ignore[overload-overlap]
    @overload
    def explain(
        self, line: PathLike[str] | Iterable[str], *, tree: Sentences | None = None, prepared: bool = False
    ) -> list[Translation]: ...
    def explain(
        self, line: Sentences, *, tree: Sentences | None = None, prepared: bool = False
    ) -> Translation | list[Translation]:
        """Translate one sentence and return the derivation: phrases or rules, word alignment, score and features.

        Print it to read it; notebooks show it as a table. For lines or a file (a `Path`), return a list.

        >>> import dragoman as dm
        >>> print(dm.example().explain("Un chat dort.")) # doctest: +ELLIPSIS
        a cat sleeps .
        score ...
        un   → a       0-0
        chat → cat     1-1
        dort → sleeps  2-2
        .    → .       3-3
        word_penalty -4, ...
        """
        results = self._results(line, Outputs(features=True), tree, prepared)
        found: list[Translation] = [one.translation.explained() for one in results if one.translation is not None]
        return found[0] if isinstance(line, str) else found

    def nbest(
        self,
        line: Sentences,
        size: int = 100,
        *,
        distinct: bool = True,
        tree: Sentences | None = None,
        prepared: bool = False,
    ) -> NBest:
        """Return the n-best list of a sentence with features, of distinct strings unless `distinct` is False.

        For lines or a file (a `Path`), return a list for each sentence.
        """
        results = self._results(line, Outputs(nbest=size, distinct=distinct), tree, prepared)
        return NBest.concatenate([one.nbest for one in results if one.nbest is not None])

    @overload
    def hypergraph(self, line: str, *, tree: str | None = None, prepared: bool = False) -> Hypergraph: ...  # type: ignore[overload-overlap]
    @overload
    def hypergraph(
        self, line: PathLike[str] | Iterable[str], *, tree: Sentences | None = None, prepared: bool = False
    ) -> list[Hypergraph]: ...
    def hypergraph(
        self, line: Sentences, *, tree: Sentences | None = None, prepared: bool = False
    ) -> Hypergraph | list[Hypergraph]:
        """Return the search hypergraph of a sentence; for lines or a file (a `Path`), a list of hypergraphs."""
        results = self._results(line, Outputs(hypergraph=True), tree, prepared)
        found = [one.hypergraph for one in results if one.hypergraph is not None]
        return found[0] if isinstance(line, str) else found

    def sample(
        self,
        line: Sentences,
        samples: int = 1000,
        *,
        seed: int = 1,
        tree: Sentences | None = None,
        prepared: bool = False,
        **options: Any,
    ) -> Samples:
        """Sample derivations of a sentence from the model's distribution; `options` are options of `Sampling`.

        For lines or a file (a `Path`), sample derivations of each sentence.

        >>> import dragoman as dm
        >>> samples = dm.example().sample("Un chat dort.", 100)
        >>> int(samples.counts.sum())  # from two chains
        200
        """
        draw = Draw(Sampling.from_dict({"samples": samples, **options}), seed)
        results = self._results(line, Outputs(samples=draw), tree, prepared)
        return Samples.concatenate([one.samples.samples for one in results if one.samples is not None])

    def _results(
        self, text: Sentences, outputs: Outputs, tree: Sentences | None, prepared: bool
    ) -> Iterator[SentenceResult]:
        """Yield the results of sentences; a string is one sentence, even if it has line ends."""
        lines = [text.replace("\n", " ")] if isinstance(text, str) else sentences_of(text)
        given = [tree.replace("\n", " ")] if isinstance(tree, str) else tree
        stream = Stream(self.translator, self.folder, prepared=prepared, runtime=self.translator.runtime)
        return stream.results(lines, outputs, trees=self._trees(given, "tree"))

    def _trees(self, trees: Sentences | None, name: str = "trees") -> TreeFile | None:
        """Open parse trees, if the model has tree features."""
        given = trees if trees is None or isinstance(trees, PathLike) else sentences_of(trees)
        return self.model.open_trees(given, name=name)

    def tune(
        self,
        source: File,
        reference: File | Sequence[File],
        *,
        out: File,
        method: str = "mira",
        metric: str = "bleu",
        options: Mapping[str, Any] | None = None,
        held_out: tuple[File, File | Sequence[File]] | None = None,
        trees: File | None = None,
        held_out_trees: File | None = None,
        seed: int = 1,
        prepared: bool = False,
        restart: bool = False,
        resume_from: int | None = None,
        cluster: str | None = None,
        progress: Progress | bool = True,
        **settings: Any,
    ) -> TuningRun:
        """Tune the weights on a text with references; the folder `out` holds the run, and an interrupted run continues.

        Texts are files, and the model must have been saved, because the run refers to them. `restart` discards a run
        with other options or texts. `options` are options of the method; `settings` are those of the loop and of
        decoding (`iterations`, `nbest`, `evidence`, `max_minutes`, ...), see the reference of `dragoman tune`. Online
        methods, and with `keep="held-out"` all methods, are validated on the `held_out` source and references. `trees`
        and `held_out_trees` are files of parse trees of the sources, for models with tree features. `resume_from`
        continues after that iteration of the run and discards later ones, for example damaged ones. `cluster` is as in
        `translate`.

        >>> import dragoman as dm, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> model = dm.example(folder)
        >>> run = model.tune(f"{folder}/dev.fr", f"{folder}/dev.en", out=f"{folder}/run", iterations=1,
        ...                  progress=False)
        >>> model.with_weights(run).translate("Un homme dort.")
        'A man sleeps.'
        """
        if self.folder is None:
            raise UsageError("only a saved model can be tuned; call save first")
        loop, decoding, validation = split_options(settings, Loop, Decoding, Validation)
        start = self.weights if dict(self.weights) != dict(self.model.weights) else None
        job = Job(
            model=self.folder,
            source=file_of(source),
            references=files_of(reference),
            tuner=TUNERS.get(method).from_dict(options or {}),
            metric=metric,
            loop=Loop.from_dict(loop),
            decoding=Decoding.from_dict(decoding),
            validation=Validation.from_dict(validation),
            held_out=_held_out(held_out, held_out_trees),
            trees=None if trees is None else Path(trees),
            limits=self.limits,
            space=self.space,
            start=start,
            prepared=prepared,
            seed=seed,
        )
        with self._runtime(cluster) as runtime:
            watched = replace(runtime, progress=choose_progress(progress))
            job.run(Path(out), restart=restart, resume_from=resume_from, runtime=watched)
        return TuningRun(out)

    def save(self, folder: File) -> System:
        """Save the model with these weights to a folder, and return the saved system."""
        model = replace(self.model, weights=self.weights)
        model.save(folder)
        return System(model, folder=folder, limits=self.limits, space=self.space, threads=self.threads)


def load(folder: File, *, threads: int | None = None) -> System:
    """Load a model from a folder written by `train`, `System.save` or `dragoman train`.

    Arrays are memory-mapped, so that loading takes no time and processes share them.

    >>> import dragoman as dm, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> dm.example().save(f"{folder}/model").folder == dm.load(f"{folder}/model").folder
    True
    """
    return System(Model.load(folder), folder=folder, threads=threads)


def train(
    source: Text,
    target: Text,
    *,
    out: File,
    aligner: str = "auto",
    aligner_options: Mapping[str, Any] | None = None,
    lm: Mapping[str, Any] | None = None,
    hierarchical: bool = False,
    with_phrases: bool = False,
    on_demand: bool = False,
    rules: Mapping[str, Any] | None = None,
    second_lm_text: Text | None = None,
    features: Sequence[str] = (),
    memory: str | int | None = None,
    temporary: File | None = None,
    threads: int | None = None,
    cluster: str | None = None,
    progress: Progress | bool = True,
    **options: Any,
) -> System:
    """Train a model from a parallel text (files or lists of lines), save it to the folder `out`, and return it.

    Languages come from the files' suffixes, or from `source_language` and `target_language`. `lm` are options of the
    language model (`order`, ...); `options` are options of text preparation, cleaning, the phrase table and word
    classes (`classes=50`, `class_lm_order=7`, or `preset="moses"` for none), see the reference of `dragoman train`. A
    `hierarchical` model has rules with nonterminals instead of phrases, or both (`with_phrases`), or the aligned text
    from which rules are extracted when needed (`on_demand`); `rules` are options of rules (`max_span`, ...).
    `second_lm_text` is a text of the target language for a second language model, and `features` are further sparse
    features ("rule-class:generate=all"). `memory` is the memory for training, in bytes or as "4G", by default half of
    the free memory; data that does not fit goes to files in the folder `temporary`, and the model does not change.
    `cluster` names workers for alignment, extraction, counting and scoring, as in `System.translate`. `example.py`
    beside this file is an example.
    """
    if (with_phrases or on_demand or rules) and not hierarchical:
        raise UsageError("rules, with_phrases and on_demand are for hierarchical models; expected hierarchical=True")
    text, cleaning, table, classes = split_options(options, Preparation, Cleaning, PhraseModel, Refinements)
    recipe = TrainRecipe(
        Cleaning.from_dict(cleaning),
        ALIGNERS.get(aligner).from_dict(aligner_options or {}),
        PhraseModel.from_dict(table),
        RuleModel.from_dict(rules or {}) if hierarchical else None,
        with_phrases,
        on_demand,
        KneserNey.from_dict(lm or {}),
        [parse_feature(SPARSE_FEATURES, one) for one in features],
    )
    refinements = Refinements.from_dict(classes)
    limit = free_memory() // 2 if memory is None else memory_size(memory)
    with (
        open_runtime(cluster, threads, progress) as opened,
        TextFiles() as files,
        Workspace(limit, temporary) as workspace,
        StageCheckpoint(out) as checkpoint,
    ):
        runtime = replace(opened, workspace=workspace, checkpoint=checkpoint)
        how = Preparation.from_dict(text)
        sides = files.path(source, "source"), files.path(target, "target")
        if any(one.needs_trees for one in recipe.features):
            how = how.with_whole_words()
        prepared = prepare_bitext(*sides, how, runtime=runtime.here())
        second = [] if second_lm_text is None else [files.path(second_lm_text, "second_lm")]
        others = [read_target(path, prepared.settings, runtime=runtime.here()) for path in second]
        recipe = refinements.refined(recipe, prepared, runtime=runtime)
        train_model(prepared, recipe, second_lm_texts=others, runtime=runtime).model.save(out)
    return load(out, threads=threads)


def _decision_of(decision: str | Decision, evidence: str | None, options: Mapping[str, Any]) -> Decision:
    """Return a decision rule, by its name or file, with options and evidence."""
    if isinstance(decision, Decision):
        return decision
    return Decision.of(decision, [f"{name}={value}" for name, value in options.items()], evidence)  # type: ignore[arg-type]


def _decision_outputs(decision: Decision, samples: int, seed: int) -> Outputs:
    """Return the outputs for a decision rule, with `samples` samples per chain if these are its evidence."""
    if decision.evidence != "samples":
        return Outputs(decision=decision)
    sampling = replace(decision.sampling or Sampling(), samples=samples)
    return Outputs(decision=decision, samples=Draw(sampling, seed, features=False))


def _held_out(files: tuple[File, File | Sequence[File]] | None, trees: File | None) -> HeldOut | None:
    if files is None:
        return None
    return HeldOut(Path(files[0]), files_of(files[1]), trees=None if trees is None else Path(trees))
