"""Numerical optimisation for tuning methods: line searches, quasi-Newton steps, stochastic ascent."""
