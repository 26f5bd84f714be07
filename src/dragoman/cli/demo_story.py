"""What `dragoman demo` shows: the same tables on the terminal and in a page, and pictures in the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.cli import terminal
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.links import Links, source_positions, target_positions
from dragoman.decision.posterior import Posterior
from dragoman.evaluation.figures.alignment_plot import draw_alignment, text_alignment
from dragoman.evaluation.figures.derivation_plot import draw_derivation, text_derivation
from dragoman.evaluation.figures.posterior_plot import draw_posterior
from dragoman.evaluation.reports.experiment_report import ExperimentReport
from dragoman.evaluation.reports.report import Report
from dragoman.evaluation.statistics.rule_comparison import Compared
from dragoman.forest.nbest import nbest
from dragoman.metrics.bleu import Bleu
from dragoman.model.bundle import Model
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.translation import Translation
from dragoman.search.translator import Translator
from dragoman.training.pipeline import Trained

_TITLE = "Dragoman: King James English to modern English"
#: How sharp the distribution over translations is in its picture.
_SHOWN_SCALE = 10.0
#: Verses that may become that picture.
_LOOKED_AT = 20


@dataclass(frozen=True, eq=False)
class Story:
    """All that the demo made. `test` holds the verses and their references, `translator` the tuned weights."""

    out: Path
    manifest: dict[str, object]
    trained: Trained
    translator: Translator
    test: tuple[Corpus, Corpus]
    translations: list[Translation]
    tuning: ExperimentReport
    rules: list[Compared]


def show(story: Story) -> None:
    """Print what was learnt, and write the same as a report with pictures."""
    trained, translator, test, translations, rules = (
        story.trained,
        story.translator,
        story.test,
        story.translations,
        story.rules,
    )
    model = translator.model
    console = terminal.output()
    report = Report(_TITLE)

    def table(title: str, columns: list[str], rows: list[tuple[object, ...]], note: str = "") -> None:
        console.print()
        console.print(terminal.table(title, columns, rows))
        report.heading(title)
        if note:
            report.paragraph(note)
        report.table(columns, rows)

    history = model.history
    rows: list[tuple[object, ...]] = [
        ("sentence pairs", history["sentence_pairs"]),
        ("source words (King James)", history["source_words"]),
        ("target words (modern)", history["target_words"]),
        ("word links", history["links"]),
        ("phrase pairs", len(model.tables["tm"])),
    ]
    language_model = model.language_models["lm"]
    rows += [(f"{n}-grams in the language model", size) for n, size in enumerate(language_model.sizes, 1)]
    table("What the model holds", ["part", "size"], rows)

    phrases = ["thou", "it came to pass", "shalt not", "verily", "begat", "wherefore", "hath", "unto him"]
    table(
        "Phrase pairs",
        ["King James", "modern", "p(e|f)", "p(f|e)", "lex(e|f)", "lex(f|e)"],
        [row for phrase in phrases for row in _translations(model, phrase, 2)],
        "The two most frequent translations of some phrases; f is the King James side, e the modern one.",
    )

    perplexities: list[tuple[object, ...]] = []
    for name, corpus in (("modern test verses", test[1]), ("King James test verses", test[0])):
        found = language_model.perplexity(corpus, threads=translator.threads)
        perplexities.append((name, found.including_oovs, found.excluding_oovs, found.oovs, found.tokens))
    table(
        "Perplexity of the language model",
        ["text", "perplexity", "without unknown words", "unknown words", "tokens"],
        perplexities,
        "The model knows modern English: verses of the King James version surprise it more.",
    )

    bitext = trained.bitext
    pair = _good_example(bitext)
    source, target = bitext.source.line(pair).split(), bitext.target.line(pair).split()
    links = _links_of(trained.links, pair)
    console.print("\n[bold]Word links of one verse[/bold]")
    console.print(text_alignment(source, target, links), markup=False)
    report.heading("Word links of one verse")
    report.figure(
        draw_alignment(source, target, links), "King James words down, modern words across; a filled cell is a link."
    )
    table(
        "Tuning",
        *story.tuning.summary,
        f"Weights tuned on 200 verses by two methods, with two seeds each, and measured on {len(test[0]):,} others."
        f" {'; '.join(story.tuning.orders.values())} (> is significantly better, ≥ is better on these verses)."
        " Pictures and all numbers are in experiment/report.html.",
    )
    examples = [i for i, t in enumerate(translations) if 8 <= len(t.source.split()) <= 16][:8]
    table(
        "Translations of test verses",
        ["King James", "translation", "World English Bible"],
        [(translations[i].source, translations[i].text, test[1].line(i)) for i in examples],
        "With MERT's weights; the last column is the reference. All are in test.translated.",
    )
    scorer = Bleu().scorer([Corpus.from_lines([test[1].line(i) for i in range(len(rules[0].translations["test"]))])])
    first = rules[0].translations["test"]
    table(
        "Decision rules",
        ["rule", "evidence", "chosen on the tuning verses", "bleu", "verses translated otherwise"],
        [
            (
                found.candidate.rule,
                found.candidate.evidence,
                " ".join(f"{name} {value}" for name, value in found.point.options),
                f"{float(scorer.score(found.statistics['test'].sum(axis=0))):.2f}",
                sum(ours != theirs for ours, theirs in zip(found.translations["test"], first, strict=True)),
            )
            for found in rules
        ],
        f"The same weights, on {len(first)} test verses: the best derivation, or a translation that agrees with many.",
    )
    verse, posterior = _most_disputed(story)
    report.heading("What one verse might mean")
    report.figure(
        draw_posterior(
            posterior.corpus.lines(),
            posterior.probabilities.tolist(),
            {found.candidate.rule: found.translations["test"][verse] for found in rules},
            source=translations[verse].source,
        ),
        f"How probable its translations are (1,000 best derivations, scale {_SHOWN_SCALE:g}), and what rules choose.",
    )
    shown = max((translations[i] for i in examples), key=_jumps)
    words = shown.source.split(), shown.text.split()
    console.print("\n[bold]How one of them was made[/bold]")
    console.print(text_derivation(*words, shown.phrases), markup=False)
    report.heading("How one of them was made")
    report.figure(draw_derivation(*words, shown.phrases), "The source above, its translation below, phrase by phrase.")
    report.heading("The corpus")
    facts = [(key, str(value)) for key, value in story.manifest.items() if not isinstance(value, dict)]
    report.table(["", ""], facts)
    report.write(story.out / "report.html")
    console.print(
        f"\nThe same with pictures: {story.out / 'report.html'}; the model: {story.out / 'model'}", markup=False
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
    """A short verse that the rules disagree about, or whose translation is least certain, with its posterior."""
    choices = list(zip(*(found.translations["test"] for found in story.rules), strict=True))
    short = [i for i in range(len(choices)) if 5 <= len(story.translations[i].source.split()) <= 12] or [0]
    short.sort(key=lambda i: -len(set(choices[i])))
    graphs = [story.translator.search(story.translations[i].source, features=False) for i in short[:_LOOKED_AT]]
    posteriors = [Posterior.of_nbest(nbest([graph], 1000), _SHOWN_SCALE) for graph in graphs]
    uncertain = [float(-(p.probabilities * np.log(p.probabilities + 1e-300)).sum()) for p in posteriors]
    best = max(range(len(posteriors)), key=lambda i: (len(set(choices[short[i]])), uncertain[i]))
    return short[best], posteriors[best]


def _jumps(translation: Translation) -> int:
    """How much reordering a derivation has."""
    ends = [0, *(phrase.source[1] for phrase in translation.phrases)]
    return sum(abs(phrase.source[0] - end) for phrase, end in zip(translation.phrases, ends, strict=False))


def _good_example(bitext: Bitext) -> int:
    """A verse of middling length whose two versions differ in length, so that the links are worth a look."""
    source, target = bitext.source.sentences.lengths, bitext.target.sentences.lengths
    suits = (source >= 12) & (source <= 18) & (np.abs(source - target) >= 2)
    return int(np.flatnonzero(suits)[0]) if suits.any() else 0


def _links_of(links: Links, pair: int) -> list[tuple[int, int]]:
    row = slice(int(links.offsets[pair]), int(links.offsets[pair + 1]))
    return list(zip(source_positions(links)[row].tolist(), target_positions(links)[row].tolist(), strict=True))
