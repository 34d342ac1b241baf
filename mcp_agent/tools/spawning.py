"""Start a shell for one command. By hand: importing `subprocess` takes a fifth of a supervisor's start."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

from mcp_agent.tools.call_files import Spec

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
SHELLS = ("/bin/bash", "/bin/sh")


class NotStarted(Exception):
    """The command was not started; the text says what was in the way."""


def become_subreaper() -> bool:
    """Adopt everything below this process that loses its parent; False where the system cannot do that."""
    return _prctl()(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def spawn_shell(spec: Spec, *, stdout: int, stderr: int) -> int:
    """Start the command in a session of its own, without stdin and terminal; the pid of its shell.

    It dies with this process. Raises NotStarted when its program could not be run in its directory.
    """
    prctl, parent = _prctl(), os.getpid()
    problems, problems_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == parent:
                _become_shell(spec, stdout=stdout, stderr=stderr)
        except (OSError, ValueError) as error:
            os.write(problems_end, str(error).encode(errors="replace"))
        finally:
            os._exit(127)
    os.close(problems_end)
    with os.fdopen(problems, encoding="utf-8") as stream:
        problem = stream.read()
    if problem:
        os.waitpid(pid, 0)
        raise NotStarted(problem)
    return pid


def _become_shell(spec: Spec, *, stdout: int, stderr: int) -> None:
    os.chdir(spec.working_directory)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, number in ((nothing, 0), (stdout, 1), (stderr, 2)):
        os.dup2(descriptor, number)
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    shell = next(filter(os.path.exists, SHELLS))
    os.execve(shell, [shell, "-c", spec.command], dict(spec.environment))


def _prctl() -> Callable[..., int]:
    if sys.platform != "linux":
        return lambda *_: -1
    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function
