"""Algorithms on a hypergraph: sums and maxima over its derivations, lists and draws of them, n-grams, pruning."""
