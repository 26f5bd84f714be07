"""SpillBuffer of tuning methods: jobs, loops, judging, and the folder in which all of it can be read and resumed."""
