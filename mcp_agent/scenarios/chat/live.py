"""A prompt that is sent while a turn runs."""

from typing import cast

from mcp_agent.adapter import LiveInput
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat.chat import TURN_MARGIN, Chat, check_completed
from mcp_agent.scenarios.chat.proving import Evidence, NotFollowed, canary, require
from mcp_agent.server.client import Json


async def live_input(chat: Chat) -> Evidence:
    """A prompt sent while a tool runs reaches the turn that runs, or the next one where the provider keeps it."""
    return await (_into_the_turn if chat.live_input is LiveInput.SAME_TURN else _into_the_next_turn)(chat)


async def _into_the_next_turn(chat: Chat) -> Evidence:
    token, live, before = canary("WORK"), canary("LIVE"), len(await chat.driver.turns(chat.id))
    turn_id = await chat.begin(prompts.run_silent_sleep(chat.live_sleep.total_seconds(), token))
    await chat.begun_call(turn_id)
    chat.say("live    (while the tool runs; it is kept for the next turn)")
    kept = await chat.driver.send(chat.id, prompts.live_input(live))
    require(kept["outcome"] == "queued", f"live input was {kept['outcome']}")
    now = await chat.driver.until(chat.id, lambda shown: _are_over(shown, before + 2), limit=TURN_MARGIN)
    turns = cast("list[Json]", now["turns"])[before:]
    require(len(turns) == 2, f"two turns were expected, {len(turns)} were recorded")
    for turn in turns:
        check_completed({**turn, "session_state": now["state"]})
    require(turns[1]["prompt"] == prompts.live_input(live), "the next turn is not that of the live input")
    call = await chat.call_of(turns[0])
    answers = [str(turn["final_text"]) for turn in turns]
    if answers[0] != f"DONE_SLEPT_{token}" or not answers[1].endswith(f"LIVE_{live}"):
        raise NotFollowed(f"the answers are {answers}")
    return {"turn": turns[0]["id"], "next_turn": turns[1]["id"], "call": call["call_id"], "outcome": kept["outcome"]}


def _are_over(shown: Json, number: int) -> bool:
    turns = cast("list[Json]", shown["turns"])
    return len(turns) >= number and all(turn["outcome"] for turn in turns)


async def _into_the_turn(chat: Chat) -> Evidence:
    token, live = canary("WORK"), canary("LIVE")
    sent: list[Json] = []

    async def during_the_call(turn_id: str) -> None:
        await chat.begun_call(turn_id)
        chat.say("live    (while the tool runs)")
        sent.append(await chat.driver.send(chat.id, prompts.live_input(live)))
        require(sent[0]["outcome"] in {"queued", "delivered"}, f"live input was {sent[0]['outcome']}")
        require(sent[0]["turn_id"] == turn_id, "live input went to another turn")

    prompt = prompts.run_silent_sleep(chat.live_sleep.total_seconds(), token)
    turn = await chat.turn(prompt, expect=f"DONE_SLEPT_{token} LIVE_{live}", meanwhile=during_the_call)
    call = await chat.call_of(turn)
    require(turn["live_inputs"] == [prompts.live_input(live)], "the turn does not hold the live input once")
    return {"turn": turn["id"], "call": call["call_id"], "outcome": sent[0]["outcome"]}
