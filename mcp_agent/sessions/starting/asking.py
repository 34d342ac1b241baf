"""What somebody asks for when a session is started, checked before anything is launched for it."""

from mcp_agent.adapter import Adapter
from mcp_agent.errors import UnknownPermissionMode
from mcp_agent.sessions.names import check_name
from mcp_agent.sessions.record import SessionOptions
from mcp_agent.sessions.starting.named_variables import check_variables


def check_asked(options: SessionOptions, adapter: Adapter) -> None:
    """Raises `UsageError` for what this provider, or any session, cannot have."""
    if options.name is not None:
        check_name(options.name)
    check_permission_mode(options.permission_mode, adapter)
    check_variables({name: options.environment.get(name, "") for name in options.named_variables})


def check_permission_mode(mode: str | None, adapter: Adapter) -> None:
    """Raises `UnknownPermissionMode`; None is the provider's asking mode, which every provider has."""
    if mode is not None and mode not in adapter.permission_modes:
        raise UnknownPermissionMode(mode, adapter.title, adapter.permission_modes)
