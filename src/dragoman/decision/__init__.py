"""One decision rule a file: from evidence (n-best lists, hypergraphs, samples) to a translation."""
