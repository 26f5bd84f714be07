"""HTTP requests in, translations, evidence and runs out, and a page to look at them; FastAPI is known here only."""
