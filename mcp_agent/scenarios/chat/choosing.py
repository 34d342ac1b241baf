"""Which probes are asked: all of them, or those that were named, after the one that starts the session."""

from collections.abc import Mapping, Sequence

from mcp_agent.errors import UsageError
from mcp_agent.scenarios.chat.probe import Probe


def chosen(probes: Mapping[str, Probe], names: Sequence[str]) -> dict[str, Probe]:
    """In their own order, whatever that of the names is. Raises `UsageError` for a name that none has."""
    if unknown := [name for name in names if name not in probes]:
        raise UsageError(f"--probe {unknown[0]}: there is no such probe; --list-probes names them")
    first = next(iter(probes), None)
    return {name: probe for name, probe in probes.items() if not names or name in names or name == first}
