"""Stems of words, by the Snowball stemmers: whether a form that is wrong is another form of the right word."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.core.errors import UsageError


def stemmer(language: str) -> Callable[[str], str]:
    """Return what cuts words of a language, such as german, to their stems; of several words, each."""
    try:
        import snowballstemmer
    except ImportError:
        raise UsageError("stems need the package snowballstemmer: pip install 'dragoman[stem]'") from None
    known = snowballstemmer.algorithms()
    if language not in known:
        raise UsageError(f"there is no stemmer for '{language}'; expected one of {', '.join(known)}")
    found = snowballstemmer.stemmer(language)
    return lambda form: " ".join(found.stemWords(form.split()))
