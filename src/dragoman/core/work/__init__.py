"""Work that is cut into parts: in threads, in processes or on a cluster, and callers do not know which."""
