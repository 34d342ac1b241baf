"""Starting the server when none answers, under its own lock, so that any number of callers get one server."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta

from mcp_agent.errors import ServerStartFailed
from mcp_agent.sessions.environment import COMMON
from mcp_agent.state import HOME_VARIABLE, StateDirectory
from mcp_agent.timeouts import SETTING_VARIABLES

STARTS_WITHIN = timedelta(seconds=20)
READY_FD_VARIABLE = "MCP_AGENT_READY_FD"
"""The descriptor that a starting server writes one byte to once it listens."""
ALREADY_RUNNING_EXIT = 75
"""What a server exits with when another one holds the lock."""


def server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a server sees of its starter's variables: an allow-list, and no credentials."""
    kept = {HOME_VARIABLE, *COMMON, *SETTING_VARIABLES}
    return {name: value for name, value in environ.items() if name in kept or name.startswith("LC_")}


def start_server(state: StateDirectory, environ: Mapping[str, str]) -> None:
    """Start a server in the background and return once it, or another one that was faster, listens.

    Raises `ServerStartFailed` with the end of its log.
    """
    state.create()
    read_end, write_end = os.pipe()
    try:
        with state.log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "mcp_agent.server"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={**server_environment(environ), HOME_VARIABLE: str(state.root), READY_FD_VARIABLE: str(write_end)},
                pass_fds=(write_end,),
                start_new_session=True,
            )
        os.close(write_end)
        write_end = -1
        if _said_ready(read_end):
            _disown(process)
            return
    finally:
        for descriptor in (read_end, write_end):
            with suppress(OSError):
                os.close(descriptor)
    _explain(process, state)


def _said_ready(read_end: int) -> bool:
    readable, _, _ = select.select([read_end], [], [], STARTS_WITHIN.total_seconds())
    return bool(readable) and os.read(read_end, 1) != b""


def _explain(process: "subprocess.Popen[bytes]", state: StateDirectory) -> None:
    """Why no word of readiness came: another server was faster, which is fine, or this one failed."""
    try:
        status = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.terminate()
        raise ServerStartFailed(f"it did not listen within {STARTS_WITHIN.total_seconds():g} s", state.log) from None
    if status != ALREADY_RUNNING_EXIT:
        raise ServerStartFailed(_last_line(state) or f"it ended with status {status}", state.log)
    deadline = time.monotonic() + STARTS_WITHIN.total_seconds()
    while not state.server_socket.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _disown(process: "subprocess.Popen[bytes]") -> None:
    """The server outlives us by design; Popen would warn about it when it is collected."""
    process.returncode = 0


def _last_line(state: StateDirectory) -> str:
    try:
        lines = state.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1].strip() if lines else ""
