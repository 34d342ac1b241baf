"""Sessions that an earlier server left: what is on disk, and what still lives in tmux.

Turns are on record, and the CLI's words are read on from where the earlier server was: what was told meanwhile ends the
turn that ran, once. Of work that is no turn on record the screen tells: no turn is invented for it.
"""

import logging
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.adapter import Adapter, Ready
from mcp_agent.errors import CannotRunHere, McpAgentError, TmuxError
from mcp_agent.sessions.events import EventSpool
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionRecord, load_records
from mcp_agent.sessions.retention.evidence import with_closing
from mcp_agent.sessions.signals import Exited, SessionState, Status, Stopped, Vanished
from mcp_agent.sessions.starting.coming_up import wait_ready
from mcp_agent.sessions.starting.launching import BRIDGE_FILE, read_token
from mcp_agent.sessions.store.progress import progress_of, tail_of
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.sessions.turns import Turns
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import PromptReady
from mcp_agent.tmux.server import ServerProcess, record_path
from mcp_agent.tmux.terminal import PaneInfo, Terminal

log = logging.getLogger(__name__)


ASK_AGAIN_AFTER = timedelta(seconds=2)


@dataclass(slots=True)
class Adoption:
    """One server's taking over. Only an answer of tmux can say that a pane is gone."""

    state: StateDirectory
    store: SessionStore
    terminals: TerminalHost
    load_adapter: Callable[[str], Adapter]
    tmux_lives: Callable[[], bool]
    """Whether there is a tmux to ask: none is started to look."""
    enter: Callable[[LiveSession], object]
    """Takes each session that was found, its pane gone or not."""
    finish_start: Callable[[LiveSession], object]
    """Takes each of them whose CLI has not shown its prompt yet."""
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
            record = await with_closing(self.state, record, terminal)
            session = lost(self.state, self.store, record, adapter=adapter)
            self.enter(session)
            session.take_events()
            session.apply(Stopped(session.record.why_stopped) if session.record.stopped else Vanished())
        else:
            await self.terminals.acquire()
            session = living(self.state, self.store, record, adapter=adapter, terminal=terminal, pane=pane)
            self.enter(session)
            await catch_up(session, pane)
            if session.over is None and not record.came_up:
                self.finish_start(session)
        session.tell("session.adopted", state=session.state, detail=session.status.detail)
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
    """The panes by the session in their tags. Panes of no known session are left alone and logged.

    Of a session that was just being launched again there may be two: the one that lives is its own.
    """
    found = {pane.tags.get("session", ""): pane for pane in sorted(panes, key=lambda pane: not pane.dead)}
    for session_id in found.keys() - known:
        log.warning("pane %s is of no session here (%r) and left alone", found[session_id].pane.pane_id, session_id)
    return {session_id: pane for session_id, pane in found.items() if session_id in known}


def living(
    state: StateDirectory,
    store: SessionStore,
    record: SessionRecord,
    *,
    adapter: Adapter,
    terminal: Terminal,
    pane: PaneInfo,
) -> LiveSession:
    """A session whose pane is there, its CLI alive or dead."""
    session = _session(state, store, replace(record, pane=pane.pane), adapter=adapter, terminal=terminal)
    # What the CLI is asked on its screen outranks this; a screen that says nothing does not make it start again.
    session.status = Status(
        bridge_up=record.bridge_up,
        turn_running=session.turns.current is not None,
        turn_aborted=session.turns.aborted,
        reading=Ready() if record.came_up else None,
        limited=record.limited,
    )
    return session


def lost(state: StateDirectory, store: SessionStore, record: SessionRecord, *, adapter: Adapter) -> LiveSession:
    """A session whose pane is certainly gone, as it was before; one that never came to a pane counts as stopped."""
    record = replace(record, stopped=record.stopped or record.pane is None)
    session = _session(state, store, record, adapter=adapter, terminal=None)
    session.status = Status(turn_running=session.turns.current is not None)
    return session


def stopped(state: StateDirectory, store: SessionStore, record: SessionRecord, *, adapter: Adapter) -> LiveSession:
    """A session that was stopped, and of which only the record and its turns are left.

    A turn that runs by the store has ended with the session: the stop could not write that down.
    """
    session = _session(state, store, record, adapter=adapter, terminal=None)
    session.status = Status(end=Stopped(record.why_stopped))
    if session.turns.current is not None:
        session.take_events()
        session.apply(Stopped(record.why_stopped))
    return session


async def catch_up(session: LiveSession, pane: PaneInfo) -> None:
    """Take what was spooled meanwhile, in order, then the screen. A tmux that does not answer is asked again later."""
    with suppress(TmuxError):
        await session.look()
    if pane.dead:
        session.apply(Exited(pane.exit_status, pane.exit_signal))


async def finish_start(session: LiveSession, limits: PromptReady) -> SessionState | None:
    """Wait for the prompt of a CLI that an earlier server launched, with what is left of its bounds.

    None when it did not come: the CLI has ended by then, or is to be stopped.
    """
    elapsed = timedelta(seconds=max(0.0, time.time() - session.record.launched_at))
    try:
        return await wait_ready(session, limits, elapsed=elapsed)
    except McpAgentError as error:
        screen = "\n".join(session.screen.lines)
        log.warning("session %s did not come up: %s; its screen:\n%s", session.id, error, screen)
        return None


def _session(
    state: StateDirectory, store: SessionStore, record: SessionRecord, *, adapter: Adapter, terminal: Terminal | None
) -> LiveSession:
    spool, progress = EventSpool(state.session(record.id) / "events"), progress_of(store, record.id)
    return LiveSession(
        record,
        adapter,
        terminal,
        spool,
        tail_of(progress, record),
        read_token(state, record.id) or "",
        turns=Turns.restored(store, record.id),
        taken=progress.taken if progress else (),
    )
