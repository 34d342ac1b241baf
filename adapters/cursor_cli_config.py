"""What Cursor CLI is told by files: its servers, hooks and permissions stand in the project, and all sessions share it.

Sources, read in November 2026: https://cursor.com/docs/cli/mcp, https://cursor.com/docs/hooks,
https://cursor.com/docs/cli/reference/permissions and https://cursor.com/docs/cli/reference/configuration.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence

from mcp_agent.adapter import LaunchFile, LaunchRequest, SharedFileEdit

SERVER = "api-bridge"
HOOK_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "stop")
"""One name that a version does not know voids the whole file, so none is here that was not seen to fire in the
interactive CLI (users' reports on 2026.09.10).
"""


def approval(request: LaunchRequest) -> Sequence[str]:
    """A project's server is not loaded until it is approved, once for a workspace and a configuration of the server.

    `--approve-mcps` would approve everybody's. Sources: https://cursor.com/docs/cli/mcp and users' reports.
    """
    return (str(request.executable), "mcp", "enable", SERVER)


def seeds(request: LaunchRequest) -> tuple[LaunchFile, ...]:
    """In a home of ours a directory that a person trusts is trusted from the start (users' reports on 2026.09)."""
    if not (request.home_is_ours and request.trust):
        return ()
    project = re.sub(r"[^A-Za-z0-9]+", "-", str(request.working_directory)).strip("-")
    path = request.home / ".cursor/projects" / project / ".workspace-trusted"
    return (LaunchFile(path, json.dumps({"workspacePath": str(request.working_directory)})),)


def edits(request: LaunchRequest) -> tuple[SharedFileEdit, ...]:
    """Nothing in them names a session: the bridge and the event program find theirs by the CLI that starts them."""
    return (*_servers(request), *_hooks(request), *_permissions(request))


def _servers(request: LaunchRequest) -> Iterator[SharedFileEdit]:
    program, *arguments = request.bridge_command[:-1]
    entry = {"type": "stdio", "command": program, "args": arguments}
    yield SharedFileEdit(request.working_directory / ".cursor/mcp.json", ("mcpServers", SERVER), entry)


def _hooks(request: LaunchRequest) -> Iterator[SharedFileEdit]:
    path = request.working_directory / ".cursor/hooks.json"
    hook = {"command": shlex.join(request.event_command[:-1])}
    yield SharedFileEdit(path, ("version",), 1, yields=True)
    for event in HOOK_EVENTS:
        yield SharedFileEdit(path, ("hooks", event), hook, is_item=True)


def _permissions(request: LaunchRequest) -> Iterator[SharedFileEdit]:
    """Both lists are wanted wherever one stands. What one session of a directory was allowed, all of it are."""
    path = request.working_directory / ".cursor/cli.json"
    if not request.allow_tools and request.provider_shell:
        return
    for kind in ("allow", "deny"):
        yield SharedFileEdit(path, ("permissions", kind), [], yields=True)
    for tool in sorted(request.allow_tools):
        yield SharedFileEdit(path, ("permissions", "allow"), f"Mcp({SERVER}:{tool})", is_item=True)
    if not request.provider_shell:
        yield SharedFileEdit(path, ("permissions", "deny"), "Shell(*)", is_item=True)
