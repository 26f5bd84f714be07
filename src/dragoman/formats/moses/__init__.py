"""Moses' tables, search graphs and configuration files, one module per format."""
