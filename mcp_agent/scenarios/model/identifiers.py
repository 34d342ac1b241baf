"""Fresh identifiers for what the server says."""

import secrets


def new_id(prefix: str) -> str:
    """`prefix_` and twenty random hex digits."""
    return f"{prefix}_{secrets.token_hex(10)}"
