"""Searching with phrase tables: stack decoding, cube pruning, everything, hill-climbing. Only `search` enters here."""
