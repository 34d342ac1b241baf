"""Tasks that wait for descriptors and for times, all in one thread.

A task is a generator: it yields what it waits for, and is resumed with whether that came in time. Stopping a task
closes its generator, whose `finally` puts away what it holds. Handing a call from one thread to another would cost more
than all the rest of it, and `asyncio` takes longer to import than the bridge may take to start.
"""

import math
import select
import sys
import time
from collections.abc import Generator

READABLE, WRITABLE = select.POLLIN, select.POLLOUT
_LONGEST_PAUSE_SECONDS = 3600.0


class Wait:
    """For a descriptor, which may be ready without cause, or for a monotonic time, or for whichever is first."""

    __slots__ = ("descriptor", "events", "until")

    def __init__(self, descriptor: int | None = None, events: int = READABLE, *, until: float = math.inf) -> None:
        self.descriptor, self.events, self.until = descriptor, events, until


Task = Generator[Wait, bool, object]


class Loop:
    def __init__(self) -> None:
        self._poll = select.poll()
        self._waits: dict[Task, Wait] = {}
        self._by_descriptor: dict[int, Task] = {}

    def start(self, task: Task) -> None:
        """Run a task until it waits for the first time. What it raises is told on stderr and harms no other task."""
        self._go_on(task, None)

    def stop(self, task: Task) -> None:
        """End a task where it waits; one that is over, or that never began, is left alone."""
        self._forget(task)
        task.close()

    def run(self, task: Task) -> None:
        """Run a task to its end, and the others meanwhile."""
        self.start(task)
        while task in self._waits:
            self._turn()

    def _turn(self) -> None:
        """Wait for what comes first, and go on with every task whose wait is over."""
        for descriptor, _ in self._poll.poll(self._pause_milliseconds()):
            if task := self._by_descriptor.get(descriptor):
                self._go_on(task, True)
        now = time.monotonic()
        for task in [task for task, wait in self._waits.items() if wait.until <= now]:
            self._go_on(task, False)

    def _pause_milliseconds(self) -> int | None:
        until = min((wait.until for wait in self._waits.values()), default=math.inf)
        if until == math.inf:
            return None
        return math.ceil(min(max(until - time.monotonic(), 0.0), _LONGEST_PAUSE_SECONDS) * 1000)

    def _go_on(self, task: Task, came: bool | None) -> None:
        """Resume a task; one that was stopped meanwhile says that it is over."""
        self._forget(task)
        try:
            wait = task.send(came)  # type: ignore[arg-type] # a generator is started with None
        except StopIteration:
            return
        except Exception:  # noqa: BLE001 - a fault of ours in one task must not end the others
            sys.excepthook(*sys.exc_info())
            return
        self._waits[task] = wait
        if wait.descriptor is not None:
            self._by_descriptor[wait.descriptor] = task
            self._poll.register(wait.descriptor, wait.events)

    def _forget(self, task: Task) -> None:
        wait = self._waits.pop(task, None)
        if wait is not None and wait.descriptor is not None:
            del self._by_descriptor[wait.descriptor]
            self._poll.unregister(wait.descriptor)
