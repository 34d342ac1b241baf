"""Turns with a tool call, and what is sent while it runs."""

from typing import cast

from mcp_agent.scenarios import probes, prompts
from mcp_agent.scenarios.conformance.asked.starting import FIRST
from mcp_agent.scenarios.conformance.case import SILENCE, Case
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.probes import CALL_STARTS_WITHIN, Evidence, canary, require
from mcp_agent.server.client import Json


async def a_silent_tool_call(case: Case) -> Evidence:
    """A call that prints nothing ends with its result, in the same turn, begun and ended once."""
    return await probes.silent_sleep(await case.usable(FIRST))


async def done_detection(case: Case) -> Evidence:
    """A turn is busy while its tool runs, is over after it, and completes exactly once."""
    chat, token = await case.usable(FIRST), canary("DONE")
    states: list[object] = []

    async def during_the_call(turn_id: str) -> None:
        running = await case.driver.running_call(chat.id, turn_id, limit=CALL_STARTS_WITHIN)
        require(running is not None, "no tool call began, or the turn was over before it")
        states.append((await case.driver.show(chat.id))["state"])

    prompt = prompts.run_silent_sleep(SILENCE.total_seconds(), token)
    turn = await chat.turn(prompt, expect=f"DONE_SLEPT_{token}", meanwhile=during_the_call)
    require(states == ["busy"], f"while its tool ran the session was {states}")
    call = await chat.call_of(turn)
    late = cast("float", turn["ended_at"]) >= cast("float", call["ended_at"])
    require(late, "the turn ended before its tool call")
    ends = [event for event in await case.driver.events(chat.id) if _ends(event, turn["id"])]
    require(len(ends) == 1, f"the turn completed {len(ends)} times")
    return {"turn": turn["id"], "source": turn["source"]}


async def live_input(case: Case) -> Evidence:
    """A prompt sent while a tool runs goes where the adapter says: into the same turn, or into the next one."""
    chat = await case.usable(FIRST)
    return {**await probes.live_input(chat), "declared": case.adapter.live_input}


def _ends(event: Json, turn_id: object) -> bool:
    return event["kind"] == "turn.ended" and cast("Json", event["facts"]).get("turn_id") == turn_id


QUESTIONS: tuple[Question[Asks], ...] = (
    Question(a_silent_tool_call),
    Question(done_detection),
    Question(live_input),
)
