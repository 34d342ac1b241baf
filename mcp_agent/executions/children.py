"""The session of an execution: found again by its mark and its prompt's message, or started once."""

import subprocess
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.errors import TmuxUnavailable, UnknownSession, WorktreeNotMade
from mcp_agent.executions.records import Child, ExecutionRecord
from mcp_agent.executions.store import ChildSecrets, ExecutionStore
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.manager import SessionManager
from mcp_agent.sessions.record import SessionOptions

ASK_AGAIN_AFTER = timedelta(seconds=2)
GIT_WITHIN = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Children:
    """The sessions of this server's executions."""

    store: ExecutionStore
    sessions: SessionManager

    async def ensure(self, record: ExecutionRecord) -> LiveSession:
        """The execution's session, started if nobody ever did. Raises as `SessionManager.start` does.

        A prompt that was sent stays with its session: no second one is started then. Raises `UnknownSession` when that
        session is not known any more.
        """
        while True:
            try:
                session = await self.find(record)
                break
            except TmuxUnavailable:
                await anyio.sleep(ASK_AGAIN_AFTER.total_seconds())
        if session is None:
            session = await self._start(record)
        if session.id != record.session_id:
            await anyio.to_thread.run_sync(partial(self.store.note, record.id, session_id=session.id))
        return session

    async def find(self, record: ExecutionRecord) -> LiveSession | None:
        """The session that has its prompt, or else one that lives and was started for it.

        Raises `TmuxUnavailable` while tmux cannot tell, and `UnknownSession`.
        """
        message = await anyio.to_thread.run_sync(self.sessions.store.message, record.message_id)
        if message is not None:
            return self.sessions.get(message.session_id)
        if self._is_unadopted(record):
            raise TmuxUnavailable(f"the session of execution {record.id} is not adopted yet")
        return self.living(record.id)

    def living(self, execution_id: str) -> LiveSession | None:
        """The session that was started for it, as long as it lives."""
        found = (one for one in self.sessions.all() if one.record.execution == execution_id and one.over is None)
        return next(found, None)

    def is_without(self, record: ExecutionRecord) -> bool:
        """Whether it has no session, and had none that came up: its prompt was given to nobody."""
        return record.session_id is None and self.living(record.id) is None and not self._is_unadopted(record)

    def known(self, record: ExecutionRecord) -> LiveSession | None:
        """Its session as far as anybody knows one, without a look at the disk."""
        if record.session_id is None:
            return self.living(record.id)
        try:
            return self.sessions.get(record.session_id)
        except (UnknownSession, TmuxUnavailable):
            return None

    def _is_unadopted(self, record: ExecutionRecord) -> bool:
        return any(unadopted.execution == record.id for unadopted in self.sessions.unadopted)

    async def _start(self, record: ExecutionRecord) -> LiveSession:
        child = record.child
        place = child.working_directory
        if child.worktree:
            place = self.sessions.state.worktrees / record.id
            await anyio.to_thread.run_sync(make_worktree, child.working_directory, place, record.id)
        secrets = await anyio.to_thread.run_sync(self.store.secrets, record.id)
        return await self.sessions.start(_options(record, child, place=place, secrets=secrets))


def _options(record: ExecutionRecord, child: Child, *, place: Path, secrets: ChildSecrets) -> SessionOptions:
    return SessionOptions(
        provider=child.provider,
        working_directory=place,
        environment=secrets.environment,
        named_variables=child.named_variables,
        home=child.home,
        allow_tools=child.allow_tools,
        tools=child.tools,
        provider_shell=child.provider_shell,
        trust=child.trust,
        permission_mode=child.permission_mode,
        model=child.model,
        endpoint=ModelEndpoint(child.endpoint_url, secrets.api_key or "") if child.endpoint_url else None,
        idle_retention=child.idle_retention,
        execution=record.id,
        parent_session=record.parent_session,
    )


def make_worktree(source: Path, place: Path, execution_id: str) -> None:
    """A worktree on a branch of its own; one that an earlier server made is used again. Blocks.

    Raises `WorktreeNotMade`.
    """
    if place.is_dir():
        return
    place.parent.mkdir(mode=0o700, exist_ok=True)
    argv = ["git", "-C", str(source), "worktree", "add", "-b", f"mcp-agent/{execution_id}", str(place)]
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=GIT_WITHIN.total_seconds(),
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise WorktreeNotMade(source, f"git cannot be run ({error.strerror})") from error
    except subprocess.TimeoutExpired as error:
        raise WorktreeNotMade(source, f"git was not done within {GIT_WITHIN.total_seconds():g}s") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise WorktreeNotMade(source, f"git said {said[-1]!r}" if said else f"git ended with {done.returncode}")
