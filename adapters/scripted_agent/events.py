"""Events for whoever watches the program: each is given on stdin to a fresh process of the event command, in order."""

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

Event = Mapping[str, object]

COMMAND_LIMIT = timedelta(seconds=10)
"""An event command that takes longer has not delivered."""


class Emitter:
    """Delivers events in a thread of its own. An event that could not be delivered is handed to `untold`."""

    def __init__(self, command: Sequence[str], untold: Callable[[Event], None]) -> None:
        self._command, self._untold = command, untold
        self._events: queue.SimpleQueue[Event | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._deliver_all, name="events", daemon=True)
        self._thread.start()

    def emit(self, event: Event) -> None:
        """Returns at once."""
        self._events.put(event)

    def delivered(self) -> threading.Event:
        """Set as soon as every event emitted before has been delivered, or could not be."""
        mark = threading.Event()
        self._events.put(mark)
        return mark

    def close(self, limit: timedelta) -> None:
        """Waits until everything is delivered, but no longer than `limit`."""
        self._events.put(None)
        self._thread.join(limit.total_seconds())

    def _deliver_all(self) -> None:
        while (event := self._events.get()) is not None:
            if isinstance(event, threading.Event):
                event.set()
            elif not self._deliver(json.dumps(event).encode()):
                self._untold(event)

    def _deliver(self, data: bytes) -> bool:
        if not self._command:
            return False
        try:
            done = subprocess.run(
                self._command,
                input=data,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=COMMAND_LIMIT.total_seconds(),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0
