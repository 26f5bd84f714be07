"""What commands are made of: flags, help pages, consoles, loading, and outputs on the side; no command is here."""
