"""The reference, written from what the package says about itself: one module for each part of it.

Each part has a function `pages`, which returns Markdown by the name of its file.
"""
