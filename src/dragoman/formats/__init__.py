"""Files of other programs, one module a format: each reads and writes, and says where a file is wrong."""
