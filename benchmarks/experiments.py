"""What benchmarks that carry out experiments share: the command, models of Multi30k, and means over runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def dragoman(*arguments: object) -> None:
    """Run a command, as a user would."""
    subprocess.run([sys.executable, "-m", "dragoman.cli.main", *map(str, arguments)], check=True)


def trained_model(data: Path, out: Path, pair: str) -> Path:
    """The model of a language pair, trained on Multi30k unless it is there."""
    model = out.resolve() / f"model-{pair}"
    if not model.exists():
        source, target = (data.resolve() / f"multi30k/train.{language}.gz" for language in pair.split("-"))
        dragoman("train", "--source", source, "--target", target, "--tokenised", "--out", model)
    return model


def mean_text(values: Sequence[float]) -> str:
    """Mean and standard deviation, for a table."""
    if len(values) < 2:
        return "".join(f"{value:.2f}" for value in values)
    return f"{np.mean(values):.2f} ({np.std(values, ddof=1):.2f})"
