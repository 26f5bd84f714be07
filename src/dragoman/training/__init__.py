"""Corpus to model: word alignment, symmetrisation, extraction, scoring, language models."""
