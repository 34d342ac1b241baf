"""How long idle sessions are kept, and how they are closed."""
