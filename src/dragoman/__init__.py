"""Dragoman: log-linear translation models — train, tune, sample, decode, compare."""

from importlib.metadata import version

__version__ = version("dragoman")
