"""Going on with a session that is over: the provider's own conversation, in a new pane, under the same session id.

One relaunch at a time per session: whoever asks meanwhile waits for that one. A stop wins over it. What goes wrong
leaves the session as it was, but for the end of our own server: the next one takes over what it finds.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from mcp_agent.errors import McpAgentError, NotResumable, ResumeFailed, SessionEnded, TmuxUnavailable
from mcp_agent.sessions import closing
from mcp_agent.sessions.closing import PaneCloser
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionOptions, SessionRecord
from mcp_agent.sessions.recovery.forgotten import forgotten, resume_advice
from mcp_agent.sessions.signals import SessionState, Status
from mcp_agent.sessions.starting import coming_up, launching
from mcp_agent.sessions.starting.conversations import check_free, transcript_of
from mcp_agent.sessions.starting.kept_secrets import Secrets, options_again
from mcp_agent.sessions.starting.launcher import Launcher
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.tmux.terminal import Terminal

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    error: McpAgentError | None = None


@dataclass(frozen=True, slots=True)
class _Before:
    """A session as it was before it was launched again."""

    status: Status
    record: SessionRecord
    holds_terminal: bool


@dataclass(slots=True)
class Resuming:
    """The relaunches of one server."""

    launcher: Launcher
    terminals: TerminalHost
    owner: TaskGroup
    closer: PaneCloser
    sessions: Mapping[str, LiveSession]
    stops: MutableMapping[str, anyio.Event]
    """Set for each stop that is done; a session that goes on can be stopped once more."""
    launched: Callable[[LiveSession, Path], object]
    """Takes each session whose CLI runs again, with its program."""
    keep: Callable[[SessionRecord], None]
    check_name: Callable[[SessionRecord], None]
    """Raises when somebody else has its name by now."""
    refuse_waiting: Callable[[LiveSession], Awaitable[None]]
    """What waited for a session when it was stopped goes to nobody. Raises `StoreUnusable`."""
    _attempts: dict[str, _Attempt] = field(default_factory=dict)

    async def before_input(self, session: LiveSession) -> None:
        """A session that nobody ended goes on when it is asked to; one that is just being resumed is waited for.

        One that is just being closed since it is idle is closed first.

        Raises `SessionEnded` for one that somebody ended, and as `resume` does.
        """
        if closed_for_idle(session) and (stop := self.stops.get(session.id)):
            await stop.wait()
        if session.id in self._attempts or _ended_by_nobody(session):
            await self.resume(session)
        elif session.over is not None:
            raise SessionEnded(session.id, f"{session.over}; {resume_advice(session)}")

    async def resume(self, session: LiveSession, *, given: Secrets | None = None) -> None:
        """Return when the CLI shows its prompt again, or is blocked by a dialog. A session that lives is left alone.

        It goes on when the caller leaves. Raises `NotResumable`, `CliNotInstalled`, `ConversationInUse`,
        `ResumeFailed`, and `SessionEnded` when the session is stopped meanwhile.
        """
        attempt = self._attempts.get(session.id)
        if attempt is None:
            if session.over is None:
                return
            options, executable = self._checked(session, given or Secrets())
            attempt = self._attempts[session.id] = _Attempt()
            self.stops.pop(session.id, None)
            self.owner.start_soon(self._run, session, attempt, options, executable, name=f"resume {session.id}")
        await attempt.done.wait()
        if attempt.error is not None:
            raise attempt.error

    async def give_up(self, session_id: str) -> None:
        """The session is stopped: nothing launches it any more when this returns."""
        if attempt := self._attempts.get(session_id):
            attempt.scope.cancel()
            await attempt.done.wait()

    def _checked(self, session: LiveSession, given: Secrets) -> tuple[SessionOptions, Path]:
        record = session.record
        stop = self.stops.get(session.id)
        if stop is not None and not stop.is_set():
            raise SessionEnded(session.id, "it is just being stopped")
        if session.id in self.closer.pending:
            raise TmuxUnavailable(f"session {session.id}: tmux does not answer, its old pane may still be there")
        if session.state is SessionState.STOPPED and record.tied_to is not None:
            raise NotResumable(session.id, "it ended with the command that it was started for")
        if record.native_session_id is None:
            raise NotResumable(session.id, "its CLI never told the id of its conversation")
        self.check_name(record)
        launching.check_working_directory(record.working_directory)
        check_free(record.native_session_id, self.sessions.values(), but=session.id)
        options = options_again(self.launcher.state, record, given=given)
        return options, launching.find_executable(session.adapter, record.shell_environment)

    async def _run(self, session: LiveSession, attempt: _Attempt, options: SessionOptions, executable: Path) -> None:
        try:
            with attempt.scope:
                if session.state is SessionState.STOPPED:
                    await self.refuse_waiting(session)
                await self._relaunch(session, options, executable)
                session.tell("session.resumed", state=session.state)
                log.info("session %s was resumed: %s", session.id, session.state)
            if attempt.scope.cancelled_caught:
                attempt.error = SessionEnded(session.id, "it was stopped")
        except McpAgentError as error:
            log.warning("%s", error)
            attempt.error = error
        finally:
            del self._attempts[session.id]
            attempt.done.set()

    async def _relaunch(self, session: LiveSession, options: SessionOptions, executable: Path) -> None:
        """On a cancellation everything stays: a stop puts it away, and the end of this server leaves it to the next."""
        held = session.opened is not None and session.state is not SessionState.STOPPED
        before = _Before(session.status, session.record, held)
        try:
            terminal = await self._terminal_of(session, held=held)
            await self._launch(session, options, executable, terminal=terminal)
            limits = self.launcher.policy.prompt_ready(session.adapter.id, session.adapter.limits)
            state = await coming_up.wait_ready(session, limits)
            await closing.close_panes(terminal, session.id, but=session.record.pane)
        except Exception as error:  # an adapter's faults, too, must not end the server
            screen = session.screen.text
            with anyio.CancelScope(shield=True):
                undone = await self._undo(session, before)
            if not undone:
                raise SessionEnded(session.id, "it was stopped") from error
            raise _failure(session.id, error, screen) from error
        self._record(session, replace(session.record, came_up=state is not SessionState.BLOCKED))

    async def _terminal_of(self, session: LiveSession, *, held: bool) -> Terminal:
        """The terminal that the session holds already, or one that it holds from now on."""
        if not held:
            session.opened = None
            session.opened = await self.terminals.acquire()
        return session.terminal

    async def _launch(
        self, session: LiveSession, options: SessionOptions, executable: Path, *, terminal: Terminal
    ) -> None:
        """Its bridge may ask for its tools before the pane is known here."""
        session.take_events()
        await closing.end_cli(session.id)
        await anyio.lowlevel.checkpoint_if_cancelled()
        prepared = self.launcher.prepare(
            options, session.record, adapter=session.adapter, executable=executable, resume=_has_begun(session)
        )
        if session.tail.path is None:
            session.tail = prepared.tail
        session.begin_again(replace(prepared.record, pane=None), prepared.token)
        pane = await self.launcher.spawn(terminal, prepared)
        self._record(session, replace(session.record, pane=pane))
        self.launched(session, executable)

    async def _undo(self, session: LiveSession, before: _Before) -> bool:
        """Whether the session is as it was; one that was stopped meanwhile is put away by its stop."""
        await closing.end_cli(session.id)
        if session.opened is not None:
            await closing.close_panes(session.opened, session.id, but=before.record.pane)
        if session.id in self.stops:
            return False
        releases = session.opened is not None and not before.holds_terminal
        session.return_to(before.status)
        self._record(session, before.record)
        if session.record.stopped:
            launching.remove_launch_files(self.launcher.state, session.id)
        if releases:
            session.opened = None
            await self.terminals.release()
        return True

    def _record(self, session: LiveSession, record: SessionRecord) -> None:
        session.record = record
        self.keep(record)


def closed_for_idle(session: LiveSession) -> bool:
    """Whether retention closed it, or is about to."""
    return session.state is SessionState.STOPPED and session.record.closed is not None


def _ended_by_nobody(session: LiveSession) -> bool:
    """Lost, or closed since it was idle, with nothing that only a person can give again."""
    return session.state is SessionState.LOST or (closed_for_idle(session) and not forgotten(session))


def _has_begun(session: LiveSession) -> bool:
    """Whether there is a conversation to go on with: a CLI does not know one in which nothing was said."""
    return bool(session.turns.all) or transcript_of(session.adapter, session.record) is not None


def _failure(session_id: str, error: Exception, screen: str) -> ResumeFailed:
    if not isinstance(error, McpAgentError | OSError):
        log.exception("session %s: its adapter failed", session_id)
    return ResumeFailed(session_id, str(error) or type(error).__name__, screen)
