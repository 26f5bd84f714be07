"""Executors of work in parts: threads, processes or a cluster. Callers need not know which."""
