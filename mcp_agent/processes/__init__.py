"""Processes of this machine, and the only place that signals them.

A process is named by pid, start time and boot, so a pid that was given to another process is never signalled. Nothing
here imports more than the standard library (on Linux): the supervisor of each shell command starts with it.
`mcp_agent.processes.reaping` has the asynchronous part.
"""

from mcp_agent.processes.identity import ProcessIdentity, identify, is_alive
from mcp_agent.processes.search import (
    CALL_MARK,
    SESSION_MARK,
    descendants,
    marked,
    with_descendants,
    without_mark,
)
from mcp_agent.processes.signalling import send_signal

__all__ = [
    "CALL_MARK",
    "SESSION_MARK",
    "ProcessIdentity",
    "descendants",
    "identify",
    "is_alive",
    "marked",
    "send_signal",
    "with_descendants",
    "without_mark",
]
