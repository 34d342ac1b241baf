"""From a wish to a CLI that shows its prompt."""
