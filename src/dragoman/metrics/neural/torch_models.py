"""Loading of PyTorch models for neural metrics: from the user's disk only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.core.errors import UsageError
from dragoman.metrics.utility import NeuralUtility

T = TypeVar("T")

#: Bytes of a model that its model_fingerprint covers, at the begin and end of each file.
_FINGERPRINT_BYTES = 1 << 16


@contextmanager
def offline() -> Iterator[None]:
    """Keep libraries from downloading anything: a model that is not on the disk is an error."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def load_model(utility: NeuralUtility, model: str, load: Callable[[str], T]) -> T:
    """Load a model; if it is not there, say how to get it."""
    try:
        with offline():
            return load(model)
    except ImportError:
        raise utility.missing_library() from None
    except Exception as error:  # libraries raise errors of many kinds
        said = str(error).strip().split("\n")[0][:200]
        raise UsageError(
            f"{utility.name} cannot load the model '{model}' ({type(error).__name__}: {said}); expected a folder or"
            " file, or a model that its own library has downloaded"
        ) from error


def model_fingerprint(model: str) -> str:
    """Return the name of a model's folder or file with a digest of its files, or its name if it is not a path.

    It is part of a signature. Of each file the size, the begin and the end count, so that large models are quick to
    compare.
    """
    path = Path(model)
    if not path.exists():
        return model
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            size = file.stat().st_size
            digest.update(f"{file.relative_to(path) if path.is_dir() else ''}:{size}".encode())
            with file.open("rb") as stream:
                digest.update(stream.read(_FINGERPRINT_BYTES))
                stream.seek(max(0, size - _FINGERPRINT_BYTES))
                digest.update(stream.read(_FINGERPRINT_BYTES))
    return f"{path.resolve().name}@{digest.hexdigest()}"


def placed(model: Any, device: str, precision: str) -> Any:
    """Return a PyTorch model on a device, with numbers of a type, for inference."""
    import torch

    return model.eval().requires_grad_(False).to(device=device, dtype=getattr(torch, precision))


def in_batches(size: int, columns: Sequence[Sequence[str]], score: Callable[..., Any]) -> NDArray[np.float64]:
    """Call a function with batches of columns, longest texts first, and return its numbers in the given order."""
    lengths = np.array([sum(map(len, row)) for row in zip(*columns, strict=True)], np.int64)
    order = np.argsort(-lengths, kind="stable")
    found = np.empty(len(order))
    for begin in range(0, len(order), size):
        rows = order[begin : begin + size]
        found[rows] = np.asarray(score(*([column[i] for i in rows.tolist()] for column in columns)), np.float64)
    return found
