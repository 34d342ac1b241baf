"""The body of `POST /sessions`, checked as far as this side can before any server is asked, or started."""

import os

from mcp_agent import registry
from mcp_agent.cli.context import absolute
from mcp_agent.cli.start_options import StartOptions
from mcp_agent.errors import UsageError
from mcp_agent.sessions.environment import for_session, named_by_adapter
from mcp_agent.sessions.starting.asking import check_permission_mode
from mcp_agent.sessions.starting.launching import check_working_directory, find_executable
from mcp_agent.sessions.starting.named_variables import read_variables
from mcp_agent.tmux.version import check_tmux


def start_body(options: StartOptions) -> dict[str, object]:
    """Raises on what cannot be meant, and `CannotRunHere` for what this machine lacks."""
    adapter = registry.load(options.provider)
    check_permission_mode(options.permission_mode, adapter)
    working_directory = absolute(options.directory)
    check_working_directory(working_directory)
    named = read_variables(options.env or [], os.environ)
    caller = os.environ | named
    common = for_session(caller, named=named)
    find_executable(adapter, common)
    check_tmux()
    body: dict[str, object] = {
        "provider": options.provider,
        "working_directory": str(working_directory),
        "environment": common | named_by_adapter(caller, adapter.environment_names),
        "named_environment": named,
        "allow_tools": options.allow_tool or [],
        "tools": options.tool or None,
        "trust": options.trust,
        "model": options.model,
        "permission_mode": options.permission_mode,
    }
    if options.model_endpoint is None and options.model_key_variable is not None:
        raise UsageError("--model-key-variable needs --model-endpoint, the model server whose key it names")
    if options.model_endpoint is not None:
        body["endpoint"] = {"base_url": options.model_endpoint, "api_key": _key(options.model_key_variable)}
    return body


def _key(variable: str | None) -> str:
    if variable is None:
        raise UsageError("--model-endpoint needs --model-key-variable, the name of a variable that holds its key")
    if not os.environ.get(variable):
        raise UsageError(f"--model-key-variable: the variable {variable} is not set")
    return os.environ[variable]
