"""Diagnostics of samplers: convergence of chains, divergence from exact probabilities, expected features."""
