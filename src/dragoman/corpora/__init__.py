"""Recipes for real parallel corpora, made at run time from what the package registries offer."""

from __future__ import annotations

from dragoman.core.registry import Registry
from dragoman.corpora.recipe import Recipe

CORPORA = Registry("corpus", "dragoman.corpora", Recipe)
