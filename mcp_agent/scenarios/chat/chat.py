"""One session under probe, and what every turn of it must be."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from mcp_agent.adapter import Adapter, LiveInput
from mcp_agent.errors import Limited, LoginInvalid
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat import transcripts
from mcp_agent.scenarios.chat.proving import NotFollowed, ProbeFailed, canary, require
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.one_line import one_line
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.server.client import Json

TURN_MARGIN = timedelta(minutes=3)
"""What a turn may take besides the sleep in it."""
CALL_STARTS_WITHIN = timedelta(minutes=2)
SHOWN_CHARACTERS = 100
LIVE_INPUT_SLEEP = timedelta(seconds=6)

Meanwhile = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class Chat:
    """One session under probe."""

    driver: Driver
    space: Workspace
    start_body: Mapping[str, object]
    sleep: timedelta
    say: Callable[[str], None]
    live_input: LiveInput = LiveInput.SAME_TURN
    """What the provider does with a prompt that is sent while a turn runs."""
    waits_for: timedelta | None = None
    """After so long the provider's model is told that a call's outcome is unknown; None: not as long as it sleeps."""
    live_sleep: timedelta = LIVE_INPUT_SLEEP
    discards_drafts: bool = False
    """What an earlier prompt left in the composer is thrown away."""
    adapter: Adapter | None = None
    """With it each answer must stand in the provider's own transcript."""
    session: Json = field(default_factory=dict)
    note: str = field(default_factory=lambda: canary("NOTE"))
    noted: bool = False
    """The conversation holds the note."""

    @property
    def id(self) -> str:
        return str(self.session["id"])

    async def turn(self, prompt: str, *, expect: str, meanwhile: Meanwhile | None = None) -> Json:
        """One prompt to its exact answer, with exactly one completion and one end per tool call."""
        before, written = len(await self.driver.turns(self.id)), transcripts.size(self.adapter, self.space, self.id)
        turn_id = await self.begin(prompt)
        if meanwhile is not None:
            await meanwhile(turn_id)
        turn = await self.end(turn_id)
        turns = await self.driver.turns(self.id)
        require(len(turns) == before + 1, f"one turn was expected, {len(turns) - before} were recorded")
        self.say(f"answer  {one_line(str(turn['final_text']), longest=SHOWN_CHARACTERS)}")
        if str(turn["final_text"]).strip() != expect:
            told = f"the answer is {turn['final_text']!r}, expected {expect!r}"
            raise NotFollowed(told, expected=f"the answer {expect}", seen=f"the answer {turn['final_text']}")
        await transcripts.prove(self.adapter, self.space, self.id, answer=expect, since=written)
        return turn

    async def begin(self, prompt: str) -> str:
        """Send a prompt that begins a turn, and answer with the turn's id."""
        self.say(f"prompt  {one_line(prompt, longest=SHOWN_CHARACTERS)}")
        sent = await self.driver.send(self.id, prompt, clear_draft=self.discards_drafts)
        why = f": {sent['reason']}" if sent["reason"] else ""
        require(sent["outcome"] == "delivered", f"the prompt was {sent['outcome']}, not delivered{why}")
        return str(sent["turn_id"])

    async def end(self, turn_id: str) -> Json:
        """The turn once it has completed, under its own id."""
        turn = await self.driver.turn(self.id, turn_id, limit=self.sleep + TURN_MARGIN)
        require(turn["id"] == turn_id, f"turn {turn['id']} was told of instead of {turn_id}")
        check_completed(turn)
        return turn

    async def begun_call(self, turn_id: str) -> Json:
        """The tool call that this turn is waiting for."""
        call = await self.driver.running_call(self.id, turn_id, limit=CALL_STARTS_WITHIN)
        if call is None:
            turn = await self.driver.turn(self.id, turn_id, limit=timedelta(0))
            check_completed(turn)
            told = f"the turn ended without a running tool call, with {turn['final_text']!r}"
            raise NotFollowed(told, expected="a tool call", seen=f"the answer {turn['final_text']}")
        return call

    async def calls_of(self, turn: Json) -> list[Json]:
        """The tool calls of a turn, oldest first."""
        return [call for call in await self.driver.calls(self.id) if call["turn_id"] == turn["id"]]

    async def call_of(self, turn: Json) -> Json:
        """The one tool call of a turn, which must have begun and ended once, and before the turn."""
        calls = await self.calls_of(turn)
        if not calls:
            raise NotFollowed("the turn has no tool call", expected="one tool call", seen="none")
        require(len(calls) == 1, f"one tool call was expected in the turn, {len(calls)} were recorded")
        call = calls[0]
        require(call["ended_at"] is not None, "the tool call has no end")
        require(call["why_ended"] == "result", f"the wait for the tool ended by {call['why_ended']}")
        require(call["happened"] == "succeeded", f"the tool call {call['happened']}")
        early = cast("float", turn["ended_at"]) < cast("float", call["ended_at"])
        require(not early, "the turn was completed before its tool call had ended")
        return call

    async def awaited_call_of(self, turn: Json) -> Json:
        """The call that the turn began with, when it outlasted the wait for it and the model asked what became of it.

        It was begun once, ended late, and was not lost.
        """
        calls = await self.calls_of(turn)
        begun = [call for call in calls if call["tool"] == prompts.SHELL_TOOL]
        require(len(begun) == 1, f"one command was expected in the turn, {len(begun)} were recorded")
        (call,) = begun
        require(call["why_ended"] == "tool_wait", f"the wait for the tool ended by {call['why_ended']}")
        require(call["happened"] == "succeeded", f"the tool call {call['happened']}")
        require(call["late"] is True, "the outcome of the tool call is not on record as a late one")
        asked = any(one["tool"] == prompts.WAIT_TOOL for one in calls)
        require(asked, "the model did not wait for the call whose outcome was unknown")
        return call


def check_completed(turn: Json) -> None:
    """Raises what kept the turn from its completion."""
    error = str(turn["error"] or "")
    match turn["outcome"], turn["cause"]:
        case "completed", _:
            return
        case "failed", "login":
            raise LoginInvalid(f"the provider refused the login: {error}")
        case "failed", "limited":
            raise Limited(f"the provider does not answer for now: {error}")
        case None, _:
            raise ProbeFailed(f"the turn did not end; the session is {turn['session_state']}")
        case outcome, _:
            raise ProbeFailed(f"the turn {outcome}: {error}")


def pane_pid(chat: Chat) -> int:
    return int(str(cast("Json", chat.session["pane"])["pid"]))
