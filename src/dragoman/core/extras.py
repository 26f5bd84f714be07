"""Optional packages, which the extras of `pip install 'dragoman[EXTRA]'` install."""

from __future__ import annotations

from importlib.util import find_spec

from dragoman.core.errors import UsageError


def require_package(module: str, package: str, *, extra: str, purpose: str) -> None:
    """Refuse to go on without an optional package; one sentence says what needs it and what to install.

    >>> require_package("json", "JSON", extra="json", purpose="a manifest")
    >>> require_package("no_such_module", "no-such-package", extra="plots", purpose="drawing")
    Traceback (most recent call last):
    ...
    dragoman.core.errors.UsageError: drawing needs no-such-package; install it with: pip install 'dragoman[plots]'
    """
    if find_spec(module) is None:
        raise UsageError(f"{purpose} needs {package}; install it with: pip install 'dragoman[{extra}]'")
