"""Parts of commands: flags, help pages, consoles, loading, and side outputs. No command is here."""
