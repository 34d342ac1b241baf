"""Two sessions in one directory."""

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.conformance.asked.starting import FIRST, SECOND
from mcp_agent.scenarios.conformance.case import Case, side_by_side
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.probes import Chat, Evidence, canary, require


async def two_sessions_in_one_directory_are_isolated(case: Case) -> Evidence:
    """Side by side each has its own conversation, its own answers and its own tool calls."""
    chats = [await case.usable(FIRST), await case.usable(SECOND)]
    await side_by_side(_talk, chats)
    first, second = [await case.driver.show(chat.id) for chat in chats]
    require(first["native_session_id"] != second["native_session_id"], "both have one conversation")
    require(first["pane"] != second["pane"], "both have one pane")
    return {"sessions": [chat.id for chat in chats]}


async def _talk(chat: Chat) -> None:
    chat.note = canary("OWN")
    await chat.turn(prompts.remember_note(chat.note), expect=f"ACK_{chat.note}")
    token = canary("CALL")
    turn = await chat.turn(prompts.run_silent_sleep(1, token), expect=f"DONE_SLEPT_{token}")
    await chat.call_of(turn)
    await chat.turn(prompts.recall_note(), expect=chat.note)


QUESTIONS: tuple[Question[Asks], ...] = (Question(two_sessions_in_one_directory_are_isolated),)
