"""What an adapter's CLI cannot do: declared by the adapter, or plain from its other answers."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from mcp_agent.adapter import Adapter, Capability


class Setting(StrEnum):
    """What there may be nothing to set of; it follows from an adapter's other answers."""

    MCP_TIMEOUT = "MCP timeout"
    PERMISSION_MODES = "permission modes"


Need = Capability | Setting

_ANY_LIMIT = timedelta(minutes=90)


def lacking(adapter: Adapter) -> Mapping[Need, str]:
    """Everything that is lacking, each with the reason."""
    found: dict[Need, str] = {need: reason for need, reason in adapter.lacks.items()}  # noqa: C416 - a wider key
    if adapter.mcp_timeout(_ANY_LIMIT) is None:
        found[Setting.MCP_TIMEOUT] = "this CLI is told no limit of an MCP call"
    if not adapter.permission_modes:
        found[Setting.PERMISSION_MODES] = "there is no mode to choose"
    return found
