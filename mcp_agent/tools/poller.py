"""What a supervisor waits for: output, ended children, signals and points in time, in one poll."""

import os
import select
import signal
import time
from collections.abc import Sequence
from types import FrameType

from mcp_agent.tools.capture import Capture

READ_BYTES = 1 << 18


class Poller:
    """Takes in everything that happens, one turn at a time, and remembers what matters."""

    def __init__(self) -> None:
        self.cancelled = False
        """One of the cancel signals came."""
        self.childless = True
        """No child is left; on Linux that means no descendant."""
        self.statuses: dict[int, int] = {}
        """What `waitpid` said, by pid."""
        self._poll = select.poll()
        self._outputs: dict[int, Capture | None] = {}
        self._wake, self._wakeup = os.pipe()

    def listen(self, cancel_signals: Sequence[signal.Signals]) -> None:
        """Let signals wake the poll, those included that came while they were blocked."""
        os.set_blocking(self._wake, False)
        os.set_blocking(self._wakeup, False)
        self._poll.register(self._wake, select.POLLIN)
        signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
        # Without a handler the signal would not reach the wakeup descriptor.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for number in cancel_signals:
            signal.signal(number, self._cancel)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, cancel_signals)

    def _cancel(self, _number: int, _frame: FrameType | None) -> None:
        self.cancelled = True

    def add_output(self, descriptor: int, capture: Capture) -> None:
        self._outputs[descriptor] = capture
        self._poll.register(descriptor, select.POLLIN)

    def discard_output(self) -> None:
        """Keep reading, so that no writer blocks, and throw away what comes."""
        self._outputs = dict.fromkeys(self._outputs)

    def turn(self, until: float) -> bool:
        """Wait for one thing to happen, or until a point of the monotonic clock. Says whether output came."""
        remaining = until - time.monotonic()
        ready = self._poll.poll(None if remaining == float("inf") else max(0.0, remaining * 1000))
        outputs = [descriptor for descriptor, _event in ready if descriptor != self._wake]
        for descriptor in outputs:
            self._read(descriptor)
        if len(outputs) < len(ready):
            os.read(self._wake, READ_BYTES)
        self._collect()
        return bool(outputs)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, READ_BYTES)
        capture = self._outputs[descriptor]
        if not data:
            self._poll.unregister(descriptor)
            os.close(descriptor)
            del self._outputs[descriptor]
        elif capture is not None:
            capture.write(data)

    def _collect(self) -> None:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self.statuses[ended[0]] = ended[1]
        except ChildProcessError:
            self.childless = True
