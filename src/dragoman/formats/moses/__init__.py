"""The tables, search graphs and configuration files of Moses, one format a file."""
