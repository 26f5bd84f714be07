"""Translation: lines in, one result per sentence out, for all callers, on threads or on a cluster."""
