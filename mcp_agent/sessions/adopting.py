"""Sessions that an earlier server left: what is on disk, and what still lives in tmux.

The state of an adopted session follows from its screen. A turn that began under the earlier server has no record here:
a screen that says busy makes the session busy, and no turn is invented for it, since nothing could ever end that turn
if its completion was told before.
"""

import logging
import socket
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.adapter import Adapter, Ready
from mcp_agent.errors import CannotRunHere, McpAgentError, TmuxError
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.launching import BRIDGE_FILE, read_token
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionRecord, load_records
from mcp_agent.sessions.signals import Exited, Status, Vanished
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.state import StateDirectory
from mcp_agent.tmux.server import ServerProcess, record_path
from mcp_agent.tmux.terminal import PaneInfo, Terminal

log = logging.getLogger(__name__)


ASK_AGAIN_AFTER = timedelta(seconds=2)


@dataclass(slots=True)
class Adoption:
    """One server's taking over. Only an answer of tmux can say that a pane is gone."""

    state: StateDirectory
    terminals: TerminalHost
    load_adapter: Callable[[str], Adapter]
    tmux_lives: Callable[[], bool]
    """Whether there is a tmux to ask: none is started to look."""
    enter: Callable[[LiveSession], object]
    """Takes each session that was found, its pane gone or not."""
    waiting: list[SessionRecord] = field(init=False)
    """The sessions that were not looked after yet."""

    def __post_init__(self) -> None:
        self.waiting = unfinished(self.state)

    async def attempt_until_answered(self) -> None:
        while True:
            await anyio.sleep(ASK_AGAIN_AFTER.total_seconds())
            if await self.attempt():
                return

    async def attempt(self) -> bool:
        """Whether every session could be looked after; otherwise those that could not may be tried again."""
        if not self.waiting or not self.tmux_lives():
            await self._take_all({}, None)
            return True
        try:
            terminal = await self.terminals.acquire()
        except (TmuxError, CannotRunHere) as error:
            log.warning("sessions are not adopted yet: %s", error)
            return False
        try:
            found = by_session(await terminal.panes(), {record.id for record in self.waiting})
            await self._take_all(found, terminal)
        except TmuxError as error:
            log.warning("sessions are not adopted yet: %s", error)
            return False
        finally:
            await self.terminals.release()
        return True

    async def _take_all(self, panes: Mapping[str, PaneInfo], terminal: Terminal | None) -> None:
        while self.waiting:
            record = self.waiting[0]
            try:
                adapter = self.load_adapter(record.provider)
            except McpAgentError as error:
                log.warning("session %s is left alone: %s", record.id, error)
            else:
                await self._take(record, panes.get(record.id), adapter=adapter, terminal=terminal)
            del self.waiting[0]

    async def _take(
        self, record: SessionRecord, pane: PaneInfo | None, *, adapter: Adapter, terminal: Terminal | None
    ) -> None:
        if pane is None or terminal is None:
            session = lost(self.state, record, adapter=adapter)
            self.enter(session)
        else:
            await self.terminals.acquire()
            session = living(self.state, record, adapter=adapter, terminal=terminal, pane=pane)
            self.enter(session)
            await catch_up(session, pane)
        log.info("session %s was adopted: %s", session.id, session.state)


def unfinished(state: StateDirectory) -> list[SessionRecord]:
    """The sessions that were not stopped, and those whose stop was broken off or whose pane could not be closed."""
    return [
        record
        for record in load_records(state)
        if not record.stopped or record.pane is not None or (state.session(record.id) / BRIDGE_FILE).exists()
    ]


def tmux_may_live(path: Path) -> bool:
    """Whether a tmux server may be behind this socket; False is certain. It starts none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            server = ServerProcess.recorded(record_path(path))
            return server is not None and server.alive
        except OSError:
            return True
    return True


def by_session(panes: Iterable[PaneInfo], known: Set[str]) -> dict[str, PaneInfo]:
    """The panes by the session in their tags. Panes of no known session are left alone and logged."""
    found = {pane.tags.get("session", ""): pane for pane in panes}
    for session_id in found.keys() - known:
        log.warning("pane %s is of no session here (%r) and left alone", found[session_id].pane.pane_id, session_id)
    return {session_id: pane for session_id, pane in found.items() if session_id in known}


def living(
    state: StateDirectory, record: SessionRecord, *, adapter: Adapter, terminal: Terminal, pane: PaneInfo
) -> LiveSession:
    """A session whose pane is there, its CLI alive or dead."""
    session = _session(state, replace(record, pane=pane.pane), adapter=adapter, terminal=terminal)
    # What the CLI is asked on its screen outranks this; a screen that says nothing does not make it start again.
    session.status = Status(
        bridge_up=(state.session(record.id) / BRIDGE_FILE).exists(), reading=Ready() if record.came_up else None
    )
    return session


def lost(state: StateDirectory, record: SessionRecord, *, adapter: Adapter) -> LiveSession:
    """A session whose pane is certainly gone; one that never came to a pane counts as stopped."""
    record = replace(record, stopped=record.stopped or record.pane is None)
    session = _session(state, record, adapter=adapter, terminal=None)
    session.status = Status(end=Vanished())
    return session


async def catch_up(session: LiveSession, pane: PaneInfo) -> None:
    """Take what was spooled meanwhile, in order, then the screen. A tmux that does not answer is asked again later."""
    with suppress(TmuxError):
        await session.look()
    if pane.dead:
        session.apply(Exited(pane.exit_status, pane.exit_signal))


def _session(
    state: StateDirectory, record: SessionRecord, *, adapter: Adapter, terminal: Terminal | None
) -> LiveSession:
    spool = EventSpool(state.session(record.id) / "events")
    tail = TranscriptTail.from_end_of(record.transcript)
    return LiveSession(record, adapter, terminal, spool, tail, read_token(state, record.id) or "")
