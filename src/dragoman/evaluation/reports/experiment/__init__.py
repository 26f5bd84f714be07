"""The parts of an experiment's report, in the order of the page: each writes its section, and its CSV files."""
