"""Who watches which pane. Unread writes are merged, so a slow reader costs nothing and misses nothing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from math import inf

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from mcp_agent.tmux.terminal import Died, Lost, PaneEvent, PaneRef, Wrote

_Send = MemoryObjectSendStream[PaneEvent]


class Watchers:
    """The open watches of a terminal, by pane."""

    def __init__(self) -> None:
        self._watches: dict[str, list[tuple[PaneRef, _Send]]] = {}

    @asynccontextmanager
    async def watch(self, pane: PaneRef) -> AsyncGenerator[MemoryObjectReceiveStream[PaneEvent]]:
        """Events of the pane while the context is open; the stream ends after the last one."""
        send, receive = anyio.create_memory_object_stream[PaneEvent](inf)
        self._watches.setdefault(pane.pane_id, []).append((pane, send))
        try:
            with send, receive:
                yield receive
        finally:
            self._keep(pane, lambda watch: watch[1] is not send)

    def watched(self, window_id: str | None = None) -> set[PaneRef]:
        """The panes that somebody watches, of one window or of all."""
        panes = {pane for watches in self._watches.values() for pane, _ in watches}
        return {pane for pane in panes if window_id in (None, pane.window_id)}

    def wrote(self, pane_id: str) -> None:
        """Tell a write to each watcher that has none unread."""
        for _, stream in self._watches.get(pane_id, ()):
            if not stream.statistics().current_buffer_used:
                stream.send_nowait(Wrote())

    def wrote_all(self) -> None:
        """Tell every watcher that something may have been written."""
        for pane in self.watched():
            self.wrote(pane.pane_id)

    def end(self, pane: PaneRef, event: Died | Lost) -> None:
        """Tell the last event and end the watches of this pane."""
        for watched, stream in self._watches.get(pane.pane_id, ()):
            if watched == pane:
                stream.send_nowait(event)
                stream.close()
        self._keep(pane, lambda watch: watch[0] != pane)

    def lose_all(self) -> None:
        """Tell every watcher that its pane is lost."""
        for pane in self.watched():
            self.end(pane, Lost())

    def _keep(self, pane: PaneRef, wanted: Callable[[tuple[PaneRef, _Send]], bool]) -> None:
        kept = [watch for watch in self._watches.pop(pane.pane_id, []) if wanted(watch)]
        if kept:
            self._watches[pane.pane_id] = kept
