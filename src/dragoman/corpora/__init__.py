"""Real corpora: recipes that make them from packages of registries, and archives that others have published."""

from __future__ import annotations

from dragoman.core.options import Registry
from dragoman.corpora.builder import BuildableCorpus

CORPORA = Registry("corpus", "dragoman.corpora", BuildableCorpus)
