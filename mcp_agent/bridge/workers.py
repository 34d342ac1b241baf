"""Threads for requests: one each, taken from those that have nothing to do, because starting one takes longest."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

MOST_IDLE = 8

Job = Callable[[], None]


class Workers:
    """Runs each job at once, in a thread of its own. Jobs raise nothing."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0

    def start(self, job: Job) -> None:
        """Have a thread do this. RuntimeError when the system gives no more threads."""
        with self._lock:
            waiting = self._idle > 0
            self._idle -= waiting
        if waiting:
            self._jobs.put(job)
        else:
            threading.Thread(target=self._work, args=(job,), name="request", daemon=True).start()

    def _work(self, job: Job) -> None:
        while True:
            job()
            del job  # and with it what it holds, while there is nothing to do
            with self._lock:
                if self._idle >= MOST_IDLE:
                    return
                self._idle += 1
            job = self._jobs.get()
