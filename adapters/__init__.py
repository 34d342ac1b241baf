"""One module per provider: everything that is true of one coding-agent CLI only."""
