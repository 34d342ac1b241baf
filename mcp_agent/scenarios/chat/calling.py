"""Turns with tool calls: a long silence, and turns one after the other."""

from typing import cast

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.chat.proving import Evidence, canary, require
from mcp_agent.server.client import Json


async def silent_sleep(chat: Chat) -> Evidence:
    """A tool call that prints nothing for a long time ends with its result, in the same turn.

    Where the provider gives up on a call sooner, the honest unknown and a wait for the call lead to the same answer.
    """
    token = canary("SLEEP")
    seconds = chat.sleep.total_seconds()
    outlasts = chat.waits_for is not None and chat.sleep > chat.waits_for
    prompt = prompts.run_silent_sleep(seconds, token, patiently=outlasts)
    turn = await chat.turn(prompt, expect=f"DONE_SLEPT_{token}")
    call = await (chat.awaited_call_of(turn) if outlasts else chat.call_of(turn))
    over = turn if outlasts else call
    took = cast("float", over["ended_at"]) - cast("float", call["started_at"])
    require(took >= seconds, f"the call took {took:.1f} s, less than the sleep")
    command = cast("Json", call["arguments"]).get("command")
    require(command == prompts.silent_sleep_command(seconds, token), f"another command was run: {command!r}")
    why = {"wait_ended_by": call["why_ended"]} if outlasts else {}
    return {"turn": turn["id"], "call": call["call_id"], "silent_seconds": round(took, 1), **why}


async def turns_do_not_leak(chat: Chat) -> Evidence:
    """Each of two tool turns has its own call and its own output, and a turn after them has neither."""
    turns, calls = [], []
    for _ in range(2):
        token = canary("OWN")
        turn = await chat.turn(prompts.run_command(f"printf %s {token}"), expect=f"OUTPUT {token}")
        call = await chat.call_of(turn)
        command = str(cast("Json", call["arguments"]).get("command"))
        require(token in command, f"the turn's call ran another command: {command!r}")
        turns.append(turn["id"])
        calls.append(call["call_id"])
    require(len({*turns}) == len({*calls}) == 2, "two turns, or their calls, have the same id")
    token = canary("NONE")
    after = await chat.turn(prompts.repeat_exactly(token), expect=token)
    left = await chat.calls_of(after)
    require(not left, f"a turn without a tool has {len(left)} calls on record")
    return {"turns": [*turns, after["id"]], "calls": calls}
