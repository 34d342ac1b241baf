"""One live session: what its pane, its events and its transcript lead to, in virtual time."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.adapter import TurnOutcome
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import Exited, Stopped, Vanished

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio

SOON = timedelta(seconds=10)
PROMPT = ("> ", "---")


async def comes(session: LiveSession, state: str, *, within: timedelta = SOON) -> bool:
    return await session.wait_until(lambda: session.state == state, limit=within)


@pytest.mark.contract("S3")
async def test_what_is_drawn_becomes_the_state(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        session.bridge_is_up()
        for screen, state in (
            (PROMPT, "ready"),
            (("[busy]", *PROMPT), "busy"),
            (("[busy]", "[permission?]", *PROMPT), "waiting"),
            (PROMPT, "ready"),
            (("[dialog login]", "* Log in"), "blocked"),
            (PROMPT, "ready"),
            (("[limited]", *PROMPT), "limited"),
        ):
            pane.show(*screen)
            assert await comes(session, state)


@pytest.mark.contract("S3")
async def test_a_screen_that_never_settles_is_read_all_the_same(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        session.bridge_is_up()

        async def spin() -> None:
            for frame in range(10_000):
                pane.show(f"frame {frame}", "[busy]", *PROMPT)
                await anyio.sleep(0.05)

        group.start_soon(spin)

        assert await comes(session, "busy")
        group.cancel_scope.cancel()


@pytest.mark.contract("S3")
async def test_hours_of_silence_complete_no_turn(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="think")
        await anyio.sleep(timedelta(hours=5).total_seconds())

        assert session.state == "busy"
        cli.tell(ended="completed")
        assert session.state == "ready"


@pytest.mark.contract("S3")
async def test_a_turn_completes_once(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        cli.tell(ended="completed", text="first")
        cli.tell(ended="interrupted", text="second")

        [turn] = session.turns.all
        assert turn.ended is not None
        assert (turn.ended.outcome, turn.ended.final_text) == (TurnOutcome.COMPLETED, "first")


@pytest.mark.contract("S3")
async def test_an_event_whose_teller_never_reached_the_server_is_found(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        await anyio.sleep(60)
        cli.spool(ended="completed")

        assert await comes(session, "ready")


@pytest.mark.contract("S7")
async def test_events_that_were_spooled_while_nobody_looked_are_taken_in_order(bench: Bench) -> None:
    session, pane = await bench.launch()
    cli = bench.cli(pane)
    for number in range(12):
        cli.spool(accepted=f"prompt {number}")
        cli.spool(ended="completed", text=f"answer {number}")
    cli.spool(accepted="the last")

    await session.look()

    told = [(turn.prompt, turn.ended and turn.ended.final_text) for turn in session.turns.all]
    assert told == [*((f"prompt {number}", f"answer {number}") for number in range(12)), ("the last", None)]
    assert list(bench.events.iterdir()) == []


@pytest.mark.contract("S3")
async def test_a_terminal_that_does_not_answer_ends_no_session_and_is_asked_again(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        bench.terminal.available = False
        cli.status = "[busy]"
        cli.draw()
        await anyio.sleep(timedelta(hours=1).total_seconds())

        assert session.state == "ready"
        bench.terminal.available = True
        assert await comes(session, "busy")


async def test_a_terminal_that_answers_again_is_read_within_two_seconds(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        for seconds in range(6):
            bench.terminal.available = False
            cli.status = "[busy]" if seconds % 2 else "[permission?]"
            cli.draw()
            await anyio.sleep(seconds + 3.5)
            bench.terminal.available = True

            assert await comes(session, "busy" if seconds % 2 else "waiting", within=timedelta(seconds=2))


@pytest.mark.contract("S3", "S4")
async def test_a_cli_that_ends_is_exited_with_its_status_and_its_last_screen(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.show("goodbye")
        cli.pane.exit(4)

        assert await comes(session, "exited")
        assert session.over == "exited (status 4)"
        assert session.screen.text == "goodbye"


@pytest.mark.contract("S3")
async def test_a_cli_that_is_killed_is_exited_with_the_signal(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.kill(9)

        assert await comes(session, "exited")
        assert session.over == "exited (signal 9)"


@pytest.mark.contract("S3")
async def test_a_cli_that_ends_while_the_terminal_hangs_is_exited_all_the_same(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        bench.terminal.available = False
        cli.pane.exit(1)

        assert await comes(session, "exited")


@pytest.mark.contract("S3", "S7")
async def test_a_terminal_that_is_gone_loses_the_session(bench: Bench) -> None:
    async with bench.ready() as (session, _):
        bench.terminal.lose()

        assert await session.wait_until(lambda: session.state == "lost", limit=timedelta(seconds=5))


async def test_events_that_were_spooled_before_the_end_are_taken_before_it(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        cli.spool(ended="completed", text="done")
        cli.pane.exit(0)

        assert await comes(session, "exited")
        assert session.turns.current is None


async def test_a_fault_of_the_adapter_ends_neither_the_session_nor_the_server(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.show("[broken]")
        cli.tell(fault=1)
        await anyio.sleep(10)
        cli.status = "[busy]"
        cli.draw()

        assert await comes(session, "busy")
        assert "its adapter failed" in caplog.text


async def test_the_conversations_id_and_transcript_are_recorded(bench: Bench) -> None:
    transcript = bench.root / "talk.jsonl"
    transcript.write_text(json.dumps({"accepted": "one"}) + "\n")
    async with bench.ready() as (session, cli):
        cli.tell(identified="native-1", transcript=str(transcript))
        cli.tell(identified="native-2")

        assert (session.record.native_session_id, session.record.transcript) == ("native-2", transcript)
        assert bench.records[-1] == session.record
        assert [turn.prompt for turn in session.turns.all] == ["one"]


@pytest.mark.contract("X3", "S3")
async def test_an_interrupt_and_the_queued_prompt_after_it_come_before_the_end_that_a_hook_tells(bench: Bench) -> None:
    transcript = bench.root / "talk.jsonl"
    transcript.touch()
    async with bench.ready() as (session, cli):
        cli.tell(identified="native-1", transcript=str(transcript))
        cli.tell(accepted="one")
        cli.tell(accepted="two", queued=True)
        transcript.write_text('{"ended": "interrupted"}\n{"accepted": "two"}\n')
        cli.tell(ended="completed", text="the answer to two")

        ends = [(turn.prompt, turn.ended and (turn.ended.outcome, turn.ended.final_text)) for turn in session.turns.all]
        assert ends == [
            ("one", (TurnOutcome.INTERRUPTED, "")),
            ("two", (TurnOutcome.COMPLETED, "the answer to two")),
        ]


@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    ("end", "outcome", "error"),
    [
        (Stopped(), TurnOutcome.INTERRUPTED, "the session was stopped"),
        (Exited(3, None), TurnOutcome.FAILED, "the CLI exited with status 3"),
        (Exited(None, 9), TurnOutcome.FAILED, "the CLI was ended by signal 9"),
        (Vanished(), TurnOutcome.FAILED, "the CLI's pane is gone"),
    ],
)
async def test_a_turn_whose_session_is_over_is_over_too_and_says_why(
    bench: Bench, end: Stopped | Exited | Vanished, outcome: TurnOutcome, error: str
) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        session.apply(end)

        [turn] = session.turns.all
        assert turn.ended is not None
        assert (turn.ended.outcome, turn.ended.error) == (outcome, error)


def test_a_half_written_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t"
    tail = TranscriptTail(path)
    assert tail.take() == []
    with path.open("ab", buffering=0) as file:
        file.write(b"one\ntwo \xc3")
        assert tail.take() == ["one"]
        assert tail.take() == []
        file.write(b"\xa9\n")
        assert tail.take() == ["two é"]


def test_a_line_is_ended_by_a_newline_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("one\u2028still one\x85\x0c\r\ntwo\n", encoding="utf-8", newline="")

    assert TranscriptTail(path).take() == ["one\u2028still one\x85\x0c\r", "two"]


def test_a_tail_from_the_end_tells_what_is_completed_later(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("old\nhalf")
    tail = TranscriptTail.from_end_of(path)
    with path.open("a") as file:
        file.write(" of it\nnew\n")

    assert tail.take() == ["half of it", "new"]


def test_a_transcript_that_is_cut_short_is_not_told_twice(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("a long first line\n")
    tail = TranscriptTail(path)
    tail.take()
    path.write_text("short\n")
    assert tail.take() == []
    with path.open("a") as file:
        file.write("new\n")

    assert tail.take() == ["new"]


def test_another_transcript_is_read_from_its_beginning_and_the_same_one_goes_on(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_text("one\n")
    two.write_text("two\n")
    tail = TranscriptTail(one)
    tail.take()
    tail.follow(one)
    tail.follow(None)
    assert tail.take() == []
    tail.follow(two)

    assert tail.take() == ["two"]


def test_a_transcript_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert TranscriptTail(tmp_path).take() == []
    assert TranscriptTail.from_end_of(tmp_path / "none").take() == []
    assert TranscriptTail.from_end_of(None).take() == []


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b"[" * 100_000, b""])
def test_an_event_that_is_no_object_is_dropped_and_the_next_is_taken(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "1.json").write_bytes(content)
    (tmp_path / "2.json").write_text('{"a": 1}')
    (tmp_path / ".3.tmp").write_text("half")

    assert EventSpool(tmp_path).take() == [{"a": 1}]
    assert [path.name for path in tmp_path.iterdir()] == [".3.tmp"]


def test_a_spool_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert EventSpool(tmp_path / "none").take() == []
