"""N-best lists of other systems, one format a file; a new file here is a new format."""
