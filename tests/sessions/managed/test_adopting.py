"""A new server takes over what an earlier one left."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import SessionEnded, TmuxUnavailable, UnknownAdapter, UnknownSession
from mcp_agent.processes import identify
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import load_records, save_record
from mcp_agent.sessions.recovery.adopting import tmux_may_live
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.server import ServerProcess, record_path

if TYPE_CHECKING:
    from tests.sessions.conftest import Cli
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S7")]


async def left_by_an_earlier_server(house: House) -> tuple[LiveSession, Cli]:
    async with house.server() as manager:
        session = await manager.start(house.options())
    cli = house.cli(session)
    cli.told = lambda: None
    return session, cli


async def test_a_session_that_lives_is_adopted_with_its_token_and_its_state(house: House) -> None:
    earlier, _ = await left_by_an_earlier_server(house)

    async with house.server() as manager:
        [session] = manager.all()
        assert (session.id, session.token, session.state) == (earlier.id, earlier.token, "ready")
        assert session.pane == earlier.pane


async def test_an_adopted_session_is_observed_and_takes_prompts(house: House) -> None:
    await left_by_an_earlier_server(house)

    async with house.server() as manager:
        [session] = manager.all()
        cli = house.cli(session)
        assert (await manager.send(session.id, "hello")).outcome == "delivered"
        cli.tell(ended="completed")
        cli.pane.exit(0)
        assert await session.wait_until(lambda: session.state == "exited", limit=timedelta(seconds=10))


async def test_stopping_adopted_sessions_shuts_the_terminal_down_with_the_last(house: House) -> None:
    await left_by_an_earlier_server(house)
    async with house.server() as manager:
        await manager.start(house.options())
    async with house.server() as manager:
        one, two = manager.all()
        await manager.stop(one.id)
        assert await house.panes() == [two.id]
        await manager.stop(two.id)

        assert await house.panes() == []
        assert house.terminal.shut_down == 1
    async with house.server() as manager:
        assert manager.all() == []


async def test_what_was_told_while_no_server_ran_is_taken_in_order(house: House) -> None:
    _, cli = await left_by_an_earlier_server(house)
    cli.spool(accepted="one")
    cli.spool(ended="completed", text="done")
    cli.spool(accepted="two")

    async with house.server() as manager:
        [session] = manager.all()
        assert [turn.prompt for turn in session.turns.all] == ["one", "two"]
        assert session.state == "busy"
        assert session.turns.current is not None
        assert session.turns.current.prompt == "two"


async def test_work_that_began_earlier_is_busy_without_an_invented_turn(house: House) -> None:
    _, cli = await left_by_an_earlier_server(house)
    cli.status = "[busy]"
    cli.draw()

    async with house.server() as manager:
        [session] = manager.all()
        assert (session.state, session.turns.current) == ("busy", None)
        cli.status = ""
        cli.draw()
        assert await session.wait_until(lambda: session.state == "ready", limit=timedelta(seconds=10))


async def test_a_completion_that_was_told_before_its_screen_was_drawn_leaves_nothing_busy(house: House) -> None:
    _, cli = await left_by_an_earlier_server(house)
    cli.status = "[busy]"
    cli.draw()
    cli.spool(ended="completed")

    async with house.server() as manager:
        [session] = manager.all()
        cli.status = ""
        cli.draw()
        assert await session.wait_until(lambda: session.state == "ready", limit=timedelta(seconds=10))


async def test_a_transcript_is_read_on_from_where_the_earlier_server_was(house: House, tmp_path: Path) -> None:
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text(json.dumps({"accepted": "one"}) + "\n")
    async with house.server() as manager:
        session = await manager.start(house.options())
        house.cli(session).tell(identified="native", transcript=str(transcript))
        assert session.turns.current is not None
    with transcript.open("a") as file:
        file.writelines(json.dumps(told) + "\n" for told in ({"ended": "completed", "text": "1"}, {"accepted": "two"}))

    async with house.server() as manager:
        [session] = manager.all()
        turns = [(turn.prompt, turn.ended and turn.ended.final_text) for turn in session.turns.all]
        assert turns == [("one", "1"), ("two", None)]


async def test_without_a_word_on_how_far_it_was_read_a_transcript_is_followed_from_its_end(
    house: House, tmp_path: Path
) -> None:
    transcript = tmp_path / "talk.jsonl"
    transcript.write_text(json.dumps({"accepted": "old"}) + "\n")
    earlier, _ = await left_by_an_earlier_server(house)
    [record] = load_records(house.state)
    save_record(house.state, replace(record, transcript=transcript))
    house.store.forget(earlier.id)

    async with house.server() as manager:
        [session] = manager.all()
        with transcript.open("a") as file:
            file.write(json.dumps({"accepted": "new"}) + "\n")
        session.take_events()
        assert [turn.prompt for turn in session.turns.all] == ["new"]


async def test_a_cli_that_ended_meanwhile_is_exited(house: House) -> None:
    _, cli = await left_by_an_earlier_server(house)
    cli.pane.exit(5)

    async with house.server() as manager:
        [session] = manager.all()
        assert session.over == "exited (status 5)"


@pytest.mark.contract("S8")
@pytest.mark.parametrize("tmux_lives", [True, False])
async def test_a_session_whose_pane_is_gone_is_lost_and_can_be_stopped(house: House, tmux_lives: bool) -> None:
    earlier, _ = await left_by_an_earlier_server(house)
    house.terminal.lose()
    house.tmux_lives = tmux_lives

    async with house.server() as manager:
        [session] = manager.all()
        assert (session.id, session.state) == (earlier.id, "lost")
        with pytest.raises(SessionEnded, match="lost"):
            await manager.interrupt(session.id)
        await manager.stop(session.id)
        assert session.state == "stopped"
        assert house.files() == [session.id, f"{session.id}/session.json"]


async def test_no_tmux_is_started_to_look(house: House) -> None:
    await left_by_an_earlier_server(house)
    house.terminal.lose()
    house.tmux_lives = False
    opened = house.terminal.opened

    async with house.server():
        assert house.terminal.opened == opened


async def test_without_sessions_no_tmux_is_opened(house: House) -> None:
    async with house.server():
        assert house.terminal.opened == 0


async def test_a_tmux_that_does_not_answer_loses_no_session_and_is_asked_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.sessions.recovery.adopting.ASK_AGAIN_AFTER", timedelta(milliseconds=1))
    earlier, _ = await left_by_an_earlier_server(house)
    house.terminal.available = False

    async with house.server() as manager:
        assert manager.all() == []
        assert [record.id for record in manager.unadopted] == [earlier.id]
        with pytest.raises(TmuxUnavailable, match="is on record; tmux does not answer yet"):
            manager.get(earlier.id)
        with pytest.raises(UnknownSession):
            manager.get("s-none")
        house.terminal.available = True
        observed = anyio.Event()
        house.terminal.on_watch = lambda _: observed.set()
        with anyio.fail_after(20):
            await observed.wait()
        assert [session.id for session in manager.all()] == [earlier.id]
        assert manager.get(earlier.id).pane == earlier.pane
        assert house.terminal.shut_down == 0


async def test_a_stop_that_was_broken_off_is_finished(house: House) -> None:
    await left_by_an_earlier_server(house)
    [record] = load_records(house.state)
    save_record(house.state, replace(record, stopped=True))

    async with house.server() as manager:
        await manager.stop(record.id)

        assert await house.panes() == []
        assert house.files() == [record.id, f"{record.id}/session.json"]


@pytest.mark.contract("S8")
async def test_a_launch_that_was_broken_off_before_its_pane_was_known_is_found_by_its_tag(house: House) -> None:
    earlier, _ = await left_by_an_earlier_server(house)
    [record] = load_records(house.state)
    save_record(house.state, replace(record, pane=None))

    async with house.server() as manager:
        [session] = manager.all()
        assert session.pane == earlier.pane


@pytest.mark.contract("S8")
async def test_a_launch_that_never_came_to_a_pane_is_put_away(house: House) -> None:
    await left_by_an_earlier_server(house)
    [record] = load_records(house.state)
    save_record(house.state, replace(record, pane=None))
    house.terminal.lose()

    async with house.server() as manager:
        await manager.stop(record.id)
        assert house.files() == [record.id, f"{record.id}/session.json"]


async def test_a_pane_of_no_session_is_left_alone_and_logged(house: House, caplog: pytest.LogCaptureFixture) -> None:
    await left_by_an_earlier_server(house)
    await house.terminal.spawn(name="x", argv=["x"], cwd=house.work, environment={}, tags={"session": "s-other"})

    async with house.server() as manager:
        [session] = manager.all()
        await manager.stop(session.id)

        assert await house.panes() == ["s-other"]
        assert "s-other" in caplog.text


async def test_a_session_whose_adapter_is_not_installed_any_more_is_left_alone(house: House) -> None:
    earlier, _ = await left_by_an_earlier_server(house)

    def load(name: str) -> None:
        raise UnknownAdapter(name, ())

    house.load = load  # type: ignore[assignment]
    async with house.server() as manager:
        assert manager.all() == []
        assert await house.panes() == [earlier.id]


@pytest.mark.contract("S8")
async def test_an_adopted_session_is_still_tied_to_its_process(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    async with house.server() as manager:
        await manager.start(house.options(tied_to=identify(sleeper.pid)))
    async with house.server() as manager:
        [session] = manager.all()
        sleeper.kill()
        assert await session.wait_until(lambda: session.state == "stopped", limit=timedelta(seconds=10))
        await manager.stop(session.id)


def test_a_socket_that_is_not_there_has_no_tmux(short_tmp: Path) -> None:
    assert not tmux_may_live(short_tmp / "tmux.sock")


def test_a_socket_that_nobody_listens_on_has_no_tmux(short_tmp: Path) -> None:
    path = short_tmp / "tmux.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    assert not tmux_may_live(path)


def test_a_socket_that_somebody_listens_on_may_have_one(short_tmp: Path) -> None:
    path = short_tmp / "tmux.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)

        assert tmux_may_live(path)


def test_a_server_that_lives_without_its_socket_may_be_recovered(short_tmp: Path) -> None:
    path = short_tmp / "tmux.sock"
    own = ServerProcess.of(os.getpid())
    assert own is not None
    own.record(record_path(path))

    assert tmux_may_live(path)


async def test_looking_for_a_real_tmux_starts_none(short_tmp: Path) -> None:
    path = short_tmp / "tmux.sock"
    async with TmuxTerminal.open(path) as terminal:
        assert tmux_may_live(path)
        await terminal.shutdown()

    assert not tmux_may_live(path)
    assert not path.exists()
