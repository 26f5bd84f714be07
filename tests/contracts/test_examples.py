"""The examples in docstrings show what is so."""

import doctest
import importlib
from pathlib import Path

import pytest

import dragoman

ROOT = Path(dragoman.__file__).parent
WITH_EXAMPLES = sorted(path for path in ROOT.rglob("*.py") if ">>>" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_are_right(path):
    name = ".".join(["dragoman", *path.relative_to(ROOT).with_suffix("").parts])
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
