"""Hands one event of a provider's hook to the session: started as `python -I event_hook.py [SESSION_FILE]`.

It reads one JSON event from stdin, spools it and tells the server. An event that cannot be spooled is handed to the
server itself; while neither works, both are tried again. It says nothing, because the provider would show or obey it,
and exits with 0 unless the event is lost. Without a file it belongs to the session above it; an event of a CLI that
belongs to none is nobody's.
"""
# ruff: noqa: PTH100, PTH103, PTH104, PTH108, PTH118, PTH120, PTH123

import os
import signal
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from types import ModuleType

if __name__ == "__main__":  # started by its path: its siblings lie beside it, and it sees nothing else of the package
    for name, path in (("mcp_agent", ""), ("mcp_agent.bridge", os.path.dirname(os.path.abspath(__file__)))):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [path]

from mcp_agent.bridge.ancestry import session_file as session_file_above
from mcp_agent.bridge.loop import Loop, Wait
from mcp_agent.bridge.server_api import ToolServer
from mcp_agent.bridge.session_file import SessionFileInvalid, read_session
from mcp_agent.bridge.strict_json import loads

LARGEST_EVENT = 8 * 1024 * 1024
TELL_SECONDS = 2.0
KEEP_SECONDS = 6.0
"""An event that nobody takes is tried again for so long. With the last telling, it is less than a provider waits."""
PAUSE_SECONDS = 0.2
WHOLE_LIFE_SECONDS = 10
"""A provider that never closes our stdin waits no longer than this."""


def main(session_file: str) -> int:
    """The exit status."""
    _end_late_with(0)
    signal.alarm(WHOLE_LIFE_SECONDS)
    event = sys.stdin.buffer.read(LARGEST_EVENT + 1)
    if len(event) > LARGEST_EVENT or not isinstance(loads(event), dict):
        return 0
    _end_late_with(1)
    return 0 if keep(event, session_file) else 1


def let_go() -> int:
    """Take the event of a CLI that belongs to no session: an unread one might disturb it."""
    _end_late_with(0)
    signal.alarm(WHOLE_LIFE_SECONDS)
    sys.stdin.buffer.read(LARGEST_EVENT)
    return 0


def keep(event: bytes, session_file: str) -> bool:
    """Whether the event is spooled, or the server has it."""
    directory = os.path.join(os.path.dirname(os.path.abspath(session_file)), "events")
    name = f"{time.time_ns():020d}-{os.getpid()}"
    deadline = time.monotonic() + KEEP_SECONDS
    while True:
        if spool(event, directory, name):
            _end_late_with(0)
            tell(session_file)
            return True
        if tell(session_file, event=event, name=name):
            return True
        if time.monotonic() + PAUSE_SECONDS >= deadline:
            return False
        time.sleep(PAUSE_SECONDS)


def spool(event: bytes, directory: str, name: str) -> bool:
    """Write the event so that a reader of `*.json` sees it whole or not at all, in the order of arrival."""
    partial = f"{directory}/.{name}.tmp"
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(event)
        os.rename(partial, f"{directory}/{name}.json")
    except OSError:
        with suppress(OSError):
            os.unlink(partial)
        return False
    return True


def tell(session_file: str, *, event: bytes = b"", name: str = "") -> bool:
    """Whether the server was told, of what is spooled or of this event."""
    heard: list[bool] = []

    def ask() -> Generator[Wait, bool, None]:
        heard.append((yield from server.tell_of_event(TELL_SECONDS, event=event, name=name)))

    with suppress(SessionFileInvalid):
        server = ToolServer(read_session(session_file))
        Loop().run(ask())
    return any(heard)


def _end_late_with(status: int) -> None:
    signal.signal(signal.SIGALRM, lambda *_: os._exit(status))


if __name__ == "__main__":
    status = 0
    try:
        session_file = sys.argv[1] if len(sys.argv) > 1 else session_file_above()
        status = main(session_file) if session_file else let_go()
    finally:
        os._exit(status)
