"""Sentences to samples of their derivations: chains, samplers and annealing for every kind of model.

Callers see `Sampler` and `anneal`, and never the room of a kind (`phrase/`, `chart/`), which describes the space that
chains move in.
"""
