"""Figures: each function draws its arguments and computes nothing."""
