"""How a turn, or one call of it, is stopped, and that the session is as good as before."""

from datetime import timedelta

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.conformance.asked.starting import FIRST
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.probes import CALL_STARTS_WITHIN, TURN_MARGIN, Chat, Evidence, canary, require
from mcp_agent.server.client import Json

FOR_EVER_SECONDS = 600
CALL_ENDS_WITHIN = timedelta(seconds=30)


async def interrupt(case: Case) -> Evidence:
    """An interrupt during a tool call ends the turn and its call with it; the next prompt is answered."""
    chat = await case.usable(FIRST)
    turn_id, call = await _running_call(case, chat)
    require(await case.driver.interrupt(chat.id), "nothing was interrupted")
    turn = await case.driver.turn(chat.id, turn_id, limit=TURN_MARGIN)
    require(turn["outcome"] == "interrupted", f"the turn {turn['outcome']}")
    await _ended(case, call)
    return {"turn": turn_id, "call": call["call_id"], "next": await _still_the_same(chat)}


async def cancel_and_reuse(case: Case) -> Evidence:
    """A call that is cancelled ends, its turn goes on and says so, and nothing is started anew."""
    chat = await case.usable(FIRST)
    turn_id, call = await _running_call(case, chat)
    cancelled = await case.driver.cancel_call(str(call["call_id"]))
    require(cancelled["cancelled"] is True, "the call was not cancelled")
    turn = await case.driver.turn(chat.id, turn_id, limit=TURN_MARGIN)
    require(turn["outcome"] == "completed", f"the turn {turn['outcome']}")
    require(str(turn["final_text"]).strip() == prompts.CANCELLED, f"the answer is {turn['final_text']!r}")
    await _ended(case, call)
    return {"turn": turn_id, "call": call["call_id"], "next": await _still_the_same(chat)}


async def _running_call(case: Case, chat: Chat) -> tuple[str, Json]:
    sent = await case.driver.send(chat.id, prompts.run_silent_sleep(FOR_EVER_SECONDS, canary("NEVER")))
    turn_id = str(sent["turn_id"])
    call = await case.driver.running_call(chat.id, turn_id, limit=CALL_STARTS_WITHIN)
    require(call is not None, "no tool call began")
    return turn_id, call or {}


async def _ended(case: Case, call: Json) -> None:
    now = await case.driver.settled_call(str(call["call_id"]), limit=CALL_ENDS_WITHIN)
    require(now["ended_at"] is not None, "the call still runs")
    require(now["happened"] == "cancelled", f"the call {now['happened']}")


async def _still_the_same(chat: Chat) -> object:
    """The next prompt is answered by the same process in the same conversation."""
    turn = await chat.turn(prompts.recall_note(), expect=chat.note)
    now = await chat.driver.show(chat.id)
    require(now["pane"] == chat.session["pane"], "the session was rebuilt")
    return turn["id"]


QUESTIONS: tuple[Question[Asks], ...] = (Question(interrupt), Question(cancel_and_reuse))
