"""The command line: one file per command, results on standard output, everything else on standard error."""
