"""Behind the front door: what `import dragoman` offers, thin over the other rooms; only people and `cli` enter here."""
