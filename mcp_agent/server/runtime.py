"""All that one server holds, wired once."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from mcp_agent.calls.log import CallLog
from mcp_agent.config import Config
from mcp_agent.server.starting import server_environment
from mcp_agent.sessions.adopting import tmux_may_live
from mcp_agent.sessions.launching import ServerCommand
from mcp_agent.sessions.manager import SessionManager
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import SETTING_VARIABLES, Policy
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.version import check_tmux
from mcp_agent.tools.dispatch import Dispatcher
from mcp_agent.tools.shell import ExecuteShellCommand
from mcp_agent.tools.tool import Tool

SERVER_ARGV = (sys.executable, "-m", "mcp_agent.server", "--detach")


@dataclass(slots=True)
class Runtime:
    """A running server's parts. `stop_requested` ends the server."""

    state: StateDirectory
    config: Config
    policy: Policy
    owner_token: str = field(repr=False)
    sessions: SessionManager
    calls: CallLog
    dispatcher: Dispatcher
    settings: Mapping[str, str]
    """The limits' variables as this server sees them: a client with other ones should know."""
    stop_requested: anyio.Event = field(default_factory=anyio.Event)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, state: StateDirectory, config: Config, *, environ: Mapping[str, str] = os.environ
    ) -> AsyncGenerator["Runtime"]:
        """Leaving it ends the tasks of this server; sessions live on in tmux."""
        state.calls.mkdir(mode=0o700, exist_ok=True)
        policy = Policy.resolve(environ, config.file_timeouts())
        calls = CallLog()
        async with anyio.create_task_group() as owner:
            terminals = TerminalHost(lambda: _open_tmux(state), owner)
            sessions = SessionManager(
                state=state,
                policy=policy,
                terminals=terminals,
                owner=owner,
                cancel_calls=calls.cancel_session,
                server_command=ServerCommand(SERVER_ARGV, server_environment(environ)),
                size=(config.sessions.columns, config.sessions.rows),
            )
            await sessions.adopt(tmux_lives=lambda: tmux_may_live(state.tmux_socket))
            dispatcher = Dispatcher(_tools(config), policy, calls, state, owner)
            settings = {name: environ[name] for name in SETTING_VARIABLES if name in environ}
            yield cls(state, config, policy, state.ensure_owner_token(), sessions, calls, dispatcher, settings)
            owner.cancel_scope.cancel()


@asynccontextmanager
async def _open_tmux(state: StateDirectory) -> AsyncGenerator[TmuxTerminal]:
    check_tmux()
    async with TmuxTerminal.open(state.tmux_socket) as terminal:
        yield terminal


def _tools(config: Config) -> dict[str, Tool[Any]]:
    """The tools that sessions have: all, or those that the configuration names."""
    built_in: list[Tool[Any]] = [ExecuteShellCommand()]
    allowed = config.tools.allow
    return {tool.name: tool for tool in built_in if allowed is None or tool.name in allowed}
