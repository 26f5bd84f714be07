"""What everything speaks: errors, files, vocabularies, corpora, tables of phrase pairs and n-grams, options, progress."""
