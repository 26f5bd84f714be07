"""What methods of tuning see: candidates, hypergraphs and samples with their features and statistics."""
