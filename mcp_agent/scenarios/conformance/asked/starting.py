"""How a session comes up."""

from pathlib import Path

import psutil

from mcp_agent.scenarios import probes, prompts
from mcp_agent.scenarios.chat.launching import READY_WITHIN
from mcp_agent.scenarios.conformance.case import Case, side_by_side
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.probes import Chat, Evidence, pane_pid, require

FIRST, SECOND, STRANGER, FAMILIAR = "first", "second", "stranger", "familiar"
"""The sessions of a run: two of them share a directory, one is not trusted with its own, one has a trusted one."""


async def fresh_launch(case: Case) -> Evidence:
    """The CLI itself runs in a pane, shows its prompt, tells its version, and the session is ready."""
    return await probes.launch(case.new_chat(FIRST))


async def the_bridge_is_up_before_the_first_prompt(case: Case) -> Evidence:
    """A session that is ready has its tools: no prompt of ours is what brings them."""
    now = await case.driver.show(case.started(FIRST).id)
    require(now["bridge"] == "connected", f"the bridge is {now['bridge']}")
    require(now["turns"] == [], "there was a turn before")
    return {"bridge": now["bridge"]}


async def trust_and_login_need_nobody(case: Case) -> Evidence:
    """With consent and a key at hand no dialog is left to a person, and the model is asked with that key."""
    chat = case.started(FIRST)
    states = [event["facts"] for event in await case.driver.events(chat.id) if event["kind"] == "session.state"]
    require(not any("blocked" in str(facts) for facts in states), f"the session was blocked: {states}")
    await probes.note_canary(chat)
    require(bool(case.model.requests), "the model was never asked")
    require(case.model.journal.refusals == 0, f"{case.model.journal.refusals} requests came with another key")
    return {"requests": len(case.model.requests)}


async def working_directory(case: Case) -> Evidence:
    """The CLI runs in the directory that was asked for, and so do its commands."""
    chat = await case.usable(FIRST)
    asked = case.space.working_directory
    cwd = Path(psutil.Process(pane_pid(chat)).cwd())
    require(cwd == asked, f"the CLI runs in {cwd}")
    turn = await chat.turn(prompts.run_command("pwd -P"), expect=f"OUTPUT {asked}")
    return {"turn": turn["id"], "directory": str(asked)}


async def launches_at_the_same_moment(case: Case) -> Evidence:
    """Three sessions start side by side, one of them in a directory that is in use."""
    chats = [
        case.new_chat(SECOND),
        case.new_chat(STRANGER, working_directory=str(case.strange_directory), trust=False),
        case.new_chat(FAMILIAR, working_directory=str(case.familiar_directory), home=None, allow_tools=[]),
    ]
    await side_by_side(_start, chats)
    case.seen = chats[0]
    require(all(chat.session for chat in chats), "not every session was started")
    second = await case.driver.until(chats[0].id, lambda shown: shown["state"] == "ready", limit=READY_WITHIN)
    require(second["state"] == "ready", f"the second session is {second['state']}")
    return {"states": [chat.session["state"] for chat in chats]}


async def _start(chat: Chat) -> None:
    chat.session = await chat.driver.start_session(chat.start_body)


QUESTIONS: tuple[Question[Asks], ...] = (
    Question(fresh_launch),
    Question(the_bridge_is_up_before_the_first_prompt),
    Question(trust_and_login_need_nobody),
    Question(working_directory),
)
SIDE_BY_SIDE: tuple[Question[Asks], ...] = (Question(launches_at_the_same_moment),)
