"""Markov chains over the derivations of synchronous grammars. Only `sampling` enters here."""
