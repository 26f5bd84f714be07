"""Scores of translations, and comparisons of systems, from files or lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dragoman.core.corpus import Corpus
from dragoman.core.display import frame, html_table
from dragoman.core.errors import DataError, UsageError
from dragoman.core.progress import Progress
from dragoman.core.runtime import Runtime
from dragoman.evaluation.statistics.comparison import Resampling, compare_systems
from dragoman.evaluation.statistics.intervals import SystemScore, full_signature, measure
from dragoman.front.texts import Text, lines_of, runtime_of
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.tokeniser_choice import ChosenMetrics, metrics_for
from dragoman.metrics.utility_metric import GivenMetric

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Score:
    """A metric's score of translations; `float(score)` is its value.

    `interval` is the 95 % confidence interval by bootstrap resampling, `sentences` are the scores of single sentences,
    and `note` gives the tokeniser and the reason for it if it was chosen by default. `digits` are the decimals shown.
    """

    metric: str
    value: float
    interval: tuple[float, float] | None
    signature: str
    sentences: NDArray[np.float64]
    note: str | None = None
    digits: int = 2

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = (f"{end:.{self.digits}f}" for end in self.interval or (self.value, self.value))
        return f"{self.metric} {self.value:.{self.digits}f}{'' if self.interval is None else f' ({low} to {high})'}"

    def __repr__(self) -> str:
        return f"Score({self}, {self.signature}{'' if self.note is None else f'; {self.note}'})"

    def _repr_html_(self) -> str:
        table = html_table(["metric", "score", "signature"], [(self.metric, str(self), self.signature)])
        return table + ("" if self.note is None else f"<small>{escape(self.note)}</small>")


def score(
    outputs: Text,
    references: Text | Sequence[Text] | None = None,
    metric: GivenMetric = "bleu",
    *,
    sources: Text | None = None,
    language: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    cache: PathLike[str] | bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
) -> Score:
    """Score translations against references: files, or lists of lines; a list of these for several references.

    BLEU equals sacreBLEU's score of the same text. Raw text gets sacreBLEU's tokeniser for its `language`, which is
    guessed from the script if it is not given (13a for most languages); tokenised text gets none. Choose another with
    `metric="bleu:tokenise=intl"`.

    `metric` may also be a neural metric ("comet:model=FOLDER"), a function of hypotheses and references (and sources),
    or an object with `score(hypotheses, references, sources)`: the score of a text is then the mean of its sentences',
    and of several references the best one counts. Some need the `sources`; quality estimates need no references.
    `cache` keeps their scores: a file, or True for the user's cache. Scores from a file: "precomputed:path=FILE".

    >>> print(score(["the cat sat down", "a dog"], ["the cat sat down", "the dog"], resamples=0))
    bleu 88.91
    >>> score(["A cat sat."], ["The cat sat."]).note
    'tok:13a because the text looks raw'
    >>> def overlap(hypotheses, references):
    ...     return [len(set(a.split()) & set(b.split())) for a, b in zip(hypotheses, references)]
    >>> print(score(["the cat sat", "a dog"], ["the cat sat", "the dog"], overlap, resamples=0))
    overlap 2.0000
    """
    text = _ScoredText.of(references, sources)
    translations = text.translations(outputs, "outputs")
    chosen = text.metrics(metric, [translations], language, cache)
    measured = text.measured(chosen, translations, "outputs", runtime_of(threads, progress))
    summary = measured.summary(len(text.references), resamples, seed)
    interval = summary.get("interval")
    return Score(
        measured.label,
        float(measured.score),
        (float(interval[0]), float(interval[1])) if isinstance(interval, list) else None,
        str(summary["signature"]),
        measured.scorer.sentence_scores(measured.statistics),
        measured.note,
        measured.metric.digits,
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of systems, and significance tests for each pair.

    `order` lists the systems from best to worst: `>` is significantly better, `≥` is better on this test set only.
    """

    metric: str
    systems: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    order: str
    signature: str
    note: str | None = None
    digits: int = 2

    def frame(self) -> Any:
        """Return a pandas frame with a row for each pair of systems: difference and p-values."""
        columns = [name for name in self.pairs[0] if name != "conclusive"]
        return frame({name: [pair[name] for pair in self.pairs] for name in columns})

    def plot(self) -> Figure:
        """Draw the scores with their standard deviation over test sentences, as a matplotlib figure."""
        from dragoman.evaluation.figures.runs import draw_systems

        return draw_systems(
            self.metric, {row["system"]: (float(row["score"]), float(row["sd_sentences"])) for row in self.systems}
        )

    def __repr__(self) -> str:
        scores = ", ".join(f"{row['system']} {row['score']:.{self.digits}f}" for row in self.systems)
        return f"Comparison({self.metric}: {self.order}; {scores}; {self.signature})"

    def _repr_html_(self) -> str:
        systems = [(row["system"], len(row["runs"]), float(row["score"])) for row in self.systems]
        pairs = [
            (pair["better"], pair["worse"], float(pair["difference"]), float(pair["p_bootstrap"]))
            for pair in self.pairs
        ]
        return (
            html_table(["system", "runs", self.metric], systems, self.order)
            + html_table(["better", "worse", "difference", "p"], pairs)
            + f"<small>{escape(self.signature if self.note is None else f'{self.signature}; {self.note}')}</small>"
        )


