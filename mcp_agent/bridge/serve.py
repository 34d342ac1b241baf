"""The bridge's life: read the session file, answer lines, leave when the client does."""

import os
import signal
import sys
from contextlib import suppress

from . import ancestry
from .dispatch import Bridge
from .lifetime import watch_parent
from .loop import Loop
from .session_file import Session, SessionFileInvalid, read_session
from .stdio import Output, read_lines

PROCESS_NAME = "mcpbridge"
LAST_WORDS_SECONDS = 0.5


def run(argv: list[str]) -> int:
    """Serve until the client leaves, which ends the process; returns only when there is nothing to serve."""
    path = argv[1] if len(argv) == 2 else ancestry.session_file() if len(argv) == 1 else None
    if path is None:
        sys.stderr.write("usage: mcpbridge.py SESSION_FILE, or without it below the CLI of a session\n")
        return 2
    try:
        session = read_session(path)
    except SessionFileInvalid as error:
        sys.stderr.write(f"mcpbridge: {error}\n")
        return 2
    _become_the_bridge()
    _serve(session)
    return 0


def _become_the_bridge() -> None:
    with suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as comm:  # noqa: PTH123 - pathlib is slow
        comm.write(PROCESS_NAME)
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the pane is for the CLI
    for descriptor in (0, 1):
        with suppress(OSError):
            os.set_blocking(descriptor, True)


def _serve(session: Session) -> None:
    output, loop = Output(1, on_broken=_leave), Loop()
    bridge = Bridge(session, output, loop)
    watch_parent(on_death=_leave)
    loop.run(read_lines(0, bridge.take))
    bridge.cancel_all()
    output.drain(LAST_WORDS_SECONDS)
    _leave()


def _leave() -> None:
    """Go, whatever other threads do. The system closes the connections, which cancels what runs."""
    os._exit(0)
