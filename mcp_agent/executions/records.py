"""What is kept of an execution, and which of its states may follow which.

A state that is written stays written: `may_follow` is the only place that says what may come after it, so no late
observer and no time-out rewrites an outcome.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Literal

from mcp_agent.adapter import Usage


class ExecutionState(StrEnum):
    QUEUED = "queued"
    """It is on disk, and has not begun."""
    RUNNING = "running"
    """Its session is started, or works."""
    CANCELLING = "cancelling"
    """It was told to stop, and what it runs is being ended."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    LOST = "lost"
    """Nobody can tell any more what became of it."""


_S = ExecutionState

FINISHED = frozenset({_S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.DEADLINE_EXCEEDED, _S.LOST})
UNFINISHED = frozenset(_S) - FINISHED

_NEXT: Mapping[ExecutionState, frozenset[ExecutionState]] = {
    _S.QUEUED: frozenset({_S.RUNNING, _S.CANCELLED, _S.DEADLINE_EXCEEDED, _S.FAILED}),
    _S.RUNNING: frozenset({_S.CANCELLING, *FINISHED}),
    _S.CANCELLING: FINISHED,
}


def may_follow(state: ExecutionState, following: ExecutionState) -> bool:
    """Whether an execution in one state may come into the other. A finished one stays as it is."""
    return following in _NEXT.get(state, frozenset())


def before(state: ExecutionState) -> frozenset[ExecutionState]:
    """The states in which an execution may come into this one."""
    return frozenset(earlier for earlier, following in _NEXT.items() if state in following)


EndedBy = Literal["result", "turn_deadline", "cancel", "prompt_ready", "session", "person", "engine"]
"""The layer that ended it: `result` is the child's own word, `session` the loss or the end of its session."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an execution ended. `final_text` is the child's last answer, as far as it came."""

    ended_by: EndedBy
    owner: str
    """Who set the limit or gave the order: `caller`, `owner`, `agent`, `adapter` or `child`."""
    reason: str
    """One line for people: what happened."""
    final_text: str = ""
    usage: Usage | None = None
    turn_id: str | None = None
    cause: str | None = None
    """Of a turn that failed: what its provider refused, where it tells."""


class DeliveryState(StrEnum):
    """What became of telling the parent's session."""

    NONE = "none"
    """Nobody is to be told."""
    PENDING = "pending"
    """It is told once the execution has ended, and its session can be given a message."""
    CLAIMED = "claimed"
    """It is being put into the parent's queue, or was when a server died."""
    SENT = "sent"
    """It stands in the parent's queue, on disk; the message says the rest."""
    TOLD = "told"
    """A tool call of the parent had it as its answer."""
    REFUSED = "refused"
    """The parent was stopped."""


@dataclass(frozen=True, slots=True)
class Child:
    """The session that an execution asks for. Variables and keys are kept beside it, until it has ended."""

    provider: str
    working_directory: Path
    home: Path | None = None
    model: str | None = None
    permission_mode: str | None = None
    tools: frozenset[str] | None = None
    """The bridge tools that it has; None: all of them."""
    allow_tools: frozenset[str] = frozenset()
    named_variables: frozenset[str] = frozenset()
    provider_shell: bool = True
    trust: bool = False
    worktree: bool = False
    """It works in a git worktree of its own, made from its working directory."""
    endpoint_url: str | None = None
    idle_retention: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    """One execution. Times are wall-clock epochs; None is what has not happened, or was not asked for."""

    id: str
    instructions: str
    """The whole prompt, a configured agent's own instructions included."""
    child: Child
    digest: str
    """What a second use of its idempotency key must be equal to."""
    created_at: float
    standing: int = 0
    """How many characters of `instructions` are those of its agent, which stand before its caller's."""
    agent: str | None = None
    """The configured agent; None for an ad-hoc one."""
    parent_session: str | None = None
    """None: a person, or a program with the owner's token, started it."""
    parent_execution: str | None = None
    call_id: str | None = None
    """The tool call that started it."""
    depth: int = 1
    """1: started by a person, or by a session that a person started."""
    idempotency_key: str | None = None
    deadline_at: float | None = None
    state: ExecutionState = ExecutionState.QUEUED
    session_id: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    cancelled_by: str | None = None
    outcome: Outcome | None = None
    delivery: DeliveryState = DeliveryState.NONE

    @property
    def is_finished(self) -> bool:
        return self.state in FINISHED

    @property
    def task(self) -> str:
        """What its caller said."""
        return self.instructions[self.standing :]

    @property
    def message_id(self) -> str:
        """The message that carries its prompt: always the same one, so that no second one is ever sent."""
        return f"m-{self.id[2:]}"

    @property
    def delivery_id(self) -> str:
        """The message that tells its parent: always the same one, so that it is never told twice."""
        return f"m-{hashlib.sha256(f'delivery of {self.id}'.encode()).hexdigest()[:10]}"

    @property
    def limit(self) -> timedelta | None:
        """How long its caller gave it."""
        if self.deadline_at is None:
            return None
        return timedelta(seconds=max(self.deadline_at - self.created_at, 0.0))


def new_execution_id() -> str:
    """A fresh id such as `x-4f1c09ab3e`."""
    return f"x-{secrets.token_hex(5)}"
