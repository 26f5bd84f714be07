"""Experiments: methods, decision rules and seeds over test sets, planned in one file, kept in one folder."""
