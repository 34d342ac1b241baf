"""Messages: what somebody gave a session to be told, from before it is placed until everybody knows what became of it.

A message is on disk before its sender hears of it, and says `sending` on disk before its text is placed.
"""

import secrets
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

import anyio
import anyio.to_thread

from mcp_agent.sessions.store.messages import Message as Row
from mcp_agent.sessions.store.store import SessionStore

T = TypeVar("T")

DEADLINE_PASSED = "its caller's deadline passed"

MOST_KEPT = 500
"""Characters kept of a text that arrived: its turn holds all of it."""


class MessageKind(StrEnum):
    PROMPT = "prompt"
    STEER = "steer"


class MessageState(StrEnum):
    """The words that people read, too: in answers, lists and events."""

    WAITING = "waiting"
    """It is on our disk until the session can take it."""
    SENDING = "sending"
    """It is claimed: being placed, or was when its server died."""
    DELIVERED = "delivered"
    """A turn began with it."""
    QUEUED = "queued"
    """The CLI holds it for the turn that ran."""
    UNCONFIRMED = "unconfirmed"
    """Nobody knows whether it arrived; it is never sent again by itself."""
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


ARRIVED = frozenset({MessageState.DELIVERED, MessageState.QUEUED})
OPEN = frozenset({MessageState.WAITING, MessageState.SENDING})


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it stands on disk. Times are wall-clock epochs; None is what has not happened, or is not known."""

    id: str
    session_id: str
    text: str
    kind: MessageKind
    created_at: float
    state: MessageState
    claimed_at: float | None = None
    turn_id: str | None = None
    reason: str | None = None
    deadline_at: float | None = None
    """When its sender wants what it begins to be ended; None: never."""
    waited_for: str | None = None
    """What was before it when its deadline passed."""


def new_message_id() -> str:
    """A fresh id such as `m-4f1c09ab3e`."""
    return f"m-{secrets.token_hex(5)}"


class OffLoop(Protocol):
    """How work that waits for the disk is kept from the event loop."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


async def in_thread(work: Callable[[], T], /) -> T:
    return await anyio.to_thread.run_sync(work)


@dataclass(slots=True)
class Changes:
    """Wakes everyone who waits for another state of any message."""

    next: anyio.Event = field(default_factory=anyio.Event)

    def tell(self) -> None:
        told, self.next = self.next, anyio.Event()
        told.set()


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of all sessions. Every change is on disk on return. Every method raises `StoreUnusable`."""

    store: SessionStore
    off_loop: OffLoop = in_thread
    changes: Changes = field(default_factory=Changes)

    async def add(
        self,
        session_id: str,
        text: str,
        *,
        kind: MessageKind,
        message_id: str | None = None,
        claimed: bool = False,
        deadline_at: float | None = None,
    ) -> Message:
        """A new message: it waits, or is `claimed` by its own sender."""
        state = MessageState.SENDING if claimed else MessageState.WAITING
        claimed_at = time.time() if claimed else None
        facts = {"text": text, "kind": kind, "claimed_at": claimed_at, "deadline_at": deadline_at}
        key = message_id or new_message_id()
        row = await self.off_loop(lambda: self.store.add_message(session_id, key, state, **facts))
        self.store.tell(session_id, f"message.{state}", message_id=key, message_kind=kind)
        return _message(row)

    async def move(
        self, message: Message, to: MessageState, *, expected: Collection[MessageState], **facts: object
    ) -> bool:
        """Whether the message was in an expected state, and so is in the new one."""
        kept: dict[str, object] = {**facts, "text": message.text[:MOST_KEPT]} if to in ARRIVED else facts
        moved = await self.off_loop(lambda: self.store.set_message(message.id, to, expected=expected, **kept))
        if moved:
            self.store.tell(message.session_id, f"message.{to}", message_id=message.id, **facts)
            self.changes.tell()
        return moved

    async def claim(self, message: Message) -> bool:
        """Whether it is ours to place: nobody else claimed, withdrew or refused it."""
        return await self.move(message, MessageState.SENDING, expected={MessageState.WAITING}, claimed_at=time.time())

    async def get(self, session_id: str, message_id: str) -> Message | None:
        """None unless this session has it."""
        row = await self.off_loop(lambda: self.store.message(message_id))
        return _message(row) if row is not None and row.session_id == session_id else None

    async def all(self, session_id: str, *, states: Collection[MessageState] | None = None) -> list[Message]:
        """Oldest first."""
        rows = await self.off_loop(lambda: self.store.messages(session_id, states=states))
        return [_message(row) for row in rows]

    async def with_deadline(self) -> list[Message]:
        """Those of every session whose deadline may still be to come."""
        rows = await self.off_loop(lambda: self.store.messages(states={*OPEN, MessageState.DELIVERED}))
        return [message for message in map(_message, rows) if message.deadline_at is not None]


def _message(row: Row) -> Message:
    facts = row.facts
    claimed_at, deadline_at = facts.get("claimed_at"), facts.get("deadline_at")
    return Message(
        id=row.id,
        session_id=row.session_id,
        text=str(facts.get("text", "")),
        kind=MessageKind(str(facts.get("kind", MessageKind.PROMPT))),
        created_at=row.at,
        state=MessageState(row.state),
        claimed_at=max(claimed_at, row.at) if isinstance(claimed_at, float) else None,
        turn_id=_text(facts.get("turn_id")),
        reason=_text(facts.get("reason")),
        deadline_at=deadline_at if isinstance(deadline_at, float) else None,
        waited_for=_text(facts.get("waited_for")),
    )


def _text(fact: object) -> str | None:
    return fact if isinstance(fact, str) else None
