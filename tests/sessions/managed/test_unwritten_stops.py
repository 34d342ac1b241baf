"""A stop whose facts could not be written: the next server knows that nothing runs, and nothing comes back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.adapter import TurnOutcome
from mcp_agent.errors import McpAgentError, StoreUnusable
from mcp_agent.sessions.input.messages import OPEN
from mcp_agent.sessions.input.sending import SendMode
from mcp_agent.sessions.signals import Stopped, Vanished
from mcp_agent.sessions.store.store import SessionStore
from tests.sessions.managed.test_resuming import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_agent.sessions.live import LiveSession
    from mcp_agent.sessions.manager import SessionManager
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S3", "S7")]


@pytest.fixture
def place(house: House) -> Iterator[Place]:
    place = Place(house)
    house.bench.adapter = place.adapter
    house.store = SessionStore.open(house.work / "before.sqlite")
    yield place
    house.store.close()


async def at_work(manager: SessionManager, place: Place) -> LiveSession:
    """A session with a turn that runs and a message that waits for its end."""
    session = await manager.start(place.house.options())
    await manager.send(session.id, "old")
    await manager.send(session.id, "waits", mode=SendMode.QUEUE)
    return session


def as_it_is(store: SessionStore, path: Path) -> SessionStore:
    """What another server finds when nothing is written from now on."""
    assert store.write()
    with closing(sqlite3.connect(store.path)) as before, closing(sqlite3.connect(path)) as after:
        before.backup(after)
    return SessionStore.open(path)


async def stopped_unwritten(place: Place) -> str:
    async with place.server() as manager:
        session = await at_work(manager, place)
        found = as_it_is(place.house.store, place.house.work / "found.sqlite")
        await manager.stop(session.id)
    place.house.store.close()
    place.house.store = found
    return session.id


def turns(session: LiveSession) -> list[tuple[str, str | None, str | None]]:
    return [(turn.prompt, turn.ended.outcome if turn.ended else None, turn.reason) for turn in session.turns.all]


async def states(manager: SessionManager, session: LiveSession) -> list[str]:
    """Of its messages, once each is decided."""
    messages = manager.queue.messages
    with anyio.fail_after(10):
        while True:
            changed = messages.changes.next
            found = await messages.all(session.id)
            if all(message.state not in OPEN for message in found):
                return [message.state for message in found]
            await changed.wait()


async def test_its_turn_is_over_and_its_waiting_messages_are_refused(place: Place) -> None:
    session_id = await stopped_unwritten(place)
    async with place.server() as manager:
        session = manager.get(session_id)
        assert (session.over, turns(session)) == ("stopped", [("old", "interrupted", "stop")])
        assert await states(manager, session) == ["delivered", "refused"]


@pytest.mark.parametrize("first", ["resume", "look"])
async def test_a_resume_begins_with_nothing_of_before(place: Place, first: str) -> None:
    session_id = await stopped_unwritten(place)
    async with place.server() as manager:
        if first == "look":
            manager.get(session_id)
        session = await manager.resume(session_id)
        assert (session.state, session.turns.current) == ("ready", None)
        assert (await manager.send(session_id, "new")).outcome == "delivered"
        assert place.clis[-1].submitted == ["new"]
        assert await states(manager, session) == ["delivered", "refused", "delivered"]


async def test_messages_that_could_not_be_refused_go_to_nobody_when_the_session_is_resumed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> bool:
        raise StoreUnusable(place.house.store.path, "the disk is full")

    async with place.server() as manager:
        session = await at_work(manager, place)
        with monkeypatch.context() as trouble:
            trouble.setattr(SessionStore, "set_message", full)
            await manager.stop(session.id)
            with pytest.raises(McpAgentError, match="the disk is full"):
                await manager.resume(session.id)
            assert session.state == "stopped"
        await manager.resume(session.id)
        await manager.send(session.id, "new")
        assert place.clis[-1].submitted == ["new"]
        assert await states(manager, session) == ["delivered", "refused", "delivered"]


async def test_messages_that_could_not_be_refused_are_refused_once_the_store_takes_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = anyio.Event()

    def full(*_: object, **__: object) -> bool:
        anyio.from_thread.run_sync(tried.set)
        raise StoreUnusable(place.house.store.path, "the disk is full")

    async with place.server() as manager:
        session = await at_work(manager, place)
        with monkeypatch.context() as trouble:
            trouble.setattr(SessionStore, "set_message", full)
            await manager.stop(session.id)
            await tried.wait()
        assert await states(manager, session) == ["delivered", "refused"]


async def test_the_messages_of_a_lost_session_wait_for_its_resume(place: Place) -> None:
    async with place.server() as manager:
        session = await at_work(manager, place)
        place.house.terminal.lose()
    async with place.server() as manager:
        session = await manager.resume(session.id)
        assert turns(session)[0] == ("old", "failed", None)
        assert await states(manager, session) == ["delivered", "delivered"]
        assert place.clis[-1].submitted == ["waits"]


@pytest.mark.parametrize(
    ("end", "outcome"),
    [(Stopped(), TurnOutcome.INTERRUPTED), (Vanished(), TurnOutcome.FAILED), (None, TurnOutcome.FAILED)],
)
async def test_no_turn_runs_when_a_cli_begins_again(place: Place, end: Stopped | Vanished | None, outcome: str) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options())
        if end is not None:
            session.apply(end)
        session.turns.accept("old")

        session.begin_again(session.record, "token")

        assert (turns(session)[0][1], session.turns.current) == (outcome, None)
        assert session.state == "starting"
