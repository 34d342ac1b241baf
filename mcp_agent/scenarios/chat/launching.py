"""The CLI comes up, and it is the one that was asked for."""

from datetime import timedelta
from typing import cast

from mcp_agent.errors import SessionBlocked
from mcp_agent.processes import SESSION_MARK, identify, marked
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat import transcripts
from mcp_agent.scenarios.chat.chat import Chat, pane_pid
from mcp_agent.scenarios.chat.program import Program, program_of
from mcp_agent.scenarios.chat.proving import Evidence, canary, require

READY_WITHIN = timedelta(seconds=20)
"""A CLI that shows its prompt may be busy with its own start for a moment."""
VERSION_WITHIN = timedelta(seconds=20)


async def launch(chat: Chat) -> Evidence:
    """The CLI that was asked for runs in a pane, shows its prompt, and its bridge is connected."""
    chat.session = await chat.driver.start_session(chat.start_body)
    if chat.session["state"] == "blocked":
        raise SessionBlocked(chat.id, str(chat.session["detail"]), str(chat.session["advice"]), "")
    now = await chat.driver.until(chat.id, lambda shown: shown["state"] == "ready", limit=READY_WITHIN)
    require(now["state"] == "ready", f"the session is {now['state']}")
    asked, started = chat.start_body["provider"], chat.session["provider"]
    require(started == asked, f"another provider was started: {started}")
    version = await chat.driver.version(chat.id, limit=VERSION_WITHIN)
    require(version is not None, "the CLI did not tell its version")
    cli = identify(pane_pid(chat))
    require(cli is not None and cli in marked(SESSION_MARK, chat.id), "the pane's process is not the session's CLI")
    chat.session = {**chat.session, "provider_version": version}
    chat.say(f"session {chat.id}: {chat.session['provider']} {version} is ready")
    return _launched(chat)


async def launch_and_proof(chat: Chat) -> Evidence:
    """The program that was asked for runs in the pane, and its first answer stands in its own transcript."""
    if not chat.session:
        await launch(chat)
    program = _program(chat)
    token, word = canary("PROOF"), canary("WORD")
    text = f"{token} {prompts.PLACEHOLDER}"
    written = transcripts.size(chat.adapter, chat.space, chat.id)
    answer = prompts.fill_in_answer(text, word)
    turn = await chat.turn(prompts.fill_in(text, word), expect=answer)
    await identify_conversation(chat)
    transcript = await transcripts.prove(chat.adapter, chat.space, chat.id, answer=answer, since=written)
    return {
        **_launched(chat),
        "program": program.told,
        "conversation": chat.session["native_session_id"],
        "turn": turn["id"],
        "transcript": str(transcript) if transcript else None,
    }


async def note_canary(chat: Chat) -> Evidence:
    """A turn without tools; the note comes back in a later probe."""
    turn = await chat.turn(prompts.remember_note(chat.note), expect=f"ACK_{chat.note}")
    chat.noted = True
    calls = await chat.calls_of(turn)
    require(not calls, f"no tool was to be called, {len(calls)} calls were recorded")
    await identify_conversation(chat)
    return {"turn": turn["id"], "answer": turn["final_text"]}


async def take_note(chat: Chat) -> None:
    """The session has the note, whether or not the probe that leaves it was asked."""
    if not chat.noted:
        await note_canary(chat)


async def identify_conversation(chat: Chat) -> None:
    """Some CLIs choose the id of their conversation at its first prompt, others are given one."""
    if chat.session["native_session_id"] is None:
        told = (await chat.driver.show(chat.id))["native_session_id"]
        require(told is not None, "the CLI did not tell the id of its conversation")
        chat.session = {**chat.session, "native_session_id": told}


def _launched(chat: Chat) -> Evidence:
    version, pane = chat.session["provider_version"], chat.session["pane"]
    return {"session": chat.id, "provider_version": version, "pane": pane}


def _program(chat: Chat) -> Program:
    program = program_of(pane_pid(chat))
    require(program is not None, "nothing runs in the pane")
    program = cast("Program", program)
    if chat.adapter is not None:
        is_it = program.is_called(chat.adapter.executable)
        require(is_it, f"another program runs in the pane: {program.told}, and not {chat.adapter.executable}")
    return program
