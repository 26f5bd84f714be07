"""What a text looks like, raw or prepared, and what follows for comparing it with another and for its tokeniser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.core.corpus import Corpus
from dragoman.metrics.combined import parse_metric, tokenises
from dragoman.metrics.metric import Metric
from dragoman.metrics.references import Tokenisation, is_installed

#: Texts with fewer words say too little about how they were prepared.
_ENOUGH_WORDS = 30

#: Marks that no language writes apart from the word before, as French does with `!`.
_MARKS = frozenset(".,\u3002\u3001\uff0c\u060c\u0964")

#: What only tools write: split hyphens, escaped signs, pieces of words.
_TRACES = re.compile(r"(?:^|\s)(?:@[-/,.]@|&(?:apos|quot|amp|#124|#91|#93);\S*|\u2581\S*|\S+@@)(?=\s)")

#: Letters of scripts that have a tokeniser of their own, by language; Japanese text has kana among its Chinese signs.
_SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]"),
    "ko": re.compile(r"[\u1100-\u11ff\uac00-\ud7af]"),
    "zh": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "th": re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u0f00-\u0fff]"),
}
#: Which share of the letters must be of a script.
_SHARES = {"ja": 0.1, "ko": 0.3, "zh": 0.3, "th": 0.3}

#: SacreBLEU's tokeniser by language; 13a for all others.
_TOKENISERS: dict[str, Tokenisation] = {
    "zh": "zh",
    "ja": "ja-mecab",
    "ko": "ko-mecab",
    **dict.fromkeys(("th", "lo", "km", "my", "bo"), "char"),
}


@dataclass(frozen=True)
class _Looks:
    """What a text looks like; None where it says too little."""

    tokenised: bool | None
    lowercased: bool | None

    @classmethod
    def of(cls, corpus: Corpus) -> _Looks:
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
class Tokeniser:
    """A tokeniser for some text, and why it is this one."""

    name: Tokenisation
    why: str

    def note(self) -> str:
        """Say so in a line."""
        return f"tok:{self.name} because {self.why}"


def tokeniser_of(
    references: Sequence[Corpus], outputs: Sequence[Corpus] = (), language: str | None = None
) -> Tokeniser:
    """Choose the tokeniser of sacreBLEU for text as it stands: none if it is tokenised, otherwise its default.

    The default is 13a, or what sacreBLEU has for the language, which the script of the references tells unless it is
    given: then the text counts as raw. Text is tokenised if the references look so and no output looks otherwise.

    >>> tokeniser_of([Corpus.from_lines(["The cat, the dog, and a bird sat on the mat."] * 9)]).note()
    'tok:13a because the text looks raw'
    >>> tokeniser_of([Corpus.from_lines(["The cat , the dog , and a bird sat on the mat ."] * 9)]).note()
    'tok:none because the text looks tokenised'
    """
    if language is None:
        if all(_Looks.of(text).tokenised for text in references) and not any(
            _Looks.of(text).tokenised is False for text in outputs
        ):
            return Tokeniser("none", "the text looks tokenised")
        language, why = _language_of(references[0]), "the text looks raw"
    else:
        why = f"the language is {language}"
    name = _TOKENISERS.get(re.split("[-_]", language.lower())[0], "13a")
    if not is_installed(name):
        return Tokeniser("char", f"{why}, and {name} is not installed (pip install 'sacrebleu[{name[:2]}]')")
    return Tokeniser(name, why)


def _language_of(corpus: Corpus) -> str:
    """A language that is written in the script of a text, if that script has a tokeniser of its own."""
    text = corpus.text().decode()
    letters = sum(character.isalpha() for character in text)
    shares = {language: len(script.findall(text)) / max(letters, 1) for language, script in _SCRIPTS.items()}
    return next((language for language, share in shares.items() if share >= _SHARES[language]), "")


@dataclass(frozen=True)
class ChosenMetrics:
    """Metrics by what people call them, and a note for each whose tokeniser was chosen by the text."""

    metrics: dict[str, Metric]
    notes: dict[str, str]


def metrics_for(
    texts: Sequence[str],
    references: Sequence[Corpus],
    outputs: Sequence[Corpus] = (),
    *,
    tokenise: Tokenisation | None = None,
    language: str | None = None,
) -> ChosenMetrics:
    """Read metrics for text as people hand it in: where neither they nor `tokenise` say how to tokenise, the text does.

    >>> metrics_for(["bleu", "chrf"], [Corpus.from_lines(["A cat sat."])]).notes
    {'bleu': 'tok:13a because the text looks raw'}
    """
    asked = [text for text in texts if tokenises(text)] if tokenise is None else []
    chosen = tokeniser_of(references, outputs, language) if asked else None
    name = tokenise if chosen is None else chosen.name
    found = {text: parse_metric(text, tokenise=name) for text in texts}
    return ChosenMetrics(found, {} if chosen is None else dict.fromkeys(asked, chosen.note()))


def mismatch(translations: Corpus, references: Corpus) -> str | None:
    """Say if two texts that are to be compared look as if they had been prepared differently; None if not.

    >>> raw = Corpus.from_lines(["The cat, the dog, and a bird sat on the mat." for _ in range(9)])
    >>> words = Corpus.from_lines(["the cat , the dog , and a bird sat on the mat ." for _ in range(9)])
    >>> mismatch(words, raw)
    'the translations look tokenised and lower-cased, the references do not'
    >>> mismatch(words, words) is None
    True
    """
    ours, theirs = _Looks.of(translations), _Looks.of(references)
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
