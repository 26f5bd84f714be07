"""Signatures: one line that says how a number was made."""

from __future__ import annotations

from importlib import metadata

from dragoman.core.version import version

SACREBLEU = f"sacrebleu-{metadata.version('sacrebleu')}"
"""Named in signatures of settings whose scores equal sacreBLEU's."""


def signature(metric: str, **settings: object) -> str:
    """Join a metric's settings as `name|key:value|…|version:…`; settings that are None are left out.

    >>> signature("wer", case="mixed", beta=None).rpartition("|")[0]
    'wer|case:mixed'
    """
    shown = [f"{key}:{_text(value)}" for key, value in settings.items() if value is not None]
    return "|".join([metric, *shown, f"version:dragoman-{version()}"])


def _text(value: object) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
