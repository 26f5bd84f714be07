"""What everything speaks: errors, files, vocabularies, corpora, phrase pairs, n-grams, options, progress."""
