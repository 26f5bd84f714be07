"""Types and tools of all rooms: errors, files, vocabularies, corpora, phrase pairs, n-grams, options, progress."""
