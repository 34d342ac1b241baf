"""All sessions of one server: started, found, prompted, interrupted, stopped, and taken over from an earlier server."""

import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_agent import registry
from mcp_agent.adapter import Adapter
from mcp_agent.errors import (
    BadWorkingDirectory,
    McpAgentError,
    TmuxUnavailable,
    UnknownSession,
)
from mcp_agent.processes import ProcessIdentity
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.sessions import closing, input, interrupting, launching, starting
from mcp_agent.sessions.adopting import Adoption
from mcp_agent.sessions.closing import PaneCloser
from mcp_agent.sessions.environment import shared
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.launching import ServerCommand
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionOptions, SessionRecord, save_record
from mcp_agent.sessions.signals import SessionState, Stopped
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.sessions.versions import version_of
from mcp_agent.state import StateDirectory, new_session_id
from mcp_agent.timeouts import Policy

log = logging.getLogger(__name__)

CALLS_CANCELLED_WITHIN = timedelta(seconds=30)
"""The clean-up of a session's tool calls may take this long before its CLI is ended all the same."""
LONGEST_WAIT = timedelta(days=365)

CancelCalls = Callable[[str], Awaitable[int]]
"""Cancels the tool calls of a session, waits for their clean-up, and says how many there were."""


@dataclass(slots=True)
class SessionManager:
    """The sessions by id. Tasks that must outlive a request run in `owner`."""

    state: StateDirectory
    policy: Policy
    terminals: TerminalHost
    owner: TaskGroup
    cancel_calls: CancelCalls
    server_command: ServerCommand
    load_adapter: Callable[[str], Adapter] = registry.load
    size: tuple[int, int] = (120, 36)
    _sessions: dict[str, LiveSession] = field(default_factory=dict)
    _stopping: dict[str, anyio.Event] = field(default_factory=dict)
    _ties: dict[str, anyio.CancelScope] = field(default_factory=dict)
    _adoption: Adoption | None = None
    _closer: PaneCloser = field(init=False)

    def __post_init__(self) -> None:
        self._closer = PaneCloser(self.terminals, self.owner)

    def all(self) -> list[LiveSession]:
        """Every session of this server, oldest first, stopped ones too."""
        return list(self._sessions.values())

    @property
    def unadopted(self) -> list[SessionRecord]:
        """Sessions of an earlier server that nobody could look after yet, since tmux does not answer."""
        return list(self._adoption.waiting) if self._adoption else []

    def get(self, session_id: str) -> LiveSession:
        """Raises `UnknownSession`, and `TmuxUnavailable` while the session is on record and not adopted yet."""
        if session_id in self._sessions:
            return self._sessions[session_id]
        if any(record.id == session_id for record in self.unadopted):
            raise TmuxUnavailable(f"session {session_id} is on record; tmux does not answer yet: try again in a moment")
        raise UnknownSession(session_id)

    async def start(self, options: SessionOptions) -> LiveSession:
        """Launch a CLI and wait for its prompt; a session that comes back may be `blocked` by a dialog.

        Whatever else goes wrong, a cancellation included, leaves nothing of it behind.
        """
        adapter = self.load_adapter(options.provider)
        check_working_directory(options.working_directory)
        environment = shared(options.environment, home=options.home)
        executable = launching.find_executable(adapter, environment)
        record = SessionRecord(
            id=new_session_id(),
            provider=adapter.id,
            working_directory=options.working_directory,
            home=Path(environment.get("HOME", str(Path.home()))),
            created_at=time.time(),
            shell_environment=environment,
            trust=options.trust,
            tools=options.tools,
            tied_to=options.tied_to,
        )
        try:
            session = await self._launch(options, record, adapter=adapter, executable=executable)
            self.owner.start_soon(self._tell_version, session, executable)
            state = await starting.wait_ready(session, self.policy.prompt_ready(adapter.id, adapter.limits))
        except BaseException as error:
            await self._take_back(record.id, error)
            raise
        session.record = replace(session.record, came_up=state is not SessionState.BLOCKED)
        self._keep(session.record)
        return session

    async def send(self, session_id: str, text: str, *, clear_draft: bool = False) -> input.Sent:
        return await input.send(self.get(session_id), text, clear_draft=clear_draft)

    async def interrupt(self, session_id: str) -> bool:
        """Stop what the CLI works on and keep the session; False when it did not work, or did not end in time.

        It overtakes sends that wait, and waits for the one that runs.
        """
        return await interrupting.interrupt(self.get(session_id))

    async def stop(self, session_id: str) -> int:
        """End a session and all that belongs to it, and say how many tool calls were cancelled.

        Marked stopped first, so that nothing relaunches it or starts another call. A second stop waits for the first.
        """
        session = self.get(session_id)
        if session_id in self._stopping:
            await self._stopping[session_id].wait()
            return 0
        stopped = self._stopping[session_id] = anyio.Event()
        cancelled = 0
        try:
            with anyio.CancelScope(shield=True):
                cancelled = await self._end(session)
        finally:
            stopped.set()
        return cancelled

    async def stop_all(self) -> None:
        async with anyio.create_task_group() as group:
            for session in self.all():
                group.start_soon(self.stop, session.id)

    async def adopt(self, *, tmux_lives: Callable[[], bool]) -> None:
        """Take over what an earlier server left, before any session is started here.

        Returns after the first try; a tmux that does not answer is asked again until it does, since only its answer
        can say that a pane is gone. `tmux_lives` says whether there is one to ask: none is started to look.
        """
        adoption = self._adoption = Adoption(self.state, self.terminals, self.load_adapter, tmux_lives, self._enter)
        if not await adoption.attempt():
            self.owner.start_soon(adoption.attempt_until_answered)

    async def _launch(
        self, options: SessionOptions, record: SessionRecord, *, adapter: Adapter, executable: Path
    ) -> LiveSession:
        directory = self.state.make_session(record.id)
        request = launching.launch_request(
            options, record, executable=executable, directory=directory, policy=self.policy
        )
        launch = adapter.launch(request)
        launching.write_launch_files(launch)
        token = launching.write_bridge_file(
            self.state, record, adapter=adapter, policy=self.policy, server=self.server_command
        )
        spool = EventSpool(directory / "events")
        spool.directory.mkdir(mode=0o700, exist_ok=True)
        record = replace(record, native_session_id=launch.native_session_id)
        save_record(self.state, record)
        terminal = await self.terminals.acquire()
        try:
            pane = await launching.spawn(terminal, launch, options, adapter=adapter, record=record, size=self.size)
            record = replace(record, pane=pane)
            save_record(self.state, record)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await closing.end_processes(record.id)
                self._keep(replace(record, stopped=True))
                forget = partial(launching.forget_session, self.state, record.id)
                await self._closer.close(terminal, record.id, then=forget)
            raise
        return self._enter(LiveSession(record, adapter, terminal, spool, TranscriptTail(), token))

    def _enter(self, session: LiveSession) -> LiveSession:
        """From here on the session is known, observed while its pane is there, and tied to what it was tied to.

        One that was stopped already is stopped to the end.
        """
        self._sessions[session.id] = session
        session.on_record = self._keep
        if session.opened is not None:
            self.owner.start_soon(session.observe, name=f"observe {session.id}")
        if session.record.tied_to is not None:
            self.owner.start_soon(self._stop_after, session, session.record.tied_to)
        if session.record.stopped:
            self.owner.start_soon(self.stop, session.id)
        return session

    async def _take_back(self, session_id: str, error: BaseException) -> None:
        """Leave nothing of a session that did not come to its prompt."""
        with anyio.CancelScope(shield=True):
            if session := self._sessions.get(session_id):
                if isinstance(error, McpAgentError):
                    screen = "\n".join(session.screen.lines)
                    log.warning("session %s did not start: %s; its screen:\n%s", session_id, error, screen)
                await self.stop(session_id)
                self._sessions.pop(session_id, None)
                self._stopping.pop(session_id, None)
            if session_id not in self._closer.pending:
                launching.forget_session(self.state, session_id)

    async def _end(self, session: LiveSession) -> int:
        session.apply(Stopped())
        session.record = replace(session.record, stopped=True)
        self._keep(session.record)
        if tie := self._ties.pop(session.id, None):
            tie.cancel()
        cancelled = await self._cancel_calls(session.id)
        await closing.end_processes(session.id)
        launching.remove_launch_files(self.state, session.id)
        await self._closer.close(session.opened, session.id, then=lambda: self._put_away(session.record))
        return cancelled

    def _put_away(self, record: SessionRecord) -> None:
        """A record without a pane has nothing to be closed."""
        if record.tied_to is not None:
            launching.forget_session(self.state, record.id)
        else:
            self._keep(replace(record, pane=None))

    async def _cancel_calls(self, session_id: str) -> int:
        with anyio.move_on_after(CALLS_CANCELLED_WITHIN.total_seconds()):
            return await self.cancel_calls(session_id)
        log.error("session %s: tool calls did not end within %s", session_id, CALLS_CANCELLED_WITHIN)
        return 0

    async def _stop_after(self, session: LiveSession, process: ProcessIdentity) -> None:
        if session.state is SessionState.STOPPED:
            return
        with anyio.CancelScope() as self._ties[session.id]:
            await wait_gone([process], limit=LONGEST_WAIT)
        if self._ties.pop(session.id, None):
            log.info("session %s is stopped: process %d, to which it was tied, has ended", session.id, process.pid)
            await self.stop(session.id)

    async def _tell_version(self, session: LiveSession, executable: Path) -> None:
        version = await version_of(session, executable)
        if session.state is not SessionState.STOPPED:
            session.record = replace(session.record, provider_version=version)
            self._keep(session.record)

    def _keep(self, record: SessionRecord) -> None:
        """Write the record. One that was taken back has none; a full disk ends no session."""
        if not self.state.session(record.id).is_dir():
            return
        try:
            save_record(self.state, record)
        except OSError:
            log.exception("session %s: its record could not be written", record.id)


def check_working_directory(path: Path) -> None:
    """Raises `BadWorkingDirectory` unless the CLI could work there."""
    if not path.is_absolute():
        raise BadWorkingDirectory(path, "is not an absolute path")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise BadWorkingDirectory(path, "does not exist") from None
    except (OSError, ValueError) as error:
        raise BadWorkingDirectory(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISDIR(mode):
        raise BadWorkingDirectory(path, "is not a directory")
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadWorkingDirectory(path, "is not writable")
