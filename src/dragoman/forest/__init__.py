"""Algorithms on hypergraphs: sums and maxima over derivations, k-best lists, samples, n-grams, pruning."""
