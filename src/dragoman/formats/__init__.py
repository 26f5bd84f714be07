"""File formats of other programs, one module per format: each reads and writes, and reports errors with their line."""
