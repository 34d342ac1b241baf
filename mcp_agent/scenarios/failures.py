"""What is left to look at when a probe failed: the last screen, and the server's log where it is kept."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.errors import McpAgentError, RemoteError, ServerError, ServerStartFailed
from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.server.client import Client

SHOWN_LINES = 12
LOG_LINES = 3
SHOWN_WITHIN = timedelta(seconds=10)
LOG_PREFIX = "mcp-agent-server-"


async def connected(space: Workspace, environment: Mapping[str, str], *, keep: bool) -> Client:
    """A client of the run's own server, which is started. Raises `ServerError` with what is left of its log."""
    try:
        return await anyio.to_thread.run_sync(lambda: Client.connect(space.state, environ=environment))
    except ServerStartFailed as error:
        raise ServerError(with_log(str(error), space, keep=keep)) from error


def told_by(error: McpAgentError) -> Mapping[str, object]:
    """The screen of a session that did not come up: nothing else of it is left."""
    fields = error.fields if isinstance(error, RemoteError) else {}
    lines = _last(str(fields.get("screen", "")).split("\n"))
    return {"screen": lines} if lines else {}


def with_log(reason: str, space: Workspace, *, keep: bool) -> str:
    """A reason that points at the server's log, which goes with the run, says how it is kept or where it was."""
    log = str(space.state.log)
    if log not in reason and "the server's log" not in reason:
        return reason
    if keep and (kept := _kept_log(space)) is not None:
        return reason.replace(log, str(kept))
    lines = [line.strip() for line in _last(_log_lines(space))[-LOG_LINES:]]
    ending = f"; its last lines: {' / '.join(lines)}" if lines else ""
    return f"{reason} (removed with this run; --keep keeps it){ending}"


def _log_lines(space: Workspace) -> Sequence[str]:
    try:
        return space.state.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()


async def seen(chat: Chat, *, keep: bool) -> Mapping[str, object]:
    """`state` of the session, the last lines of its `screen`, and with `keep` `server_log`, a copy of it that stays."""
    found: dict[str, object] = {}
    if state := await _state(chat):
        found["state"] = state
    if lines := _last(await _screen(chat)):
        found["screen"] = lines
    if keep and (log := _kept_log(chat.space)) is not None:
        found["server_log"] = str(log)
    return found


async def _screen(chat: Chat) -> Sequence[str]:
    if chat.session:
        with suppress(McpAgentError), anyio.move_on_after(SHOWN_WITHIN.total_seconds()):
            return await chat.driver.screen(chat.id)
    return ()


async def _state(chat: Chat) -> str | None:
    if chat.session:
        with suppress(McpAgentError), anyio.move_on_after(SHOWN_WITHIN.total_seconds()):
            now = await chat.driver.show(chat.id)
            return f"{now['state']} ({now['detail']})" if now["detail"] else str(now["state"])
    return None


def _last(lines: Sequence[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()][-SHOWN_LINES:]


def _kept_log(space: Workspace) -> Path | None:
    """A private copy beside the run's own directory, which is removed; one for each run."""
    kept = space.root.parent / f"{LOG_PREFIX}{space.root.name.rpartition('-')[2]}.log"
    try:
        content = space.state.log.read_bytes()
        with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(content)
    except OSError:
        return None
    return kept
