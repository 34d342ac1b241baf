"""All that one server holds, wired once."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_agent import registry
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.running import RunningCalls
from mcp_agent.config import Config
from mcp_agent.executions.live_children import LiveChildren
from mcp_agent.executions.service import Executions
from mcp_agent.executions.store import ExecutionStore
from mcp_agent.server.executing import engine_of
from mcp_agent.server.starting import server_environment
from mcp_agent.sessions.manager import SessionManager
from mcp_agent.sessions.recovery.adopting import tmux_may_live
from mcp_agent.sessions.starting.launching import ServerCommand
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.store.upkeep import keep
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import SETTING_VARIABLES, Policy
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.version import check_tmux
from mcp_agent.tools.agents import AGENT_TOOL_NAMES, agent_tools
from mcp_agent.tools.call_lookup import GetToolCall, GetToolOutput, ListToolCalls, WaitToolCall
from mcp_agent.tools.custom_loading import load_custom_tools
from mcp_agent.tools.dispatch import Dispatcher
from mcp_agent.tools.reconciling import prepare, recover
from mcp_agent.tools.shell import ExecuteShellCommand
from mcp_agent.tools.tool import Tool

LOOK_UPS = (GetToolCall, ListToolCalls, WaitToolCall, GetToolOutput)
_BUILT_IN_NAMES = (ExecuteShellCommand.name, *(look_up.name for look_up in LOOK_UPS), *AGENT_TOOL_NAMES)

SERVER_ARGV = (sys.executable, "-m", "mcp_agent.server", "--detach")


@dataclass(slots=True)
class Runtime:
    """A running server's parts. `stop_requested` ends the server."""

    state: StateDirectory
    config: Config
    policy: Policy
    owner_token: str = field(repr=False)
    sessions: SessionManager
    executions: Executions
    ledger: Ledger
    running: RunningCalls
    dispatcher: Dispatcher
    settings: Mapping[str, str]
    """The limits' variables as this server sees them: a client with other ones should know."""
    tool_problems: Sequence[str] = ()
    """What is wrong with tools of the user's own that could not be loaded."""
    stop_requested: anyio.Event = field(default_factory=anyio.Event)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, state: StateDirectory, config: Config, *, environ: Mapping[str, str] = os.environ
    ) -> AsyncGenerator["Runtime"]:
        """Leaving it ends the tasks of this server; sessions live on in tmux."""
        state.calls.mkdir(mode=0o700, exist_ok=True)
        policy = Policy.resolve(environ, config.file_timeouts())
        loaded = await anyio.to_thread.run_sync(
            lambda: load_custom_tools(config.tools.modules, paths=config.tools.paths, taken=_BUILT_IN_NAMES)
        )
        running, children, stop_requested = RunningCalls(), LiveChildren(), anyio.Event()
        with (
            Ledger.open(state.ledger) as ledger,
            SessionStore.open(state.session_store) as store,
            ExecutionStore.open(state.executions) as execution_store,
        ):
            lost = await anyio.to_thread.run_sync(prepare, ledger, state)
            # Ended last: what is being typed into a session when the server ends is typed to its end.
            async with _ended_when_left() as terminal_owner, anyio.create_task_group() as owner:
                terminals = TerminalHost(lambda: _open_tmux(state), terminal_owner)
                sessions = SessionManager(
                    state=state,
                    policy=policy,
                    terminals=terminals,
                    owner=owner,
                    cancel_calls=running.cancel_session,
                    server_command=ServerCommand(SERVER_ARGV, server_environment(environ)),
                    load_adapter=cache(registry.load),
                    size=(config.sessions.columns, config.sessions.rows),
                    server_stops=stop_requested.is_set,
                    store=store,
                    reasons=(running.at_work_for, children.reason),
                )
                running.on_end = sessions.nudge
                executions = Executions(
                    execution_store,
                    sessions,
                    config,
                    owner,
                    engine_of(state, config, environ),
                    look_ups=frozenset(look_up.name for look_up in LOOK_UPS),
                    tools=frozenset(name for name in (*_BUILT_IN_NAMES, *loaded.tools) if _is_allowed(config, name)),
                    live_children=children,
                )
                dispatcher = Dispatcher(
                    tools=_tools(
                        config,
                        [
                            *(look_up(ledger, running, state) for look_up in LOOK_UPS),
                            *agent_tools(executions),
                        ],
                        loaded.tools,
                    ),
                    policy=policy,
                    ledger=ledger,
                    running=running,
                    state=state,
                    owner=owner,
                    server_stops=stop_requested.is_set,
                    tell=store.tell,
                )
                owner.start_soon(keep, store, name="keep the store")
                owner.start_soon(recover, dispatcher, lost, name="recover lost calls")
                await sessions.adopt(tmux_lives=lambda: tmux_may_live(state.tmux_socket))
                executions.begin()
                yield cls(
                    state=state,
                    config=config,
                    policy=policy,
                    owner_token=state.ensure_owner_token(),
                    sessions=sessions,
                    executions=executions,
                    ledger=ledger,
                    running=running,
                    dispatcher=dispatcher,
                    settings={name: environ[name] for name in SETTING_VARIABLES if name in environ},
                    tool_problems=loaded.problems,
                    stop_requested=stop_requested,
                )
                owner.cancel_scope.cancel()


@asynccontextmanager
async def _ended_when_left() -> AsyncGenerator[TaskGroup]:
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()


@asynccontextmanager
async def _open_tmux(state: StateDirectory) -> AsyncGenerator[TmuxTerminal]:
    await anyio.to_thread.run_sync(check_tmux)
    async with TmuxTerminal.open(state.tmux_socket) as terminal:
        yield terminal


def _tools(config: Config, look_ups: Sequence[Tool[Any]], custom: Mapping[str, Tool[Any]]) -> dict[str, Tool[Any]]:
    """The tools that sessions have: all, or those that the configuration names."""
    every: list[Tool[Any]] = [ExecuteShellCommand(), *look_ups, *custom.values()]
    return {tool.name: tool for tool in every if _is_allowed(config, tool.name)}


def _is_allowed(config: Config, tool: str) -> bool:
    return config.tools.allow is None or tool in config.tools.allow
