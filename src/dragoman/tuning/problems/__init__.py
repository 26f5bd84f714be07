"""Problems that tuning methods solve: candidates, hypergraphs and samples with their features and statistics."""
