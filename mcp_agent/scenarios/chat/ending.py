"""What is left when all is over: nothing."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import cast

import psutil

from mcp_agent.errors import RemoteError
from mcp_agent.processes import SESSION_MARK, identify, is_alive, marked
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.scenarios.chat.chat import Chat, pane_pid
from mcp_agent.scenarios.chat.looking import look_until, nothing
from mcp_agent.scenarios.chat.proving import Evidence, require
from mcp_agent.server.client import Json
from mcp_agent.sessions.starting.launching import read_token

SERVER_ENDS_WITHIN = timedelta(seconds=10)
REST_ENDS_WITHIN = timedelta(seconds=10)


async def stop(chat: Chat) -> Evidence:
    """Stopped means gone: processes, pane, token, sockets, server."""
    cli, token = identify(pane_pid(chat)), read_token(chat.space.state, chat.id)
    used = _usage(await chat.driver.turns(chat.id))
    server = identify(int(str((await chat.driver.server())["pid"])))
    await chat.driver.stop_session(chat.id)
    require(cli is None or not is_alive(cli), "the CLI still runs")
    left = marked(SESSION_MARK, chat.id)
    require(not left, f"processes are left: {[process.pid for process in left]}")
    directory = chat.space.state.session(chat.id)
    files = sorted(path.name for path in directory.iterdir() if path.name != "session.json")
    require(not files, f"files are left in the session's directory: {files}")
    require(token is None or await _is_refused(chat, token), "the session's token still opens the server")
    require(not chat.space.state.tmux_socket.exists(), "the tmux server still has its socket")
    await chat.driver.stop_server()
    require(server is None or await wait_gone([server], limit=SERVER_ENDS_WITHIN), "the server still runs")
    sockets = chat.space.state.sockets
    require(not sockets.exists(), f"sockets are left in {sockets}")
    strangers = await look_until(nothing, lambda: list(_knowing(chat.space.root)), limit=REST_ENDS_WITHIN)
    require(not strangers, f"processes are left that know of this run: {strangers}")
    return {"session": chat.id, "usage": used}


async def _is_refused(chat: Chat, token: str) -> bool:
    try:
        await chat.driver.tools_of(chat.id, token)
    except RemoteError:
        return True
    return False


def _knowing(root: Path) -> Iterator[str]:
    """Processes that know of the run's place by their environment, their arguments or their directory."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            told = [*process.cmdline(), *process.environ().values(), process.cwd()]
            if process.pid != os.getpid() and any(str(root) in text for text in told):
                yield f"{process.pid} {process.name()}"


def _usage(turns: Sequence[Json]) -> dict[str, float] | None:
    """What the whole conversation cost; None when the provider does not say."""
    told = [cast("Json", turn["usage"]) for turn in turns if turn["usage"] is not None]
    names = {name for usage in told for name, value in usage.items() if value is not None}
    return {name: sum(cast("float", usage[name] or 0) for usage in told) for name in sorted(names)} or None
