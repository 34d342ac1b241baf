"""Turns survive the death of a server: what was told meanwhile ends the right one, once, and nothing is taken twice."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_agent.adapter import TurnOutcome
from mcp_agent.processes import identify
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import Interrupting
from mcp_agent.sessions.store.store import SessionStore

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.sessions.conftest import Cli
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S3", "S7")]


@contextmanager
def store_of_one_server(house: House) -> Iterator[SessionStore]:
    """A store that is never closed by its server, as when that was killed."""
    store = house.store = SessionStore.open(house.work / "sessions.sqlite")
    yield store
    store.connection.close()
    store.message_table.close()


def told(session: LiveSession) -> list[tuple[str, str | None]]:
    """Each prompt, and what its turn came to."""
    return [
        (turn.prompt, f"{turn.ended.outcome}: {turn.ended.final_text}" if turn.ended else None)
        for turn in session.turns.all
    ]


async def killed_in_a_turn(house: House) -> tuple[str, Cli]:
    """The id of the turn that runs, and its CLI."""
    with store_of_one_server(house):
        async with house.server() as manager:
            session = await manager.start(house.options())
            cli = house.cli(session)
            cli.tell(accepted="before")
            cli.tell(ended="completed", text="over")
            cli.tell(accepted="work")
            assert session.turns.current is not None
            turn_id = session.turns.current.id
    cli.told = lambda: None
    cli.status = "[busy]"
    cli.draw()
    return turn_id, cli


async def test_a_turn_that_ran_is_still_the_one_that_runs(house: House) -> None:
    turn_id, cli = await killed_in_a_turn(house)

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            assert session.turns.current is not None
            assert (session.turns.current.id, session.state) == (turn_id, "busy")
            cli.spool(ended="completed", text="done")
            session.take_events()
            assert told(session) == [("before", "completed: over"), ("work", "completed: done")]


async def test_an_end_that_was_told_meanwhile_ends_the_turn_that_ran_once(house: House) -> None:
    turn_id, cli = await killed_in_a_turn(house)
    cli.spool(ended="completed", text="done")
    cli.spool(accepted="next")

    for _ in range(2):
        with store_of_one_server(house):
            async with house.server() as manager:
                [session] = manager.all()
                assert told(session) == [("before", "completed: over"), ("work", "completed: done"), ("next", None)]
                assert session.turns.all[1].id == turn_id
    with store_of_one_server(house) as store:
        page = store.events(after=0, limit=1000)
        ends = [event.facts["turn_id"] for event in page.events if event.kind == "turn.ended"]
        assert len(ends) == len(set(ends)) == 2


@pytest.mark.parametrize("screen", ["", "[busy]"])
async def test_silence_and_a_screen_that_looks_idle_end_no_turn(house: House, screen: str) -> None:
    turn_id, cli = await killed_in_a_turn(house)
    cli.status = screen
    cli.draw()

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            assert session.turns.current is not None
            assert (session.turns.current.id, session.state) == (turn_id, "busy")


async def test_a_cli_that_ended_meanwhile_fails_the_turn_unless_it_told_its_end(house: House) -> None:
    _, cli = await killed_in_a_turn(house)
    cli.pane.exit(7)

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            ended = session.turns.all[-1].ended
            assert ended is not None
            assert (ended.outcome, ended.error) == (TurnOutcome.FAILED, "the CLI exited with status 7")


@pytest.mark.parametrize("was_told", [True, False])
async def test_a_pane_that_is_gone_ends_the_turn_by_what_was_told_before_it_went(house: House, was_told: bool) -> None:
    _, cli = await killed_in_a_turn(house)
    if was_told:
        cli.spool(ended="completed", text="done")
    house.terminal.lose()

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            assert session.state == "lost"
            ended = session.turns.all[-1].ended
            assert ended is not None
            assert (ended.outcome, ended.error) == (
                (TurnOutcome.COMPLETED, None) if was_told else (TurnOutcome.FAILED, "the CLI's pane is gone")
            )


async def test_an_event_whose_server_died_before_it_could_be_removed_is_not_taken_twice(house: House) -> None:
    with store_of_one_server(house):
        async with house.server() as manager:
            session = await manager.start(house.options())
            cli = house.cli(session)
            cli.told = lambda: None
            cli.spool(accepted="work")
            [event] = session.spool.directory.iterdir()
            text = event.read_text()
            session.take_events()
            assert not event.exists()
            event.write_text(text)

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            assert (told(session), session.turns.all[0].live_inputs) == ([("work", None)], ())
            assert not event.exists()


async def test_what_the_file_did_not_take_is_taken_again_by_the_next_server(house: House) -> None:
    with store_of_one_server(house) as store:
        async with house.server() as manager:
            session = await manager.start(house.options())
            cli = house.cli(session)
            with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                cli.tell(accepted="work")
                cli.tell(ended="completed", text="done")
                assert told(session) == [("work", "completed: done")]
                assert len(list(session.spool.directory.iterdir())) == 2

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            assert told(session) == [("work", "completed: done")]
            assert list(session.spool.directory.iterdir()) == []


async def test_a_transcript_that_grew_meanwhile_is_read_from_where_the_dead_server_was(
    house: House, tmp_path: Path
) -> None:
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text(json.dumps({"accepted": "work"}) + "\n")
    with store_of_one_server(house):
        async with house.server() as manager:
            session = await manager.start(house.options())
            house.cli(session).tell(identified="native", transcript=str(transcript))
            assert told(session) == [("work", None)]
    with transcript.open("a") as file:
        file.write(json.dumps({"ended": "interrupted"}) + "\n" + json.dumps({"accepted": "next"}) + "\n")

    for _ in range(2):
        with store_of_one_server(house):
            async with house.server() as manager:
                [session] = manager.all()
                assert told(session) == [("work", "interrupted: "), ("next", None)]


@pytest.mark.contract("W4")
async def test_an_interrupt_is_remembered_and_says_why_the_turn_ended(house: House) -> None:
    _, cli = await killed_in_a_turn(house)
    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            session.apply(Interrupting(by="deadline"))
    cli.spool(ended="interrupted")

    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            assert session.status.turn_aborted
            assert session.turns.all[-1].reason == "deadline"
            cli.spool(accepted="next")
            session.take_events()
            assert not session.status.turn_aborted


async def test_a_stop_says_that_it_ended_the_turn(house: House) -> None:
    await killed_in_a_turn(house)
    with store_of_one_server(house):
        async with house.server() as manager:
            [session] = manager.all()
            await manager.stop(session.id)
            assert session.turns.all[-1].reason == "stop"
            told_last = [event.kind for event in house.store.events(after=0, limit=1000).events][-3:]
            assert told_last == ["turn.ended", "session.state", "session.closed"]


async def test_a_session_that_ends_with_a_command_leaves_no_turn(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    with store_of_one_server(house) as store:
        async with house.server() as manager:
            session = await manager.start(house.options(tied_to=identify(sleeper.pid)))
            house.cli(session).tell(accepted="work")
            assert len(store.turns(session.id)) == 1
            await manager.stop(session.id)
            assert (store.turns(session.id), store.progress(session.id)) == ([], None)
