"""From a sentence to samples of its derivations: chains, operators, diagnostics."""
