"""Area b of the known faults: what a screen says, and what it does not."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.adapter import Busy, Ready
from mcp_agent.sessions.starting.readiness import ReadinessClock
from mcp_agent.tmux.panes import TmuxTerminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.conftest import House, Session

PRINTER = "print('AAAAAAAAAA login expired: yes'); print('three   '); input()"
OLD_WORDS = "press esc to interrupt\nAPI Error 500\n[y/n/t]:\n✻ Working… (12s · ↑ 1.2k tokens)"


@pytest.mark.anyio
@pytest.mark.contract("S3")
async def test_b01_a_line_that_the_pane_breaks_is_read_whole_and_without_trailing_blanks(short_tmp: Path) -> None:
    async with TmuxTerminal.open(short_tmp / "tmux.sock") as terminal:
        argv, tags = [sys.executable, "-I", "-c", PRINTER], {"session": "narrow"}
        pane = await terminal.spawn(name="narrow", argv=argv, cwd=short_tmp, environment={}, tags=tags, size=(20, 10))
        with anyio.fail_after(30):
            while "three" not in (lines := (await terminal.capture(pane)).lines):  # noqa: ASYNC110 -- another process
                await anyio.sleep(0.02)
        await terminal.shutdown()

    assert "AAAAAAAAAA login expired: yes" in lines


@pytest.mark.contract("S3", "S4")
def test_b03_a_spinner_and_a_counter_keep_it_busy_and_are_no_activity(house: House) -> None:
    session = house.start(ticks=True, thinks_until="gate")
    assert session.send("take your time") == "delivered"

    frames = different_frames(session, 8)

    clock = ReadinessClock(timedelta(minutes=5), None, started_seconds=0.0)
    for minute, lines in enumerate(frames):
        clock.saw(lines, now_seconds=60.0 * minute)
    assert clock.active_seconds == 0.0
    assert clock.passed(now_seconds=300.0) == ("inactivity", timedelta(minutes=5))
    assert session.state == "busy"
    session.open_gate()
    session.until(lambda: session.state == "ready")


@pytest.mark.contract("S3")
def test_b05_old_and_quoted_markers_above_an_empty_prompt_leave_it_idle(house: House) -> None:
    session = house.start()

    assert session.send(OLD_WORDS) == "delivered"
    session.until(lambda: any("ECHO: press esc to interrupt" in line for line in session.screen().lines))
    session.until(lambda: session.state == "ready")
    assert session.says() == [Ready()]


@pytest.mark.contract("S3", "I4")
def test_b06_a_composer_that_is_drawn_while_it_works_is_no_readiness(house: House) -> None:
    session = house.start(ticks=True, thinks_until="gate")
    session.send("work")
    session.until(lambda: session.says() == [Busy()])

    assert session.composer().draft == ""
    assert session.state == "busy"
    assert session.send("and this") == "queued"
    session.open_gate()


@pytest.mark.contract("S4")
def test_b06_a_narrow_pane_with_a_tall_footer_is_ready_all_the_same(house: House) -> None:
    session = house.start(footer=[f"hint {number}" for number in range(5)])
    house.tmux("resize-window", "-t", session.pane, "-x", "30", "-y", "20")
    session.until(lambda: max(map(len, session.screen().lines)) == 30)

    assert session.says() == [Ready()]
    assert session.send("hello") == "delivered"
    assert session.submitted == ["hello"]


@pytest.mark.contract("I1")
def test_b07_a_suggestion_is_no_draft_and_is_never_submitted(house: House) -> None:
    session = house.start(ghost="deploy to prod")

    assert session.composer().draft == ""
    assert session.received == ""
    assert session.send("hello") == "delivered"
    session.until(lambda: session.state == "ready")
    assert session.submitted == ["hello"]


@pytest.mark.contract("I1")
def test_b07_words_that_somebody_typed_are_a_draft_and_are_never_submitted(house: House) -> None:
    session = house.start(ghost="deploy to prod")
    session.type("-l", "delete nothing")
    session.until(lambda: session.composer().draft == "delete nothing")

    assert "draft" in str(session.refused("hello"))
    assert session.received == "delete nothing"
    assert session.submitted == []


def different_frames(session: Session, number: int) -> list[tuple[str, ...]]:
    """So many screens of which no two are the same."""
    frames: dict[tuple[str, ...], None] = {}

    def enough() -> bool:
        frames[tuple(session.screen().lines)] = None
        return len(frames) >= number

    session.until(enough)
    return list(frames)
