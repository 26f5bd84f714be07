"""Historical spelling to modern spelling: a model of characters, memorised forms and word lists, put together."""
