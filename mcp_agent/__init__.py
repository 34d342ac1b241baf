"""Run coding-agent CLIs unattended, and say truthfully what happened."""

__version__ = "0.1.0"
