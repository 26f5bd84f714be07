"""Preparing and restoring text: normalising, tokenising, case; lines in, lines out. Knows languages, not models."""
