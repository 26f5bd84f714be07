"""A tuning job, all that `dragoman tune` is given: a model and texts on disk, a method, options and a seed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.errors import UsageError
from dragoman.core.feature_rows import Weights
from dragoman.core.journal import weights_file
from dragoman.core.runtime import Runtime
from dragoman.core.store import digest
from dragoman.metrics.combined import parse_metric
from dragoman.metrics.metric import Scorer
from dragoman.metrics.references import UNHEARD, ReferencedText, reference_files
from dragoman.model.bundle import Model, model_digest
from dragoman.sampling.global_features import document_bounds, read_documents
from dragoman.search.limits import SearchLimits, SpaceLimits
from dragoman.search.translator import ShardedTranslator, Translator
from dragoman.translation.stream import Stream
from dragoman.tuning.methods.method import Learner, TrainingSet, Tuner, TuningMethod
from dragoman.tuning.problems.evidence import (
    DecodedGraphs,
    DecodedLists,
    Decoding,
    DecodingResults,
)
from dragoman.tuning.problems.hypergraph_problem import HypergraphProblem, ReferenceProblem
from dragoman.tuning.problems.mixtures import DecodedMixtures, MixtureProblem
from dragoman.tuning.problems.problem import Problem, tuned_names, weight_ranges
from dragoman.tuning.runs.batch_training import BatchTraining, Task
from dragoman.tuning.runs.decoder import TuningSetDecoder
from dragoman.tuning.runs.loop import Loop, OnlineTraining, Training, run_tuning
from dragoman.tuning.runs.run import Run
from dragoman.tuning.runs.validator import Validation, Validator


@dataclass(frozen=True)
class HeldOut:
    """Held-out texts for validation, with files of document labels and of trees if the model uses them."""

    source: Path
    references: tuple[Path, ...]
    documents: Path | None = None
    trees: Path | None = None

    def description(self) -> dict[str, Any]:
        """Return the paths, for a run's folder."""
        return {
            "source": str(self.source),
            "reference": [str(path) for path in self.references],
            "documents": "" if self.documents is None else str(self.documents),
            **({} if self.trees is None else {"trees": str(self.trees)}),
        }


