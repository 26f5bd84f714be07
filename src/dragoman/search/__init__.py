"""Search: the interface of all searches, and a folder for each kind of model.

Callers use `Translator` and `SearchResult`, never a folder of one kind (`phrase/`): `Translator.of` makes the
translator for a model.
"""
