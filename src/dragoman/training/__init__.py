"""Corpus to model: word alignment, phrase extraction, scoring, reordering, pruning, language models."""
