"""Reports: HTML pages from folders of runs, experiments and diagnoses."""
