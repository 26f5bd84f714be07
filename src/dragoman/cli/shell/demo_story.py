"""The output of `dragoman demo`: the same tables on the terminal and in a page, and pictures in the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.cli.shell import terminal
from dragoman.core.corpus import Bitext, Corpus, Links, source_positions, target_positions
from dragoman.decision.posterior import Posterior
from dragoman.evaluation.figures.decisions import draw_posterior
from dragoman.evaluation.figures.derivations import (
    draw_alignment,
    draw_derivation,
    draw_translation,
    text_alignment,
    text_derivation,
    text_translation,
)
from dragoman.evaluation.reports.experiment_report import ExperimentReport
from dragoman.evaluation.reports.report import Report
from dragoman.evaluation.statistics.comparison import RuleResult
from dragoman.evaluation.statistics.intervals import full_signature
from dragoman.forest.kbest import nbest
from dragoman.metrics.bleu import Bleu
from dragoman.metrics.metric import Metric
from dragoman.model.bundle import Model
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from dragoman.training.pipeline import TrainingResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLE = "Dragoman: King James English to modern English"
#: Scale of the distribution over translations in its picture.
_SHOWN_SCALE = 10.0
#: Number of verses among which that picture's is chosen.
_LOOKED_AT = 20


@dataclass(frozen=True, eq=False)
class Story:
    """Results of the demo. `test` holds the verses and their references, `translator` the tuned weights.

    `raw` are verses and references as in the corpus, `untuned` are translations under the initial weights, and `tree`
    is a translation by a hierarchical model.
    """

    out: Path
    manifest: dict[str, object]
    trained: TrainingResult
    translator: Translator
    test: tuple[Corpus, Corpus]
    raw: tuple[list[str], list[str]]
    untuned: list[str]
    translations: list[Translation]
    tuning: ExperimentReport
    rules: list[RuleResult]
    tree: Translation


def show(story: Story) -> None:
    """Print the results, and write them as a report with pictures: translations first, then the model."""
    teller = _Teller()
    examples = [i for i, t in enumerate(story.translations) if 8 <= len(t.source.split()) <= 16][:8]
    _tell_translations(story, teller, examples)
    _tell_tuning(story, teller)
    _tell_derivation(teller, max((story.translations[i] for i in examples), key=_jumps))
    _tell_tree(story.tree, teller)
    _tell_rules(story, teller)
    _tell_posterior(story, teller)
    _tell_model(story, teller)
    _tell_phrases(story, teller)
    _tell_links(story, teller)
    _tell_perplexity(story, teller)
    teller.page.heading("The corpus")
    facts = [(key, value) for key, value in story.manifest.items() if not isinstance(value, dict)]
    teller.page.table(["", ""], facts)
    path = story.out / "report.html"
    teller.page.write(path)
    teller.console.print(f"\nThe same with pictures: {path}; the model: {story.out / 'model'}", markup=False)


class _Teller:
    """Output to the terminal and to the page at once."""

    def __init__(self) -> None:
        self.console = terminal.output()
        self.page = Report(_TITLE)

    def table(self, title: str, columns: list[str], rows: list[tuple[object, ...]], note: str = "") -> None:
        """Write a table to both, with a note that only the page has room for."""
        self.console.print()
        self.console.print(terminal.table(title, columns, rows))
        self.page.heading(title)
        if note:
            self.page.paragraph(note)
        self.page.table(columns, rows)

    def signature(self, metric: Metric) -> None:
        """Write the signature of the scores in the last table, with one tokenised reference."""
        text = full_signature(metric, 1, prepared=True)
        self.console.print(text, style="dim", markup=False)
        self.page.paragraph(text)

    def drawing(self, title: str, text: str, figure: Figure, caption: str) -> None:
        """Write a drawing: in characters on the terminal, as a picture in the page."""
        self.console.print(f"\n[bold]{title}[/bold]")
        self.console.print(text, markup=False)
        self.page.heading(title)
        self.page.figure(figure, caption)


def _tell_model(story: Story, teller: _Teller) -> None:
    model, history = story.translator.model, story.translator.model.history
    rows: list[tuple[object, ...]] = [
        ("sentence pairs", history["sentence_pairs"]),
        ("source words (King James)", history["source_words"]),
        ("target words (modern)", history["target_words"]),
        ("word alignment links", history["links"]),
        ("phrase pairs", len(model.tables["tm"])),
    ]
    sizes = model.language_models["lm"].sizes
    rows += [(f"{n}-grams in the language model", size) for n, size in enumerate(sizes, 1)]
    teller.table("What the model holds", ["part", "size"], rows)


def _tell_phrases(story: Story, teller: _Teller) -> None:
    phrases = ["thou", "it came to pass", "shalt not", "verily", "begat", "wherefore", "hath", "unto him"]
    teller.table(
        "Phrase pairs",
        ["King James", "modern", "p(e|f)", "p(f|e)", "lex(e|f)", "lex(f|e)"],
        [row for phrase in phrases for row in _translations(story.translator.model, phrase, 2)],
        "The two most frequent translations of some phrases; f is the King James side, e the modern one.",
    )


def _tell_perplexity(story: Story, teller: _Teller) -> None:
    language_model = story.translator.model.language_models["lm"]
    rows: list[tuple[object, ...]] = []
    for name, corpus in (("modern test verses", story.test[1]), ("King James test verses", story.test[0])):
        found = language_model.perplexity(corpus, runtime=story.translator.runtime)
        rows.append((name, found.including_oovs, found.excluding_oovs, found.oovs, found.tokens))
    teller.table(
        "Perplexity of the language model",
        ["text", "perplexity", "without unknown words", "unknown words", "tokens"],
        rows,
        "The model knows modern English: verses of the King James version surprise it more.",
    )


def _tell_links(story: Story, teller: _Teller) -> None:
    bitext = story.trained.bitext
    pair = _good_example(bitext)
    source, target = bitext.source.line(pair).split(), bitext.target.line(pair).split()
    links = _links_of(story.trained.links, pair)
    teller.drawing(
        "Word alignment of one verse",
        text_alignment(source, target, links),
        draw_alignment(source, target, links),
        "King James words down, modern words across; a filled cell is an alignment link.",
    )


def _tell_translations(story: Story, teller: _Teller, examples: list[int]) -> None:
    sources, references = story.raw
    shown = [sources[i] for i in examples]
    form = story.translator.model.preparation(prepared=False)
    untuned = form.restore([story.untuned[i] for i in examples], shown)
    tuned = form.restore([story.translations[i].text for i in examples], shown)
    teller.table(
        "Translations of test verses",
        ["King James", "before tuning", "after tuning", "reference (World English Bible)"],
        list(zip(shown, untuned, tuned, [references[i] for i in examples], strict=True)),
        "Verses that the model has not seen, with its translations before and after tuning (by MIRA) and the human"
        f" translation. All {len(story.translations):,} are in test.translated, tokenised.",
    )


def _tell_tuning(story: Story, teller: _Teller) -> None:
    metric = Bleu()
    scorer = metric.scorer([story.test[1]])
    before, after = (
        float(scorer.score(scorer.statistics(Corpus.from_lines(lines)).sum(axis=0)))
        for lines in (story.untuned, [found.text for found in story.translations])
    )
    teller.table(
        "What tuning and classes gained",
        *story.tuning.summary,
        f"{before:.2f} BLEU before tuning, {after:.2f} after it, on {len(story.test[0]):,} test verses:"
        f" {after - before:+.2f}."
        " The plain model is the same without word classes, tuned by the method that Moses tunes by (train --classes 0,"
        " tune --method mert). Each was tuned with two seeds."
        f" {'; '.join(story.tuning.orders.values())} (> is significantly better, ≥ is better on these verses)."
        " Pictures and all numbers are in experiment/report.html.",
    )
    teller.signature(metric)


def _tell_rules(story: Story, teller: _Teller) -> None:
    first = story.rules[0].translations["test"]
    metric = Bleu()
    scorer = metric.scorer([Corpus.from_lines([story.test[1].line(i) for i in range(len(first))])])
    teller.table(
        "Decision rules",
        ["rule", "evidence", "options tuned on dev", "bleu", "verses that differ"],
        [
            (
                found.candidate.rule,
                found.candidate.evidence,
                " ".join(f"{name} {value}" for name, value in found.point.options),
                f"{float(scorer.score(found.statistics['test'].sum(axis=0))):.2f}",
                sum(ours != theirs for ours, theirs in zip(found.translations["test"], first, strict=True)),
            )
            for found in story.rules
        ],
        f"Scores on {len(first)} test verses, with the same weights: the best derivation, or a translation that agrees"
        " with many others. The last column counts verses translated differently from the first rule.",
    )
    teller.signature(metric)


def _tell_posterior(story: Story, teller: _Teller) -> None:
    verse, posterior = _most_disputed(story)
    teller.page.heading("The distribution over translations of one verse")
    teller.page.figure(
        draw_posterior(
            posterior.corpus.lines(),
            posterior.probabilities.tolist(),
            {found.candidate.rule: found.translations["test"][verse] for found in story.rules},
            source=story.translations[verse].source,
        ),
        f"Probabilities of its translations (1,000 best derivations, scale {_SHOWN_SCALE:g}), and the rules' choices.",
    )


def _tell_derivation(teller: _Teller, shown: Translation) -> None:
    words = shown.source.split(), shown.text.split()
    teller.drawing(
        "The derivation of one translation",
        text_derivation(*words, shown.phrases),
        draw_derivation(*words, shown.phrases),
        "Source above, translation below, phrase by phrase.",
    )


def _tell_tree(shown: Translation, teller: _Teller) -> None:
    teller.drawing(
        "A translation by a hierarchical model",
        text_translation(shown),
        draw_translation(shown),
        "Its rules have gaps, X1 and X2, that other rules fill, so that it learns to reorder parts of a sentence. Each"
        " rule is a bar along the words that it covers, above the King James verse and below its translation, in the"
        " same colour; what fills its gaps lies between it and the words. The rules come from a few thousand short"
        " verses, and the weights are not tuned (dragoman train --hierarchical makes such a model).",
    )


def _translations(model: Model, phrase: str, most: int) -> list[tuple[object, ...]]:
    table: PhraseTable = model.tables["tm"]
    column = {name: i for i, name in enumerate(table.score_names)}
    rows: list[tuple[object, ...]] = []
    for row in table.lookup([model.source_vocab.id(word) for word in phrase.split()])[:most]:
        scores = np.exp(table.log_scores[row])
        target = model.target_vocab.text(table.targets[int(table.target_ids[row])])
        rows.append((phrase, target, *(float(scores[column[n]]) for n in ("fwd", "bwd", "fwd_lex", "bwd_lex"))))
    return rows


def _most_disputed(story: Story) -> tuple[int, Posterior]:
    """Find a short verse that the rules disagree about, or whose translation is least certain, and its posterior."""
    choices = list(zip(*(found.translations["test"] for found in story.rules), strict=True))
    short = [i for i in range(len(choices)) if 5 <= len(story.translations[i].source.split()) <= 12] or [0]
    short.sort(key=lambda i: -len(set(choices[i])))
    graphs = [story.translator.search(story.translations[i].source, features=False) for i in short[:_LOOKED_AT]]
    posteriors = [Posterior.of_nbest(nbest([graph], 1000), _SHOWN_SCALE) for graph in graphs]
    uncertain = [float(-(p.probabilities * np.log(p.probabilities + 1e-300)).sum()) for p in posteriors]
    best = max(range(len(posteriors)), key=lambda i: (len(set(choices[short[i]])), uncertain[i]))
    return short[best], posteriors[best]


def _jumps(translation: Translation) -> int:
    """Return the total distortion of a derivation."""
    ends = [0, *(phrase.source[1] for phrase in translation.phrases)]
    return sum(abs(phrase.source[0] - end) for phrase, end in zip(translation.phrases, ends, strict=False))


def _good_example(bitext: Bitext) -> int:
    """Find a verse of medium length whose two versions differ in length, so that its alignment is interesting."""
    source, target = bitext.source.sentences.lengths, bitext.target.sentences.lengths
    suits = (source >= 12) & (source <= 18) & (np.abs(source - target) >= 2)
    return int(np.flatnonzero(suits)[0]) if suits.any() else 0


def _links_of(links: Links, pair: int) -> list[tuple[int, int]]:
    row = slice(int(links.offsets[pair]), int(links.offsets[pair + 1]))
    return list(zip(source_positions(links)[row].tolist(), target_positions(links)[row].tolist(), strict=True))
