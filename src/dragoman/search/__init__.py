"""Sentence to hypergraph: phrase-based search by stacks, cube pruning or exhaustively, and greedy hill-climbing."""
