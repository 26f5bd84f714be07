"""Sentence to hypergraph: the face that every search has, and a room for each kind of model.

Callers see `Translator` and `SearchResult` of `translator.py`, and never a kind's own room (`phrase/`): `Translator.of`
makes the one that a model is for.
"""
