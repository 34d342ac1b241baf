"""The tools that sessions reach through the bridge."""
