"""Rules of hierarchical models: extraction and scores."""
