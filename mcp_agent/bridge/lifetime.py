"""The death of the parent process, noticed even where it leaves our stdin open."""

import os
import select
import threading
import time
from collections.abc import Callable

POLL_SECONDS = 0.5


def watch_parent(on_death: Callable[[], None]) -> None:
    """Call `on_death` from a thread once the present parent is gone."""
    threading.Thread(target=_watch, args=(os.getppid(), on_death), name="parent", daemon=True).start()


def _watch(parent: int, on_death: Callable[[], None]) -> None:
    try:
        descriptor = os.pidfd_open(parent)
    except (AttributeError, OSError):  # not this system, or not allowed here
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
    else:
        watch = select.poll()
        watch.register(descriptor, select.POLLIN)
        if os.getppid() == parent:  # else it died before the descriptor was opened
            watch.poll()
    on_death()
