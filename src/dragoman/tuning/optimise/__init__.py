"""What methods of tuning go uphill with: line searches, quasi-Newton steps, stochastic ascent. Numbers only."""
