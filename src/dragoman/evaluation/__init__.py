"""Looking at results: pictures and reports."""
