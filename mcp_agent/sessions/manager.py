"""All sessions of one server: started, found, prompted, interrupted, stopped, and taken over from an earlier server."""

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from mcp_agent import registry
from mcp_agent.adapter import Adapter
from mcp_agent.errors import (
    McpAgentError,
    SessionEnded,
    TmuxUnavailable,
    UnknownSession,
)
from mcp_agent.processes import ProcessIdentity
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.sessions import closing
from mcp_agent.sessions.bridge_watching import watch_bridge
from mcp_agent.sessions.closing import PaneCloser
from mcp_agent.sessions.environment import for_session
from mcp_agent.sessions.input import interrupting
from mcp_agent.sessions.input.messages import Messages
from mcp_agent.sessions.input.overdue import Overdue
from mcp_agent.sessions.input.queue import MessageQueue
from mcp_agent.sessions.input.sending import SendMode, Sent
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.names import Names
from mcp_agent.sessions.record import SessionOptions, SessionRecord, load_record, save_record
from mcp_agent.sessions.recovery import adopting
from mcp_agent.sessions.recovery.adopting import Adoption
from mcp_agent.sessions.recovery.resuming import Resuming, closed_for_idle
from mcp_agent.sessions.retention.closing import Closing
from mcp_agent.sessions.retention.keeper import Reason
from mcp_agent.sessions.retention.retaining import Retention
from mcp_agent.sessions.shared_files import holding
from mcp_agent.sessions.signals import SessionState, Stopped
from mcp_agent.sessions.starting import coming_up, launching
from mcp_agent.sessions.starting.asking import check_asked
from mcp_agent.sessions.starting.conversations import check_free
from mcp_agent.sessions.starting.crowding import Crowding
from mcp_agent.sessions.starting.kept_secrets import Secrets
from mcp_agent.sessions.starting.launcher import Launcher
from mcp_agent.sessions.starting.launching import ServerCommand, check_working_directory
from mcp_agent.sessions.starting.named_variables import without_named
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.sessions.turns import Turns
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
    server_stops: Callable[[], bool] = lambda: False
    size: tuple[int, int] = (120, 36)
    store: SessionStore = field(default_factory=SessionStore.in_memory)
    reasons: Sequence[Reason] = ()
    """Who else may say that a session is not idle."""
    queue: MessageQueue = field(init=False)
    _overdue: Overdue = field(init=False)
    _sessions: dict[str, LiveSession] = field(default_factory=dict)
    _stopping: dict[str, anyio.Event] = field(default_factory=dict)
    _ties: dict[str, anyio.CancelScope] = field(default_factory=dict)
    _names: Names = field(default_factory=Names)
    _adoption: Adoption | None = None
    _closer: PaneCloser = field(init=False)
    _crowding: Crowding = field(init=False)
    _launcher: Launcher = field(init=False)
    _resuming: Resuming = field(init=False)
    _retention: Retention = field(init=False)

    def __post_init__(self) -> None:
        self.queue = MessageQueue(Messages(self.store), self.owner)
        self._overdue = Overdue(self.queue, self.get, self.stop, self.owner)
        self._closer = PaneCloser(self.terminals, self.owner)
        self._crowding = Crowding(self.owner)
        self._retention = Retention(self.state, self.policy, self._close_idle, (*self.reasons, self.queue.reason))
        self._launcher = Launcher(self.state, self.policy, self.server_command, self.size)
        self._resuming = Resuming(
            launcher=self._launcher,
            terminals=self.terminals,
            owner=self.owner,
            closer=self._closer,
            sessions=self._sessions,
            stops=self._stopping,
            launched=self._launched,
            keep=self._keep,
            check_name=self._check_name,
            refuse_waiting=self.queue.refuse_waiting,
        )

    def all(self) -> list[LiveSession]:
        """Every session of this server, oldest first, stopped ones too."""
        return list(self._sessions.values())

    @property
    def records(self) -> list[SessionRecord]:
        """What is known of every session, looked after or not."""
        return [session.record for session in self.all()] + self.unadopted

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
        return self._of_record(session_id)

    async def start(self, options: SessionOptions) -> LiveSession:
        """Launch a CLI and wait for its prompt; a session that comes back may be `blocked` by a dialog.

        Whatever else goes wrong, a cancellation included, leaves nothing of it behind. Only a server that stops leaves
        the launched CLI to the next one.
        """
        adapter = self.load_adapter(options.provider)
        check_working_directory(options.working_directory)
        check_asked(options, adapter)
        if options.resume is not None:
            check_free(options.resume, self.all())
        environment = for_session(options.environment, named=options.named_variables, home=options.home)
        executable = launching.find_executable(adapter, environment)
        record = SessionRecord(
            id=new_session_id(),
            provider=adapter.id,
            working_directory=options.working_directory,
            home=Path(environment.get("HOME", str(Path.home()))),
            created_at=time.time(),
            name=options.name,
            native_session_id=options.resume,
            shell_environment=environment,
            trust=options.trust,
            tools=options.tools,
            tied_to=options.tied_to,
            execution=options.execution,
            parent_session=options.parent_session,
        )
        self._names.claim(record, self.records)
        try:
            async with self._crowding.place():
                session = await self._launch(options, record, adapter=adapter, executable=executable)
                self.owner.start_soon(self._tell_version, session, executable)
                state = await coming_up.wait_ready(session, self.policy.prompt_ready(adapter.id, adapter.limits))
        except BaseException as error:
            if not (self.server_stops() and isinstance(error, anyio.get_cancelled_exc_class())):
                await self._take_back(record.id, error)
            raise
        finally:
            self._names.release(record)
        self._came_up(session, state)
        return session

    async def for_input(self, session_id: str) -> LiveSession:
        """The session, gone on with when it was lost: somebody is about to give it something."""
        session = self.get(session_id)
        over = session.over
        await self._resuming.before_input(session)
        if over is not None:
            self.queue.wake(session)
        return session

    async def send(
        self,
        session_id: str,
        text: str,
        *,
        mode: SendMode = SendMode.NOW,
        clear_draft: bool = False,
        message_id: str | None = None,
        deadline_at: float | None = None,
    ) -> Sent:
        """Raises as `MessageQueue.send` does. An idle close that came first ends no send: the session goes on.

        At the deadline, a wall-clock epoch, a prompt that waits is withdrawn, and the turn that it began interrupted.
        """
        session = await self.for_input(session_id)
        send = partial(
            self.queue.send,
            session,
            text,
            mode=mode,
            clear_draft=clear_draft,
            message_id=message_id,
            deadline_at=deadline_at,
        )
        try:
            sent = await send()
        except SessionEnded:
            on_record = message_id is not None and await self.queue.messages.get(session.id, message_id)
            if on_record or not closed_for_idle(session):
                raise
            await self.for_input(session_id)
            sent = await send()
        if deadline_at is not None and sent.message_id is not None:
            self._overdue.watch(session_id, sent.message_id, deadline_at)
        return sent

    async def resume(self, session_id: str, *, given: Secrets | None = None) -> LiveSession:
        """Go on with the conversation of a session that is over; see `Resuming.resume`."""
        session = self.get(session_id)
        await self._resuming.resume(session, given=given)
        self.queue.wake(session)
        return session

    async def interrupt(self, session_id: str) -> bool:
        """Stop what the CLI works on and keep the session; False when it did not work, or did not end in time.

        It overtakes sends that wait, and waits for the one that runs.
        """
        return await interrupting.interrupt(self.get(session_id))

    async def end_turn_at_deadline(self, session_id: str, turn_id: str) -> tuple[bool, bool]:
        """Whether this turn was interrupted, and whether the session could be kept: otherwise it is stopped."""
        return await self._overdue.end_turn(session_id, turn_id)

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

    def nudge(self, session_id: str) -> None:
        """What the session is kept for may have changed."""
        if session := self._sessions.get(session_id):
            session.nudge()

    def is_closing(self, session_id: str) -> bool:
        """Whether its stop has begun and is not done."""
        stopped = self._stopping.get(session_id)
        return stopped is not None and not stopped.is_set()

    async def stop_all(self) -> dict[str, int]:
        """Stop every session that was not stopped yet; how many tool calls were cancelled, by session."""
        stopped = {session.id: 0 for session in self.all() if session.state is not SessionState.STOPPED}

        async def stop(session_id: str) -> None:
            stopped[session_id] = await self.stop(session_id)

        async with anyio.create_task_group() as group:
            for session_id in stopped:
                group.start_soon(stop, session_id)
            for stopping in self._stopping.values():
                group.start_soon(stopping.wait)
        return stopped

    async def adopt(self, *, tmux_lives: Callable[[], bool]) -> None:
        """Take over what an earlier server left, before any session is started here.

        Returns after the first try; a tmux that does not answer is asked again until it does, since only its answer
        can say that a pane is gone. `tmux_lives` says whether there is one to ask: none is started to look.
        """
        holding.sweep(self.state, lives=partial(launching.was_launched, self.state))
        adoption = self._adoption = Adoption(
            self.state, self.store, self.terminals, self.load_adapter, tmux_lives, self._enter_found, self._finish_later
        )
        if not await adoption.attempt():
            self.owner.start_soon(adoption.attempt_until_answered)
        self._overdue.begin()

    async def _launch(
        self, options: SessionOptions, record: SessionRecord, *, adapter: Adapter, executable: Path
    ) -> LiveSession:
        prepare = partial(self._launcher.prepare, options, record, adapter=adapter, executable=executable)
        prepared = await anyio.to_thread.run_sync(partial(prepare, resume=options.resume is not None))
        record = prepared.record
        terminal = await self.terminals.acquire()
        try:
            pane = await self._launcher.spawn(terminal, prepared)
            record = replace(record, pane=pane)
            await anyio.to_thread.run_sync(save_record, self.state, record)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await closing.end_processes(record.id)
                self._keep(replace(record, stopped=True))
                forget = partial(self._forget, record.id)
                await self._closer.close(terminal, record.id, then=forget)
            raise
        turns = Turns(self.store, record.id)
        session = LiveSession(record, adapter, terminal, prepared.spool, prepared.tail, prepared.token, turns=turns)
        session.tell("session.started", provider=record.provider, directory=str(record.working_directory))
        return self._enter(session)

    def _enter(self, session: LiveSession) -> LiveSession:
        """From here on the session is known, observed while its pane is there, and tied to what it was tied to.

        One that was stopped already is stopped to the end.
        """
        self._sessions[session.id] = session
        session.on_record = self._keep
        session.save_progress()
        if session.opened is not None:
            self._observe(session)
        if session.record.tied_to is not None:
            self.owner.start_soon(self._stop_after, session, session.record.tied_to)
        if session.record.stopped:
            self.owner.start_soon(self.stop, session.id)
        return session

    def _enter_found(self, session: LiveSession) -> None:
        """A session of an earlier server, whose messages may wait still. Without a pane it needs no file of others."""
        if session.opened is None:
            holding.release(self.state, session.id)
        self.queue.wake(self._enter(session))

    def _of_record(self, session_id: str) -> LiveSession:
        """A session that was stopped under an earlier server, known again. Raises `UnknownSession`."""
        record = load_record(self.state, session_id)
        if record is None or not record.stopped:
            raise UnknownSession(session_id)
        session = adopting.stopped(self.state, self.store, record, adapter=self.load_adapter(record.provider))
        session.on_record = self._keep
        self._sessions[session_id] = session
        self.queue.wake(session)
        return session

    def _finish_later(self, session: LiveSession) -> None:
        self.owner.start_soon(self._finish_start, session, name=f"start {session.id}")

    async def _finish_start(self, session: LiveSession) -> None:
        """Go on with a launch that an earlier server began. A CLI that does not come up is stopped."""
        limits = self.policy.prompt_ready(session.adapter.id, session.adapter.limits)
        state = await adopting.finish_start(session, limits)
        if state is not None:
            self._came_up(session, state)
        elif session.over is None:
            await self.stop(session.id)

    def _came_up(self, session: LiveSession, state: SessionState) -> None:
        session.record = replace(session.record, came_up=state is not SessionState.BLOCKED)
        self._keep(session.record)

    def _check_name(self, record: SessionRecord) -> None:
        self._names.claim(record, self.records)
        self._names.release(record)

    def _observe(self, session: LiveSession) -> None:
        self.owner.start_soon(session.observe, name=f"observe {session.id}")
        bridge_file = self.state.session(session.id) / launching.BRIDGE_FILE
        self.owner.start_soon(watch_bridge, session, bridge_file, name=f"bridge of {session.id}")
        self.owner.start_soon(self._retention.look_after, session, name=f"look after {session.id}")

    def _launched(self, session: LiveSession, executable: Path) -> None:
        self._observe(session)
        self.owner.start_soon(self._tell_version, session, executable)

    async def _close_idle(self, session: LiveSession, closing: Closing) -> None:
        """A stop, and the record says why. A session that somebody else stops is theirs."""
        if session.id not in self._stopping:
            session.record = replace(session.record, closed=closing)
            await self.stop(session.id)

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
                self._forget(session_id)

    async def _end(self, session: LiveSession) -> int:
        session.apply(Stopped(session.record.why_stopped))
        session.record = replace(session.record, stopped=True)
        self._keep(session.record)
        if tie := self._ties.pop(session.id, None):
            tie.cancel()
        await self._resuming.give_up(session.id)
        await self.queue.refuse_all(session)
        cancelled = await self._cancel_calls(session.id)
        await closing.end_processes(session.id)
        launching.remove_launch_files(self.state, session.id)
        await self._closer.close(session.opened, session.id, then=lambda: self._put_away(session))
        closed = session.record.closed
        session.tell("session.closed", **(closed.facts if closed else {}), cancelled_calls=cancelled)
        return cancelled

    def _put_away(self, session: LiveSession) -> None:
        """A record without a pane has nothing to be closed."""
        session.record = without_named(replace(session.record, pane=None))
        if session.record.tied_to is not None:
            self._forget(session.id)
        else:
            self._keep(session.record)

    def _forget(self, session_id: str) -> None:
        """Leave nothing on disk of a session that nobody will ask for again."""
        launching.forget_session(self.state, session_id)
        self.store.forget(session_id)

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
        """Write the record. One that was taken back has none; a full disk ends no session.

        It is written in the middle of everything, so nobody waits for the disk: a power cut ends the CLI anyway.
        """
        if not self.state.session(record.id).is_dir():
            return
        try:
            save_record(self.state, record, synced=False)
        except OSError:
            log.exception("session %s: its record could not be written", record.id)
