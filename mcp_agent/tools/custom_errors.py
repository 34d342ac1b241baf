"""What can go wrong around a custom tool's function.

ToolError
├── ToolRefused       raised by the function itself: it did nothing
└── ToolBusy          too many of its threads run: nothing was started
McpAgentError
├── ToolCrashed       the function raised what its caller cannot be handed as it is
└── WorkAbandoned     the call was cancelled, and its work goes on
    ├── ThreadAbandoned   a thread cannot be stopped
    └── TaskAbandoned     a task did not stop when it was told to
"""

from mcp_agent.errors import McpAgentError, ToolError


class ToolRefused(ToolError):
    """Raised by a tool's function that did nothing, and says why. Anything else it raises means: nobody knows."""


class ToolBusy(ToolError):
    def __init__(self, tool: str, *, running: int, abandoned: int) -> None:
        self.tool, self.running, self.abandoned = tool, running, abandoned
        super().__init__(
            f"{tool} has {running} threads that still run, {abandoned} of them of calls that were cancelled: no more"
            " are started; the call was not started"
        )


class ToolCrashed(McpAgentError):
    """The function raised what its caller cannot be handed as it is: an exit, a group, an endless message."""


class WorkAbandoned(McpAgentError):
    """Raised in place of the cancellation of a call whose work goes on: nobody knows what it will do."""


class TaskAbandoned(WorkAbandoned):
    def __init__(self, work: str) -> None:
        self.work = work
        super().__init__(f"{work} did not stop when it was cancelled: it may still be running, and may still finish")


class ThreadAbandoned(WorkAbandoned):
    """Raised in place of the cancellation of a call whose work runs in a thread."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(
            f"{tool} runs in a thread, which cannot be stopped: the thread may still be running, and may still"
            " finish its work"
        )
