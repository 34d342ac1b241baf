"""Hands one event of a provider's hook to the session: started as `python -I event_hook.py SESSION_FILE`.

It reads one JSON event from stdin, spools it and tells the server. It says nothing and always exits with 0, because
the provider would show or obey anything else.
"""
# ruff: noqa: PTH100, PTH103, PTH104, PTH118, PTH120, PTH123

import os
import signal
import sys
import time
from types import ModuleType

if __name__ == "__main__":  # started by its path: its siblings lie beside it, and it sees nothing else of the package
    for name, path in (("mcp_agent", ""), ("mcp_agent.bridge", os.path.dirname(os.path.abspath(__file__)))):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [path]

from mcp_agent.bridge.loop import Loop
from mcp_agent.bridge.server_api import ToolServer
from mcp_agent.bridge.session_file import read_session
from mcp_agent.bridge.strict_json import loads

LARGEST_EVENT = 8 * 1024 * 1024
TELL_SECONDS = 2.0
WHOLE_LIFE_SECONDS = 10
"""A provider that never closes our stdin waits no longer than this."""


def main(session_file: str) -> None:
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.alarm(WHOLE_LIFE_SECONDS)
    event = sys.stdin.buffer.read(LARGEST_EVENT + 1)
    if len(event) > LARGEST_EVENT or not isinstance(loads(event), dict):
        return
    spool(event, os.path.join(os.path.dirname(os.path.abspath(session_file)), "events"))
    Loop().run(ToolServer(read_session(session_file)).tell_of_event(TELL_SECONDS))


def spool(event: bytes, directory: str) -> None:
    """Write the event so that a reader of `*.json` sees it whole or not at all, in the order of arrival."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    name = f"{time.time_ns():020d}-{os.getpid()}"
    partial = f"{directory}/.{name}.tmp"
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(event)
    os.rename(partial, f"{directory}/{name}.json")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    finally:
        os._exit(0)
