"""The MCP client: a call that takes too long is dropped, and progress makes no difference."""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from adapters.scripted_agent.bridge import Bridge, BridgeMessage

TIMED_OUT = "MCP error -32001: Request timed out"


class Server(Bridge):
    """One running server. A call that is dropped is told by its number."""

    def __init__(
        self,
        command: Sequence[str],
        tell: Callable[[BridgeMessage], None],
        dropped: Callable[[int], None],
        *,
        ceiling: timedelta,
    ) -> None:
        self._dropped, self._ceiling = dropped, ceiling
        super().__init__(command, tell)

    def call(self, tool: str, arguments: Mapping[str, object]) -> int:
        """Asks for progress, as clients do, and pays no attention to it."""
        parameters = {"name": tool, "arguments": arguments, "_meta": {"progressToken": f"p-{tool}"}}
        number = self._request("tools/call", parameters, None)
        timer = threading.Timer(self._ceiling.total_seconds(), lambda: self._dropped(number))
        timer.daemon = True
        timer.start()
        return number
