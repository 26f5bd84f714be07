"""N-best lists of other systems, one module per format. To add a format, add a file here."""
