"""What is sent and what comes back, character for character."""

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.chat.proving import Evidence, canary, require

OPENINGS = ("/exit", "@nobody")
"""A command and a mention, for a CLI that would take them for one."""
MULTI_LINE = "one\n\n    two, indented\n  three\n@four /five\n- six\\"
LONG_ANSWER_LINES = 40


async def literal_text(chat: Chat) -> Evidence:
    """A leading `/` or `@` stays text, and several lines are one prompt: blank lines, indents, a trailing backslash."""
    turns = []
    for opening in OPENINGS:
        token = canary("LITERAL")
        turns.append(await _as_it_is(chat, prompts.repeat_exactly(token, opening=opening), answer=token))
    text = f"{canary('LINES')} {MULTI_LINE}\n{canary('END')}"
    turns.append(await _as_it_is(chat, prompts.repeat_exactly(text), answer=text))
    return {"turns": turns, "openings": list(OPENINGS), "lines": len(text.splitlines())}


async def _as_it_is(chat: Chat, prompt: str, *, answer: str) -> object:
    turn = await chat.turn(prompt, expect=answer)
    kept = {prompt, chat.adapter.guard(prompt) if chat.adapter else prompt}
    require(turn["prompt"] in kept, f"the turn's prompt is {turn['prompt']!r}")
    return turn["id"]


async def long_answer(chat: Chat) -> Evidence:
    """An answer of forty lines arrives whole, each line once and in order."""
    token = canary("LINE")
    wanted = prompts.many_lines_answer(LONG_ANSWER_LINES, token)
    turn = await chat.turn(prompts.many_lines(LONG_ANSWER_LINES, token), expect=wanted)
    lines = str(turn["final_text"]).strip().splitlines()
    require(len(lines) == LONG_ANSWER_LINES, f"the answer has {len(lines)} lines")
    return {"turn": turn["id"], "lines": len(lines), "last": lines[-1]}
