"""End what is left of one session: `python -I -m mcp_agent.processes.ending SESSION WORD_FILE`.

A terminal runs this when it closed a pane by itself, with no server there to do it. It leaves word in the file first,
then ends what carries the session's mark: TERM, a grace, KILL. What was started after this program belongs to a session
that was resumed meanwhile and is left alone.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mcp_agent.errors import SignalRefused
from mcp_agent.processes.identity import ProcessIdentity, identify, is_alive
from mcp_agent.processes.search import SESSION_MARK, marked, with_descendants
from mcp_agent.processes.signalling import send_signal

GRACE_SECONDS = 5.0
"""How long a CLI may take to put its own things away."""
KILL_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 0.05


def main(session_id: str, word: Path) -> None:
    me = identify(os.getpid())
    if me is None:
        return
    leave_word(word)
    end_session(session_id, before=me)


def leave_word(path: Path) -> None:
    """Say when that was, for the next server. A session without a directory has nobody to be told."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"at": time.time()}, file)


def end_session(session_id: str, *, before: ProcessIdentity) -> list[ProcessIdentity]:
    """End everything of the session that is no younger than `before`; answers what would not end."""
    kill_at = time.monotonic() + GRACE_SECONDS
    told: set[ProcessIdentity] = set()
    while (left := _older(session_id, before)) and time.monotonic() < kill_at + KILL_SECONDS:
        if time.monotonic() < kill_at:
            _signal([process for process in left if process not in told], signal.SIGTERM)
            told.update(left)
        else:
            _signal(left, signal.SIGKILL)
        _wait_for(left, until=time.monotonic() + LOOK_AGAIN_SECONDS)
    return left


def _older(session_id: str, before: ProcessIdentity) -> list[ProcessIdentity]:
    roots = [found for found in marked(SESSION_MARK, session_id) if found.start_time <= before.start_time]
    return [found for found in with_descendants(roots) if found.pid != os.getpid()]


def _signal(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    for process in processes:
        with suppress(SignalRefused):
            send_signal(process, number)


def _wait_for(processes: Iterable[ProcessIdentity], *, until: float) -> None:
    while time.monotonic() < until and any(map(is_alive, processes)):
        time.sleep(LOOK_AGAIN_SECONDS / 10)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
