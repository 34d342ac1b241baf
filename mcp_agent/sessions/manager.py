"""All sessions of one server: started, found, prompted, interrupted, stopped."""

import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_agent import registry
from mcp_agent.adapter import Adapter, LaunchRequest
from mcp_agent.errors import BadWorkingDirectory, McpAgentError, UnknownSession
from mcp_agent.processes import ProcessIdentity
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.sessions import closing, input, launching, starting
from mcp_agent.sessions.environment import shared
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.launching import ServerCommand
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionOptions, SessionRecord, save_record
from mcp_agent.sessions.signals import ENDED, SessionState, Stopped
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.sessions.versions import version_of
from mcp_agent.state import StateDirectory, new_session_id
from mcp_agent.timeouts import Policy

log = logging.getLogger(__name__)

CLEANUP_LIMIT = timedelta(seconds=30)
"""Ending a session that failed to start, or was abandoned, may take this long."""
INTERRUPTED_WITHIN = timedelta(seconds=10)
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

    def all(self) -> list[LiveSession]:
        """Every session of this server, oldest first, stopped ones too."""
        return list(self._sessions.values())

    def get(self, session_id: str) -> LiveSession:
        """Raises `UnknownSession`."""
        if session_id not in self._sessions:
            raise UnknownSession(session_id)
        return self._sessions[session_id]

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
        )
        directory = self.state.make_session(record.id)
        request = launching.launch_request(
            options, record, executable=executable, directory=directory, policy=self.policy
        )
        return await self._launch(options, record, adapter=adapter, request=request)

    async def send(self, session_id: str, text: str) -> input.Sent:
        return await input.send(self.get(session_id), text)

    async def interrupt(self, session_id: str) -> bool:
        """Stop the running turn and keep the session; False when no turn ran, or it did not end in time."""
        session = self.get(session_id)
        turn = session.turns.current
        if turn is None or session.state in ENDED:
            return False
        await session.terminal.press(session.pane, *session.adapter.interrupt_keys)
        return await session.wait_until(lambda: session.turns.current is None, limit=INTERRUPTED_WITHIN)

    async def stop(self, session_id: str) -> int:
        """End a session and all that belongs to it, and say how many tool calls were cancelled.

        Marked stopped first, so that nothing relaunches it or starts another call. A second stop waits for the first.
        """
        session = self.get(session_id)
        if session_id in self._stopping:
            await self._stopping[session_id].wait()
            return 0
        self._stopping[session_id] = anyio.Event()
        session.apply(Stopped())
        cancelled = 0
        with anyio.CancelScope(shield=True):
            try:
                cancelled = await self._end(session)
            finally:
                self._stopping[session_id].set()
        return cancelled

    async def stop_all(self) -> None:
        async with anyio.create_task_group() as group:
            for session in self.all():
                group.start_soon(self.stop, session.id)

    async def _launch(
        self, options: SessionOptions, record: SessionRecord, *, adapter: Adapter, request: LaunchRequest
    ) -> LiveSession:
        try:
            session = await self._spawn(options, record, adapter=adapter, request=request)
        except BaseException:
            launching.remove_launch_files(self.state, record.id)
            with suppress(OSError):
                self.state.session(record.id).rmdir()
            raise
        try:
            self.owner.start_soon(session.observe, name=f"observe {session.id}")
            self.owner.start_soon(self._tell_version, session, request.executable)
            if options.tied_to is not None:
                self.owner.start_soon(self._stop_after, session.id, options.tied_to)
            await starting.wait_ready(session, self.policy.prompt_ready(adapter.id, adapter.limits))
        except BaseException as error:
            if isinstance(error, McpAgentError):
                log.warning("session %s did not start: %s", session.id, error)
            with anyio.move_on_after(CLEANUP_LIMIT.total_seconds(), shield=True):
                await self.stop(session.id)
            raise
        return session

    async def _spawn(
        self, options: SessionOptions, record: SessionRecord, *, adapter: Adapter, request: LaunchRequest
    ) -> LiveSession:
        launch = adapter.launch(request)
        launching.write_launch_files(launch)
        token = launching.write_bridge_file(
            self.state, record, adapter=adapter, policy=self.policy, server=self.server_command
        )
        spool = EventSpool(request.session_directory / "events")
        spool.directory.mkdir(mode=0o700, exist_ok=True)
        terminal = await self.terminals.acquire()
        try:
            pane = await launching.spawn(terminal, launch, options, adapter=adapter, record=record, size=self.size)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.terminals.release()
            raise
        record = replace(record, pane=pane, native_session_id=launch.native_session_id)
        session = LiveSession(record, adapter, terminal, spool, TranscriptTail(), token, self._save)
        self._save(record)
        self._sessions[record.id] = session
        return session

    async def _end(self, session: LiveSession) -> int:
        cancelled = await self.cancel_calls(session.id)
        await closing.end_processes(session.id)
        await closing.close_pane(session.terminal, session.pane)
        await self.terminals.release()
        launching.remove_launch_files(self.state, session.id)
        session.record = replace(session.record, stopped=True)
        self._save(session.record)
        return cancelled

    async def _stop_after(self, session_id: str, process: ProcessIdentity) -> None:
        await wait_gone([process], limit=LONGEST_WAIT)
        await self.stop(session_id)

    async def _tell_version(self, session: LiveSession, executable: Path) -> None:
        version = await version_of(session.adapter, executable, environment=session.record.shell_environment)
        if session.state is not SessionState.STOPPED:
            session.record = replace(session.record, provider_version=version)
            self._save(session.record)

    def _save(self, record: SessionRecord) -> None:
        save_record(self.state, record)


def check_working_directory(path: Path) -> None:
    """Raises `BadWorkingDirectory` unless the CLI could work there."""
    if not path.is_absolute():
        raise BadWorkingDirectory(path, "is not an absolute path")
    if not path.exists():
        raise BadWorkingDirectory(path, "does not exist")
    if not path.is_dir():
        raise BadWorkingDirectory(path, "is not a directory")
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadWorkingDirectory(path, "is not writable")
