"""Sentence to samples of its derivations: the face that every sampler has, and a room for each kind of model.

Callers see `Sampler`, `annealed` and `RankChains`, and never a kind's own room (`phrase/`).
"""
