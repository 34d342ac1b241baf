"""The chat scenario's probes: one session of a real CLI, and what is asked of it."""
