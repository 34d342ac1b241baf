"""A process tree that does not want to end: started as `hostile_tree.py FIFO`, it tells its call and its pids there.

Every process ignores TERM and its friends. One holds the pipe of its parent's output, one leaves for a session of its
own, its child leaves that one too, one forks twice to be adopted, and one does all of it and takes a new program with
an empty environment, no descriptors and another directory.
"""

import os
import signal
import sys
from collections.abc import Callable

PROCESSES = 6
"""How many pids it tells, one a line, after the line with the id of its call."""


def main(fifo: str) -> None:
    told = os.open(fifo, os.O_WRONLY)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.write(told, f"{os.environ['MCP_AGENT_CALL']}\n".encode())
    fork(told, stay)
    fork(told, leave_twice)
    fork_twice(told, stay)
    fork_twice(told, forget_everything)
    tell(told)
    stay(told)


def fork(told: int, then: Callable[[int], None]) -> None:
    if os.fork() == 0:
        tell(told)
        then(told)


def fork_twice(told: int, then: Callable[[int], None]) -> None:
    """The one in between has ended on return, so that the other one has lost its parent."""
    between = os.fork()
    if between == 0:
        os.setsid()
        fork(told, then)
        os._exit(0)
    os.waitpid(between, 0)


def tell(told: int) -> None:
    os.write(told, f"{os.getpid()}\n".encode())


def stay(told: int) -> None:
    while True:
        signal.pause()


def leave_twice(told: int) -> None:
    os.setsid()
    fork(told, leave)
    stay(told)


def leave(told: int) -> None:
    os.setsid()
    stay(told)


def forget_everything(told: int) -> None:
    os.setsid()
    os.chdir("/")
    os.closerange(0, told + 1)
    os.execve("/bin/sleep", ["sleep", "600"], {})


if __name__ == "__main__":
    main(sys.argv[1])
