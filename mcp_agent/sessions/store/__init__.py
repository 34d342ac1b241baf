"""What is kept of sessions on disk beside their records."""
