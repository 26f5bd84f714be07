"""Experiments: methods, decision rules and seeds over test sets; a plan is a file, its results are a folder."""
