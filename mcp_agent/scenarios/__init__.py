"""End-to-end scenarios: real CLIs driven through the public API."""
