"""Pages that people read: HTML put together from folders of runs, experiments and diagnoses."""
