"""Translation: lines in, one result for each sentence out, whoever asks and wherever the work is done."""
