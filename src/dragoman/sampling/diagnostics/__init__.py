"""How well the sampler does: convergence of chains, distance from exact probabilities, expectations side by side."""
