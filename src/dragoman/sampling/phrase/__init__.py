"""Markov chains over phrase-based derivations. Only `sampling` enters here."""
