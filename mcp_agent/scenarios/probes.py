"""The probes of the chat scenario. Each uses fresh canaries and reads its evidence from the API."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from mcp_agent.adapter import LiveInput
from mcp_agent.errors import Limited, LoginInvalid, SessionBlocked
from mcp_agent.processes import identify, is_alive, marked
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.server.client import Json
from mcp_agent.sessions.environment import SESSION_MARK

TURN_MARGIN = timedelta(minutes=3)
"""What a turn may take besides the sleep in it."""
CALL_STARTS_WITHIN = timedelta(minutes=2)
LIVE_INPUT_SLEEP = timedelta(seconds=6)
VERSION_WITHIN = timedelta(seconds=20)
SERVER_ENDS_WITHIN = timedelta(seconds=10)

Evidence = Mapping[str, object]


class ProbeFailed(Exception):
    """Something is not as promised; the message says what."""


class NotFollowed(Exception):
    """The answer is not the one that was asked for. A scripted model has no excuse, a real one may be asked again."""

    def __init__(self, message: str, **told: str) -> None:
        self.told = told
        """`expected` and `seen`, where they can be said apart."""
        super().__init__(message)


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
    session: Json = field(default_factory=dict)
    note: str = field(default_factory=lambda: canary("NOTE"))

    @property
    def id(self) -> str:
        return str(self.session["id"])

    async def turn(self, prompt: str, *, expect: str, meanwhile: "Meanwhile | None" = None) -> Json:
        """One prompt to its exact answer, with exactly one completion and one end per tool call."""
        before = len(await self.driver.turns(self.id))
        self.say(f"prompt  {prompt.splitlines()[0][:100]}")
        sent = await self.driver.send(self.id, prompt, clear_draft=self.discards_drafts)
        require(sent["outcome"] == "delivered", f"the prompt was {sent['outcome']}, not delivered")
        if meanwhile is not None:
            await meanwhile(str(sent["turn_id"]))
        turn = await self.driver.turn(self.id, str(sent["turn_id"]), limit=self.sleep + TURN_MARGIN)
        _check_completed(turn)
        turns = await self.driver.turns(self.id)
        require(len(turns) == before + 1, f"one turn was expected, {len(turns) - before} were recorded")
        self.say(f"answer  {str(turn['final_text'])[:100]}")
        if str(turn["final_text"]).strip() != expect:
            told = f"the answer is {turn['final_text']!r}, expected {expect!r}"
            raise NotFollowed(told, expected=f"the answer {expect}", seen=f"the answer {turn['final_text']}")
        return turn

    async def call_of(self, turn: Json) -> Json:
        """The one tool call of a turn, which must have begun and ended once."""
        calls = [call for call in await self.driver.calls(self.id) if call["turn_id"] == turn["id"]]
        require(len(calls) == 1, f"one tool call was expected in the turn, {len(calls)} were recorded")
        call = calls[0]
        require(call["ended_at"] is not None, "the tool call has no end")
        require(call["why_ended"] == "result", f"the wait for the tool ended by {call['why_ended']}")
        require(call["happened"] == "succeeded", f"the tool call {call['happened']}")
        return call

    async def awaited_call_of(self, turn: Json) -> Json:
        """The call that the turn began with, when it outlasted the wait for it and the model asked what became of it.

        It was begun once, ended late, and was not lost.
        """
        calls = [call for call in await self.driver.calls(self.id) if call["turn_id"] == turn["id"]]
        begun = [call for call in calls if call["tool"] == prompts.SHELL_TOOL]
        require(len(begun) == 1, f"one command was expected in the turn, {len(begun)} were recorded")
        (call,) = begun
        require(call["why_ended"] == "tool_wait", f"the wait for the tool ended by {call['why_ended']}")
        require(call["happened"] == "succeeded", f"the tool call {call['happened']}")
        require(call["late"] is True, "the outcome of the tool call is not on record as a late one")
        asked = any(one["tool"] == prompts.WAIT_TOOL for one in calls)
        require(asked, "the model did not wait for the call whose outcome was unknown")
        return call


Meanwhile = Callable[[str], Awaitable[None]]
Probe = Callable[[Chat], Awaitable[Evidence]]


async def launch(chat: Chat) -> Evidence:
    """The CLI that was asked for runs in a pane, shows its prompt, and its bridge is connected."""
    chat.session = await chat.driver.start_session(chat.start_body)
    if chat.session["state"] == "blocked":
        raise SessionBlocked(chat.id, str(chat.session["detail"]), str(chat.session["advice"]), "")
    require(chat.session["state"] == "ready", f"the session is {chat.session['state']}")
    require(chat.session["provider"] == chat.start_body["provider"], "another provider was started")
    version = await chat.driver.version(chat.id, limit=VERSION_WITHIN)
    require(version is not None, "the CLI did not tell its version")
    cli = identify(pane_pid(chat))
    require(cli is not None and cli in marked(SESSION_MARK, chat.id), "the pane's process is not the session's CLI")
    chat.say(f"session {chat.id}: {chat.session['provider']} {version} is ready")
    return {"session": chat.id, "provider_version": version, "pane": chat.session["pane"]}


async def note_canary(chat: Chat) -> Evidence:
    """A turn without tools; the note comes back in a later probe."""
    turn = await chat.turn(prompts.remember_note(chat.note), expect=f"ACK_{chat.note}")
    calls = await chat.driver.calls(chat.id)
    require(not calls, f"no tool was to be called, {len(calls)} calls were recorded")
    if chat.session["native_session_id"] is None:  # this CLI chooses it at its first prompt
        told = (await chat.driver.show(chat.id))["native_session_id"]
        require(told is not None, "the CLI did not tell the id of its conversation")
        chat.session = {**chat.session, "native_session_id": told}
    return {"turn": turn["id"], "answer": turn["final_text"]}


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


async def live_input(chat: Chat) -> Evidence:
    """A prompt sent while a tool runs reaches the turn that runs, or the next one where the provider keeps it."""
    return await (_into_the_turn if chat.live_input is LiveInput.SAME_TURN else _into_the_next_turn)(chat)


async def _into_the_next_turn(chat: Chat) -> Evidence:
    token, live, before = canary("WORK"), canary("LIVE"), len(await chat.driver.turns(chat.id))
    sent = await chat.driver.send(chat.id, prompts.run_silent_sleep(chat.live_sleep.total_seconds(), token))
    running = await chat.driver.running_call(chat.id, str(sent["turn_id"]), limit=CALL_STARTS_WITHIN)
    require(running is not None, "no tool call began")
    chat.say("live    (while the tool runs; it is kept for the next turn)")
    kept = await chat.driver.send(chat.id, prompts.live_input(live))
    require(kept["outcome"] == "queued", f"live input was {kept['outcome']}")
    now = await chat.driver.until(chat.id, lambda shown: _are_over(shown, before + 2), limit=TURN_MARGIN)
    turns = cast("list[Json]", now["turns"])[before:]
    require(len(turns) == 2, f"two turns were expected, {len(turns)} were recorded")
    for turn in turns:
        _check_completed(turn)
    require(turns[1]["prompt"] == prompts.live_input(live), "the next turn is not that of the live input")
    answers = [str(turn["final_text"]) for turn in turns]
    if answers[0] != f"DONE_SLEPT_{token}" or not answers[1].endswith(f"LIVE_{live}"):
        raise NotFollowed(f"the answers are {answers}")
    return {"turn": turns[0]["id"], "next_turn": turns[1]["id"], "outcome": kept["outcome"]}


def _are_over(shown: Json, number: int) -> bool:
    turns = cast("list[Json]", shown["turns"])
    return len(turns) >= number and all(turn["outcome"] for turn in turns)


async def _into_the_turn(chat: Chat) -> Evidence:
    token, live = canary("WORK"), canary("LIVE")
    sent: list[Json] = []

    async def during_the_call(turn_id: str) -> None:
        running = await chat.driver.running_call(chat.id, turn_id, limit=CALL_STARTS_WITHIN)
        require(running is not None, "no tool call began")
        chat.say("live    (while the tool runs)")
        sent.append(await chat.driver.send(chat.id, prompts.live_input(live)))
        require(sent[0]["outcome"] in {"queued", "delivered"}, f"live input was {sent[0]['outcome']}")
        require(sent[0]["turn_id"] == turn_id, "live input went to another turn")

    prompt = prompts.run_silent_sleep(chat.live_sleep.total_seconds(), token)
    turn = await chat.turn(prompt, expect=f"DONE_SLEPT_{token} LIVE_{live}", meanwhile=during_the_call)
    call = await chat.call_of(turn)
    require(turn["live_inputs"] == [prompts.live_input(live)], "the turn does not hold the live input once")
    return {"turn": turn["id"], "call": call["call_id"], "outcome": sent[0]["outcome"]}


async def final_answer(chat: Chat) -> Evidence:
    """The session still is the one of the first turn: same pane, same conversation, and it remembers."""
    turn = await chat.turn(prompts.recall_note(), expect=chat.note)
    now = await chat.driver.show(chat.id)
    for kept in ("pane", "native_session_id"):
        require(now[kept] == chat.session[kept], f"the session was rebuilt: its {kept} changed")
    return {"turn": turn["id"], "answer": turn["final_text"]}


async def stop(chat: Chat) -> Evidence:
    """Stopped means gone: processes, pane, token, sockets, server."""
    cli = identify(pane_pid(chat))
    server_pid = int(str((await chat.driver.server())["pid"]))
    server = identify(server_pid)
    await chat.driver.stop_session(chat.id)
    require(cli is None or not is_alive(cli), "the CLI still runs")
    left = marked(SESSION_MARK, chat.id)
    require(not left, f"processes are left: {[process.pid for process in left]}")
    directory = chat.space.state.session(chat.id)
    files = sorted(path.name for path in directory.iterdir() if path.name != "session.json")
    require(not files, f"files are left in the session's directory: {files}")
    require(not chat.space.state.tmux_socket.exists(), "the tmux server still has its socket")
    await chat.driver.stop_server()
    require(server is None or await wait_gone([server], limit=SERVER_ENDS_WITHIN), "the server still runs")
    sockets = chat.space.state.sockets
    require(not sockets.exists(), f"sockets are left in {sockets}")
    return {"session": chat.id}


PROBES: Mapping[str, Probe] = {
    "launch and provider proof": launch,
    "note canary": note_canary,
    "silent sleep": silent_sleep,
    "live input during an active call": live_input,
    "final answer from the retained session": final_answer,
    "stop and nothing left behind": stop,
}


def canary(word: str) -> str:
    """A token that nobody knew before."""
    return f"{word}-{secrets.token_hex(4)}"


def require(holds: bool, otherwise: str) -> None:
    """Raises `ProbeFailed` with what is the case otherwise."""
    if not holds:
        raise ProbeFailed(otherwise)


def _check_completed(turn: Json) -> None:
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