def compare(
    systems: Mapping[str, Text | Sequence[Text]],
    references: Text | Sequence[Text] | None = None,
    metric: GivenMetric = "bleu",
    *,
    sources: Text | None = None,
    language: str | None = None,
    resamples: int = 1000,
    trials: int = 10_000,
    sample_sizes: Sequence[int] = (),
    seed: int = 0,
    cache: PathLike[str] | bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
) -> Comparison:
    """Compare systems by their translations: files, or lists of lines; a list of these for several runs.

    Tests significance by paired bootstrap resampling and approximate randomisation, over test sentences and over runs.
    All text is tokenised in the same way, as in `score`, and the metric may be any that `score` takes. With
    `sample_sizes`, pairs also have the proportions of test sets of so many sentences that would be conclusive, rightly
    and wrongly (`conclusive`).

    >>> references = ["a man sleeps here", "a dog runs on the beach"]
    >>> compare({"good": references, "bad": ["man", "the dog"]}, references).order
    'good > bad'
    """
    if len(systems) < 2:
        raise UsageError(f"found {len(systems)} system; expected two or more to compare")
    known = _ScoredText.of(references, sources)
    texts = {name: [known.translations(run, name) for run in _several(runs)] for name, runs in systems.items()}
    chosen = known.metrics(metric, [text for runs in texts.values() for text in runs], language, cache)
    runtime = runtime_of(threads, progress)
    measured = {name: [known.measured(chosen, text, name, runtime) for text in runs] for name, runs in texts.items()}
    how = Resampling(resamples, trials, sample_sizes=tuple(sample_sizes), seed=seed)
    statistics = [np.stack([run.statistics for run in runs]) for runs in measured.values()]
    first = next(iter(measured.values()))[0]
    found = compare_systems(first.metric, first.scorer, list(measured), statistics, how)
    signature = full_signature(first.metric, len(known.references), resamples, seed)
    return Comparison(
        first.label, found["systems"], found["pairs"], found["order"], signature, first.note, first.metric.digits
    )


def _several(texts: Text | Sequence[Text]) -> Sequence[Text]:
    """Return one or several texts as a list; a list of strings is one text."""
    if isinstance(texts, str | PathLike):
        return [texts]
    found: list[Any] = list(texts)
    return [found] if all(isinstance(one, str) for one in found) else found


@dataclass(frozen=True, eq=False)
class _ScoredText:
    """The references and the source of a text; one of them may be missing."""

    references: list[Corpus]
    sources: list[str] | None

    @classmethod
    def of(cls, references: Text | Sequence[Text] | None, sources: Text | None) -> _ScoredText:
        if references is None and sources is None:
            raise UsageError("there are neither references nor sources; expected something to compare with")
        known = [Corpus.from_lines(lines_of(one)) for one in (() if references is None else _several(references))]
        if (references is not None and not known) or any(len(one) != len(known[0]) for one in known):
            raise DataError("the references have different numbers of lines", expected="the same number in each")
        return cls(known, None if sources is None else lines_of(sources))

    def translations(self, outputs: Text, name: str) -> Corpus:
        """Return the translations of a system; refuse a wrong number of them."""
        found = Corpus.from_lines(lines_of(outputs))
        lines = len(self.references[0]) if self.references else len(self.sources or ())
        if len(found) != lines:
            raise DataError(
                f"has {len(found)} lines, but the {'reference' if self.references else 'source'} has {lines}",
                path=outputs if isinstance(outputs, str | PathLike) else name,
                expected="as many",
            )
        return found

    def metrics(
        self, metric: GivenMetric, texts: Sequence[Corpus], language: str | None, cache: PathLike[str] | bool
    ) -> ChosenMetrics:
        """Return the metric, with a tokeniser for these texts if it needs one."""
        store = ScoreCache.of(cache)
        return metrics_for([metric], self.references, texts, language=language, sources=self.sources, cache=store)

    def measured(self, chosen: ChosenMetrics, translations: Corpus, name: str, runtime: Runtime) -> SystemScore:
        """Return the statistics of a system."""
        ((label, metric),) = chosen.metrics.items()
        note = chosen.notes.get(label)
        return measure(metric, label, self.references, name, translations, note=note, runtime=runtime)