@dataclass(frozen=True)
class Job:
    """The model, texts, method and options of a tuning run.

    `loop` and `decoding` are for methods that optimise decoded evidence, `validation` and `held_out` for online
    learners (`loop.keep` for both); without held-out text these are validated on the tuning set. With `keep` set to
    `held-out`, all methods are validated on held-out text. `documents` is a file of labels, for document features, and
    `trees` a file of source trees, for features that use them. `fixed` are patterns (`lr.*`) of features whose weights
    are not tuned; `ranges` are patterns with the least and the largest weight for random starts, in place of the
    defaults.
    """

    model: Path
    source: Path
    references: tuple[Path, ...]
    tuner: TuningMethod
    metric: str = "bleu"
    loop: Loop = Loop()
    decoding: Decoding = Decoding()
    validation: Validation = Validation()
    held_out: HeldOut | None = None
    documents: Path | None = None
    trees: Path | None = None
    limits: SearchLimits = SearchLimits()
    space: SpaceLimits = SpaceLimits()
    start: Path | Weights | None = None
    fixed: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    prepared: bool = False
    seed: int = 1

    def resolved(self) -> Job:
        """Return the job with whole paths, so that its description does not depend on the current folder."""
        held = self.held_out
        return replace(
            self,
            model=self.model.resolve(),
            source=self.source.resolve(),
            references=tuple(path.resolve() for path in self.references),
            start=self.start.resolve() if isinstance(self.start, Path) else self.start,
            documents=self.documents and self.documents.resolve(),
            trees=self.trees and self.trees.resolve(),
            held_out=held
            and HeldOut(
                held.source.resolve(),
                tuple(path.resolve() for path in held.references),
                held.documents and held.documents.resolve(),
                held.trees and held.trees.resolve(),
            ),
        )

    @property
    def _decoding(self) -> Decoding:
        """The options of decoding: as given, else lists if the method takes them, and its density."""
        usual: dict[str, Any] = {}
        if isinstance(self.tuner, Tuner):
            graphs = [kind for kind in self.tuner.evidence() if issubclass(kind, HypergraphProblem)]
            usual = {
                "evidence": "nbest" if self.tuner.takes(Problem) else "hypergraph",
                "density": (graphs or [HypergraphProblem])[0].density,
            }
        return Decoding.from_dict(usual | self.decoding.to_dict())

    @property
    def _validates(self) -> bool:
        """True if a validator scores the weights, not the method itself."""
        return isinstance(self.tuner, Learner) or self.loop.keep == "held-out"

    def description(self) -> dict[str, Any]:
        """Return the job as a run's folder records it; jobs with the same description give the same result."""
        values = {
            "method": self.tuner.name,
            "seed": self.seed,
            "metric": self.metric,
            "model": str(self.model),
            "source": str(self.source),
            "reference": [str(path) for path in self.references],
            "start": self._start,
            "fixed": list(self.fixed),
            "prepared": self.prepared,
            "ranges": {pattern: list(bounds) for pattern, bounds in self.ranges.items()},
            "options": self.tuner.to_dict(),
            "loop": self.loop.to_dict(),
            "decoding": self._decoding.to_dict(),
            "search": self.limits.to_dict(),
            "space": self.space.to_dict(),
            **({} if self.trees is None else {"trees": str(self.trees)}),
        }
        if self._validates:
            values["course"] = self.validation.description()
            values["held_out"] = {} if self.held_out is None else self.held_out.description()
        if isinstance(self.tuner, Learner):
            del values["decoding"]
            values["loop"] = {"keep": self.loop.keep}
            values["documents"] = "" if self.documents is None else str(self.documents)
        return values

    def content(self) -> dict[str, str]:
        """Return digests of the model and the texts, which may change under the same names."""
        return {"model": model_digest(self.model)} | self.text_content()

    def text_content(self) -> dict[str, str]:
        """Return digests of the texts."""
        held, files = self.held_out, {"source": [self.source], "reference": reference_files(self.references)}
        if isinstance(self.start, Path):
            files["start"] = [weights_file(self.start)]
        files |= {} if self.documents is None else {"documents": [self.documents]}
        files |= {} if self.trees is None else {"trees": [self.trees]}
        if held is not None:
            files |= {"held_out_source": [held.source], "held_out_reference": reference_files(held.references)}
            files |= {} if held.documents is None else {"held_out_documents": [held.documents]}
            files |= {} if held.trees is None else {"held_out_trees": [held.trees]}
        return {name: digest(paths) for name, paths in files.items()}

    def run(
        self, out: Path, *, restart: bool = False, resume_from: int | None = None, runtime: Runtime = Runtime()
    ) -> Run:
        """Run the job in a folder, or resume it; nothing is written before the input has been checked."""
        with self.running(out, restart=restart, resume_from=resume_from, runtime=runtime) as run:
            return run

    @contextlib.contextmanager
    def running(
        self, out: Path, *, restart: bool = False, resume_from: int | None = None, runtime: Runtime = Runtime()
    ) -> Iterator[Run]:
        """Run the job, and lock its folder until the context ends.

        A folder that was begun with other options or texts is refused, or with `restart`, begun anew. With
        `resume_from`, everything after that iteration is dropped. Workers of a cluster that have the model decode,
        sample and climb; this process combines their results.
        """
        model = Model.load(self.model)
        start = self.start_weights(model, runtime=runtime)
        training, validator = self._training(model, runtime)
        with Run.claimed(out, {**self.description(), "content": self.content()}, restart=restart) as run:
            if resume_from is not None:
                run.cut_back(resume_from)
            run.warn_if_older(runtime.progress)
            run_tuning(
                run,
                training,
                start,
                keep=self.loop.keep,
                validator=validator,
                validation=self.validation,
                seed=self.seed,
                runtime=runtime,
            )
            yield run

    def _training(self, model: Model, runtime: Runtime) -> tuple[Training, Validator | None]:
        """Return the method with all that it works on, and a validator if it does not score weights itself."""
        if self.loop.keep == "held-out" and self.held_out is None:
            raise UsageError("keep is held-out, but there is no held-out text; expected its source and references")
        text = self.text(model, runtime=runtime)
        validator = self._validator(model, text, runtime) if self._validates else None
        if isinstance(self.tuner, Learner):
            training_set = self._training_set(model, text, runtime)
            self.tuner.check(training_set)
            return OnlineTraining(self.tuner, training_set), validator
        assert isinstance(self.tuner, Tuner)
        return BatchTraining(self.tuner, self._task(self.tuner, model, text, runtime), self.loop), validator

    def _task(self, tuner: Tuner, model: Model, text: ReferencedText, runtime: Runtime) -> Task:
        """Return the task of an optimiser."""
        hypergraphs = self._decoding.evidence == "hypergraph"
        if not tuner.takes(HypergraphProblem if hypergraphs else Problem):
            raise UsageError(f"{tuner.name} works on {'n-best lists' if hypergraphs else 'hypergraphs'} only")
        # No evidence of a search has global features, so their weights are not tuned.
        names = [name for name in self.tuned(model) if name not in model.global_features]
        names += self._tuned_interpolation_weights(model)
        if not (names or model.sparse_prefixes):
            raise UsageError("all weights are fixed but those of global features, which no search can tune")
        targets = [corpus.lines() for corpus in text.references] if tuner.takes(ReferenceProblem) else []
        within = runtime.quiet()
        decoder = TuningSetDecoder(
            ShardedTranslator(self.translator(model, runtime=within), self.model, runtime=within),
            text.lines,
            targets,
            self._decoding,
            pairs=self.mixes(model),
        )
        return Task(
            decoder=decoder,
            translate=decoder.translate,
            scorer=self._scorer(text),
            names=names,
            ranges=self._ranges(names, model.sparse_prefixes),
            sign=self._sign,
            evidence=self._evidence(model),
            sparse=partial(self._sparse, model.sparse_prefixes),
        )

    def _training_set(self, model: Model, text: ReferencedText, runtime: Runtime) -> TrainingSet:
        """Return the training set of a learner."""
        labels = None if self.documents is None else read_documents(self.documents, len(text))
        return TrainingSet(
            translator=self.translator(model, runtime=runtime.quiet()),
            lines=text.lines,
            scorer=self._scorer(text),
            names=self.tuned(model),
            sparse=partial(self._sparse, model.sparse_prefixes),
            sign=self._sign,
            documents=None if labels is None else document_bounds(labels),
            folder=self.model,
        )

    def _validator(self, model: Model, text: ReferencedText, runtime: Runtime) -> Validator:
        """Return the validator on the held-out text, or without one on the tuning set."""
        judged, file, within = text, self.documents, runtime.quiet()
        if self.held_out is None:
            runtime.note("without held-out text, weights are validated on the tuning set itself")
        else:
            judged, file = self._text(model, self.held_out, "held_out_trees", runtime), self.held_out.documents
            both = len(set(judged.lines) & set(text.lines))
            if both:
                runtime.warn(
                    f"{both} of the held-out sentences are also in the tuning set: validation scores will be too high"
                )
        decision = self.validation.decision(global_features=bool(model.global_features))
        return Validator(
            stream=Stream(self.translator(model, runtime=within), self.model, prepared=True, runtime=within),
            lines=judged.lines,
            scorer=self._scorer(judged),
            decision=decision,
            more_rules=self.validation.more_rules(decision),
            documents=None if file is None else read_documents(file, len(judged)),
        )

    def start_weights(self, model: Model, *, runtime: Runtime = Runtime()) -> Weights:
        """Return the weights that runs of this job begin with."""
        if self.start is None:
            return model.weights
        return self.start if isinstance(self.start, Weights) else model.read_weights(self.start, runtime=runtime)

    def translator(self, model: Model, weights: Weights | None = None, *, runtime: Runtime = Runtime()) -> Translator:
        """Return the translator of this job."""
        return Translator.of(model, weights, limits=self.limits, space=self.space, runtime=runtime)

    def mixes(self, model: Model) -> bool:
        """Return whether lists count the pairs of mixed tables, so that interpolation weights are tuned as well."""
        return (
            isinstance(self.tuner, Tuner)
            and self.tuner.takes(MixtureProblem)
            and bool(model.interpolation_weight_names)
        )

    def _evidence(self, model: Model) -> type[DecodingResults]:
        if self._decoding.evidence == "hypergraph":
            return DecodedGraphs
        return DecodedMixtures if self.mixes(model) else DecodedLists

    def text(self, model: Model, *, runtime: Runtime = UNHEARD) -> ReferencedText:
        """Return the tuning set, prepared for the model, with its references."""
        return self._text(model, self, "trees", runtime)

    def _text(self, model: Model, files: Job | HeldOut, name: str, runtime: Runtime) -> ReferencedText:
        preparation = model.preparation(prepared=self.prepared)
        trees = model.open_trees(files.trees, name=name, runtime=runtime)
        return ReferencedText.read(files.source, files.references, preparation, trees=trees, runtime=runtime)

    def _scorer(self, text: ReferencedText) -> Scorer:
        return parse_metric(self.metric).scorer(text.references)

    @property
    def _start(self) -> str | dict[str, float]:
        """The start weights as a run's folder records them."""
        if self.start is None:
            return ""
        return str(self.start) if isinstance(self.start, Path) else dict(self.start)

    @property
    def _sign(self) -> int:
        return 1 if parse_metric(self.metric).higher_is_better else -1

    def tuned(self, model: Model) -> list[str]:
        """Return the features whose weights are tuned."""
        names = tuned_names(model.feature_names)
        for pattern in self.fixed:
            known = any(fnmatchcase(name, pattern) for name in model.weight_names)
            if not (known or pattern.startswith(model.sparse_prefixes)):
                raise UsageError(f"no feature is called '{pattern}'; there are {', '.join(model.weight_names)}")
        free = [name for name in names if not any(fnmatchcase(name, pattern) for pattern in self.fixed)]
        if not (free or model.sparse_prefixes):
            raise UsageError("all weights are fixed, so there is nothing to tune")
        return free

    def _tuned_interpolation_weights(self, model: Model) -> list[str]:
        """Return the tuned interpolation weights of mixed tables: all or none of those that sum to 1."""
        if not self.mixes(model):
            kinds = self.tuner.evidence() if isinstance(self.tuner, Tuner) else (Problem,)
            if not all(issubclass(kind, MixtureProblem) for kind in kinds):
                return []
            raise UsageError(
                f"the model has no mixed tables, whose interpolation weights {self.tuner.name} tunes; expected a model"
                " that was adapted by the mixture pro-mix, or mixed with its components kept, or another method"
            )
        fixed = {
            name
            for name in model.interpolation_weight_names
            if any(fnmatchcase(name, pattern) for pattern in self.fixed)
        }
        free = [name for name in model.interpolation_weight_names if name not in fixed]
        of_free = {name.rpartition(".")[0] for name in free}
        for name in sorted(fixed):
            score = name.rpartition(".")[0]
            if score in of_free:
                raise UsageError(f"{name} is fixed, and others of {score} are not; expected all of them or none")
        return free

    def _ranges(self, names: Sequence[str], sparse: tuple[str, ...]) -> dict[str, tuple[float, float]]:
        for pattern in self.ranges:
            if not (pattern.startswith(sparse) or any(fnmatchcase(name, pattern) for name in names)):
                raise UsageError(f"the range of '{pattern}' is for no feature that is tuned")
        return self._ranges_of(names)

    def _ranges_of(self, names: Sequence[str]) -> dict[str, tuple[float, float]]:
        ranges = weight_ranges(names, self.loop.preset)
        for pattern, bounds in self.ranges.items():
            ranges |= dict.fromkeys((name for name in names if fnmatchcase(name, pattern)), bounds)
        return ranges

    def _sparse(self, prefixes: tuple[str, ...], names: Iterable[str]) -> dict[str, tuple[float, float]]:
        """Return the sparse features among some names whose weights are tuned, sorted, with their ranges."""
        sparse = sorted(name for name in names if name.startswith(prefixes))
        return self._ranges_of([n for n in sparse if not any(fnmatchcase(n, pattern) for pattern in self.fixed)])
