"""What every terminal promises, asked of the real one and of its double."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol

import anyio
import pytest

from mcp_agent.errors import PaneDead, PaneGone
from mcp_agent.tmux.terminal import (
    Capture,
    ClockClosing,
    Died,
    IdleClock,
    Lost,
    PaneEvent,
    PaneInfo,
    PaneRef,
    Terminal,
    Wrote,
)

pytestmark = pytest.mark.anyio


class Stage(Protocol):
    @property
    def terminal(self) -> Terminal: ...

    async def scroll(self, pane: PaneRef) -> None: ...

    async def lose(self) -> None: ...


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...

    async def say(self, terminal: Terminal, pane: PaneRef, text: str) -> None: ...

    async def until(self, terminal: Terminal, pane: PaneRef, text: str) -> Capture: ...


async def events_of(terminal: Terminal, pane: PaneRef, *, then: str | None = None, actors: Actors) -> list[PaneEvent]:
    """Every event of a pane until its end, after it was told something."""
    with anyio.fail_after(20):
        async with terminal.watch(pane) as events:
            if then:
                await actors.say(terminal, pane, then)
            return [event async for event in events]


async def test_what_is_pasted_and_submitted_reaches_the_program(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await actors.say(stage.terminal, pane, "hello wörld")
    screen = await actors.until(stage.terminal, pane, "got hello")
    assert "got hello wörld" in screen.lines


@pytest.mark.contract("S2")
async def test_an_exit_is_told_with_its_status_and_ends_the_watch(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    events = await events_of(stage.terminal, pane, then="exit 7", actors=actors)
    assert events[-1] == Died(7, None)
    info = await stage.terminal.exit_of(pane)
    assert info and (info.dead, info.exit_status, info.exit_signal) == (True, 7, None)


@pytest.mark.contract("S2")
async def test_a_death_by_signal_is_told_with_the_signal(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    events = await events_of(stage.terminal, pane, then="kill 9", actors=actors)
    assert events[-1] == Died(None, 9)


@pytest.mark.contract("S2")
async def test_text_for_a_dead_pane_is_refused_and_the_others_live_on(stage: Stage, actors: Actors) -> None:
    dead, other = await actors.launch(stage.terminal, "victim"), await actors.launch(stage.terminal, "other")
    await events_of(stage.terminal, dead, then="exit 0", actors=actors)
    for _ in range(3):
        with pytest.raises(PaneDead):
            await stage.terminal.paste(dead, "too late")
    with pytest.raises(PaneDead):
        await stage.terminal.press(dead, "Enter")
    await actors.say(stage.terminal, other, "alive")
    await actors.until(stage.terminal, other, "got alive")


async def test_a_dead_pane_still_shows_its_last_screen(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await events_of(stage.terminal, pane, then="exit 1", actors=actors)
    assert "ready" in (await stage.terminal.capture(pane)).lines


@pytest.mark.contract("S8")
async def test_a_closed_pane_is_gone_and_closing_it_again_is_fine(stage: Stage, actors: Actors) -> None:
    terminal = stage.terminal
    pane, other = await actors.launch(terminal, "task-1"), await actors.launch(terminal, "task-10")
    with anyio.fail_after(20):
        async with terminal.watch(pane) as events:
            await terminal.close(pane)
            assert [event async for event in events][-1] == Lost()
    await terminal.close(pane)
    assert await terminal.exit_of(pane) is None
    for act in (terminal.capture(pane), terminal.paste(pane, "x"), terminal.press(pane, "Enter")):
        with pytest.raises(PaneGone):
            await act
    assert [info.pane for info in await terminal.panes()] == [other]


async def test_panes_are_listed_with_their_tags_dead_ones_too(stage: Stage, actors: Actors) -> None:
    odd = "a b;'\"\\$#{pid}\t\nü~{}"
    first = await actors.launch(stage.terminal, "one", session="s-1", note=odd)
    second = await actors.launch(stage.terminal, "one", session="s-2")
    await events_of(stage.terminal, first, then="exit 3", actors=actors)
    found = {info.pane: (info.tags, info.dead, info.exit_status) for info in await stage.terminal.panes()}
    assert found == {
        first: ({"session": "s-1", "note": odd}, True, 3),
        second: ({"session": "s-2"}, False, None),
    }


async def test_an_end_before_the_watch_is_told_at_once(stage: Stage, actors: Actors) -> None:
    dead, gone = await actors.launch(stage.terminal), await actors.launch(stage.terminal)
    await events_of(stage.terminal, dead, then="exit 4", actors=actors)
    await stage.terminal.close(gone)
    assert await events_of(stage.terminal, dead, actors=actors) == [Died(4, None)]
    assert await events_of(stage.terminal, gone, actors=actors) == [Lost()]


@pytest.mark.contract("I1")
async def test_text_reaches_a_pane_that_a_person_scrolls(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await stage.scroll(pane)
    await stage.terminal.paste(pane, "read this")
    await stage.scroll(pane)
    await stage.terminal.press(pane, "Enter")
    await actors.until(stage.terminal, pane, "got read this")


async def test_dim_text_is_told_from_typed_text(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await actors.say(stage.terminal, pane, "dim deploy 字 now")
    screen = await actors.until(stage.terminal, pane, "deploy")
    row = screen.lines.index("> deploy 字 now!")
    assert screen.dim_lines[row] == "  deploy 字 now"
    assert not any(line for line in screen.dim_lines[:row])


async def test_the_title_is_captured(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await actors.say(stage.terminal, pane, "title at work: ✳")
    await actors.say(stage.terminal, pane, "done now")
    assert (await actors.until(stage.terminal, pane, "got done")).title == "at work: ✳"


async def test_unread_writes_are_one_event(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    with anyio.fail_after(20):
        async with stage.terminal.watch(pane) as unread:
            for word in ("one", "two"):
                await actors.say(stage.terminal, pane, f"{word} x")
                await actors.until(stage.terminal, pane, f"got {word}")
            await events_of(stage.terminal, pane, then="exit 0", actors=actors)
            assert [event async for event in unread] == [Wrote(), Died(0, None)]


@pytest.mark.contract("S7")
async def test_losing_the_server_loses_its_panes_and_a_new_one_is_found(stage: Stage, actors: Actors) -> None:
    old = await actors.launch(stage.terminal)
    with anyio.fail_after(20):
        async with stage.terminal.watch(old) as events:
            await stage.lose()
            assert [event async for event in events][-1] == Lost()
    assert await stage.terminal.panes() == []
    new = await actors.launch(stage.terminal)
    assert await stage.terminal.exit_of(old) is None
    with pytest.raises(PaneGone):
        await stage.terminal.paste(old, "not for the new pane, whatever its id")
    await stage.terminal.close(old)
    await actors.say(stage.terminal, new, "hello again")
    await actors.until(stage.terminal, new, "got hello again")


async def test_launches_without_tags_and_empty_texts_are_refused(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    with pytest.raises(ValueError, match="tags"):
        await actors.launch(stage.terminal, **{"no-dash": "x"})
    with pytest.raises(ValueError, match="text"):
        await stage.terminal.paste(pane, "")


CLOCK = IdleClock("s-1", timedelta(milliseconds=100), close_after=4, abandon_after=1000)


async def until(terminal: Terminal, pane: PaneRef, holds: Callable[[PaneInfo | None], bool]) -> None:
    with anyio.fail_after(20):
        while not holds(await terminal.exit_of(pane)):  # noqa: ASYNC110 -- a clock tells nobody of its ticks
            await anyio.sleep(0.01)


@pytest.mark.contract("S6")
async def test_a_clock_closes_its_pane_and_tells_that_once(stage: Stage, actors: Actors) -> None:
    terminal = stage.terminal
    pane, other = await actors.launch(terminal, "one"), await actors.launch(terminal, "other")
    await terminal.set_clock(pane, CLOCK)
    await until(terminal, pane, lambda info: info is None)

    assert await terminal.take_closing("s-2") is None
    assert await terminal.take_closing("s-1") == ClockClosing(4, 4, 0.1)
    assert await terminal.take_closing("s-1") is None
    assert [info.pane for info in await terminal.panes()] == [other]


@pytest.mark.contract("S6")
async def test_a_held_clock_stands_still_until_it_is_abandoned(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await stage.terminal.set_clock(pane, replace(CLOCK, ticks=2, held=True, abandon_after=8))
    info = await stage.terminal.exit_of(pane)
    assert info
    assert (info.ticks, info.held, info.attached) == (2, True, False)
    await until(stage.terminal, pane, lambda info: info is None)

    assert await stage.terminal.take_closing("s-1") == ClockClosing(2, 8, 0.1)


@pytest.mark.contract("S6")
async def test_a_clock_begins_where_it_is_told_to_and_can_be_taken_away(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await stage.terminal.set_clock(pane, replace(CLOCK, ticks=7, close_after=1000))
    await until(stage.terminal, pane, lambda info: info is not None and (info.ticks or 0) >= 9)
    await stage.terminal.set_clock(pane, None)

    info = await stage.terminal.exit_of(pane)
    assert info
    assert info.ticks is None


@pytest.mark.parametrize("wrong", [{"name": "a b"}, {"interval": timedelta(0)}, {"close_after": 0}, {"ticks": -1}])
async def test_a_clock_that_cannot_be_kept_is_refused(stage: Stage, actors: Actors, wrong: dict[str, Any]) -> None:
    pane = await actors.launch(stage.terminal)
    with pytest.raises(ValueError, match="clock"):
        await stage.terminal.set_clock(pane, replace(CLOCK, **wrong))


async def test_a_pane_that_is_gone_gets_no_clock(stage: Stage, actors: Actors) -> None:
    pane = await actors.launch(stage.terminal)
    await stage.terminal.close(pane)
    with pytest.raises(PaneGone):
        await stage.terminal.set_clock(pane, CLOCK)
