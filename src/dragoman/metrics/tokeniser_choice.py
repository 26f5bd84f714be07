"""Choice of a tokeniser by the form of a text (raw, tokenised, lower-cased), and warnings of mismatches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.core.corpus import Corpus
from dragoman.metrics.metric import Metric
from dragoman.metrics.references import Tokenisation, tokeniser_installed
from dragoman.metrics.score_cache import ScoreCache
from dragoman.metrics.utility import known_metric, names_utility, neural_sum
from dragoman.metrics.utility_metric import GivenMetric, metric_of

#: Shorter texts do not show how they were prepared.
_ENOUGH_WORDS = 30

#: Marks that every language attaches to the word before (French separates `!`).
_MARKS = frozenset(".,\u3002\u3001\uff0c\u060c\u0964")

#: Traces of tools: split hyphens, escaped characters, subwords.
_TRACES = re.compile(r"(?:^|\s)(?:@[-/,.]@|&(?:apos|quot|amp|#124|#91|#93);\S*|\u2581\S*|\S+@@)(?=\s)")

#: Letters of scripts that have a tokeniser of their own, by language; Japanese text has kana among its Chinese signs.
_SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]"),
    "ko": re.compile(r"[\u1100-\u11ff\uac00-\ud7af]"),
    "zh": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "th": re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u0f00-\u0fff]"),
}
#: Least fraction of letters of a script.
_SHARES = {"ja": 0.1, "ko": 0.3, "zh": 0.3, "th": 0.3}

#: SacreBLEU's tokeniser by language; 13a for all others.
_TOKENISERS: dict[str, Tokenisation] = {
    "zh": "zh",
    "ja": "ja-mecab",
    "ko": "ko-mecab",
    **dict.fromkeys(("th", "lo", "km", "my", "bo"), "char"),
}


@dataclass(frozen=True)
class _TextForm:
    """The form of a text; None where it is too short to tell."""

    tokenised: bool | None
    lowercased: bool | None

    @classmethod
    def of(cls, corpus: Corpus) -> _TextForm:
        text = corpus.text().decode()
        words = text.split()
        apart = sum(word in _MARKS for word in words) + len(_TRACES.findall(text))
        attached = sum(len(word) > 1 and word[-1] in _MARKS and word[-2].isalpha() for word in words)
        enough = len(words) >= _ENOUGH_WORDS
        tokenised = apart > attached if enough and apart + attached >= len(words) / _ENOUGH_WORDS else None
        cased = any(character.isupper() for character in text)
        letters = any(character.islower() for character in text)
        return cls(tokenised, not cased if enough and letters else None)


@dataclass(frozen=True)
class TokeniserChoice:
    """A tokeniser for some text, and the reason for it."""

    name: Tokenisation
    why: str

    def note(self) -> str:
        """Return both as one line."""
        return f"tok:{self.name} because {self.why}"


def tokeniser_of(
    references: Sequence[Corpus], outputs: Sequence[Corpus] = (), language: str | None = None
) -> TokeniserChoice:
    """Choose a tokeniser of sacreBLEU for a text: none if it is tokenised, otherwise the default.

    The default is 13a, or sacreBLEU's tokeniser for the language, which is guessed from the script of the references
    unless it is given; then the text counts as raw. Text is tokenised if the references look tokenised and no output
    looks raw.

    >>> tokeniser_of([Corpus.from_lines(["The cat, the dog, and a bird sat on the mat."] * 9)]).note()
    'tok:13a because the text looks raw'
    >>> tokeniser_of([Corpus.from_lines(["The cat , the dog , and a bird sat on the mat ."] * 9)]).note()
    'tok:none because the text looks tokenised'
    """
    if language is None:
        if all(_TextForm.of(text).tokenised for text in references) and not any(
            _TextForm.of(text).tokenised is False for text in outputs
        ):
            return TokeniserChoice("none", "the text looks tokenised")
        language, why = _language_of(references[0]), "the text looks raw"
    else:
        why = f"the language is {language}"
    name = _TOKENISERS.get(re.split("[-_]", language.lower())[0], "13a")
    if not tokeniser_installed(name):
        return TokeniserChoice("char", f"{why}, and {name} is not installed (pip install 'sacrebleu[{name[:2]}]')")
    return TokeniserChoice(name, why)


def _language_of(corpus: Corpus) -> str:
    """Return a language of the script of a text, if that script has its own tokeniser, else an empty string."""
    text = corpus.text().decode()
    letters = sum(character.isalpha() for character in text)
    shares = {language: len(script.findall(text)) / max(letters, 1) for language, script in _SCRIPTS.items()}
    return next((language for language, share in shares.items() if share >= _SHARES[language]), "")


@dataclass(frozen=True)
class ChosenMetrics:
    """Metrics by their texts, and a note for each metric whose tokeniser was chosen by the form of the text."""

    metrics: dict[str, Metric]
    notes: dict[str, str]


def metrics_for(
    given: Sequence[GivenMetric],
    references: Sequence[Corpus],
    outputs: Sequence[Corpus] = (),
    *,
    tokenise: Tokenisation | None = None,
    language: str | None = None,
    sources: Sequence[str] | None = None,
    cache: ScoreCache | None = None,
) -> ChosenMetrics:
    """Return metrics; where neither they nor `tokenise` name a tokeniser, the form of the text decides.

    Utilities, such as neural metrics, get the `sources`, and their scores are kept in the `cache`.

    >>> metrics_for(["bleu", "chrf"], [Corpus.from_lines(["A cat sat."])]).notes
    {'bleu': 'tok:13a because the text looks raw'}
    """
    asked = [one for one in given if tokenises(one)] if tokenise is None and references else []
    chosen = tokeniser_of(references, outputs, language) if asked else None
    name = tokenise if chosen is None else chosen.name
    metrics = [metric_of(one, tokenise=name, sources=sources, cache=cache) for one in given]
    found = {one if isinstance(one, str) else metric.name: metric for one, metric in zip(given, metrics, strict=True)}
    return ChosenMetrics(found, {} if chosen is None else {str(one): chosen.note() for one in asked})


def tokenises(given: GivenMetric) -> bool:
    """Return whether a metric is given by a text that leaves its tokeniser open.

    >>> [tokenises(text) for text in ("bleu", "bleu:tokenise=13a", "chrf", "bleu-ter")]
    [True, False, False, True]
    """
    if not isinstance(given, str) or names_utility(given):
        return False
    terms = neural_sum(given)
    if terms is not None:
        return any(tokenises(f"{name}:{options}" if options else name) for _, name, options in terms)
    one, other = (known_metric(given, tokenise=choice).signature() for choice in ("none", "char"))
    return one != other


def mismatch(translations: Corpus, references: Corpus) -> str | None:
    """Return a warning if two texts look differently prepared, or None.

    >>> raw = Corpus.from_lines(["The cat, the dog, and a bird sat on the mat." for _ in range(9)])
    >>> words = Corpus.from_lines(["the cat , the dog , and a bird sat on the mat ." for _ in range(9)])
    >>> mismatch(words, raw)
    'the translations look tokenised and lower-cased, the references do not'
    >>> mismatch(words, words) is None
    True
    """
    ours, theirs = _TextForm.of(translations), _TextForm.of(references)
    found: dict[str, list[str]] = {"translations": [], "references": []}
    for one, other, what in (
        (ours.tokenised, theirs.tokenised, "tokenised"),
        (ours.lowercased, theirs.lowercased, "lower-cased"),
    ):
        if one is not None and other is not None and one != other:
            found["translations" if one else "references"].append(what)
    others = {"translations": "references", "references": "translations"}
    said = [f"the {side} look {' and '.join(what)}, the {others[side]} do not" for side, what in found.items() if what]
    return "; ".join(said) or None
