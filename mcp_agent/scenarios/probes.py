"""The probes of the chat scenario. Each uses fresh canaries and reads its evidence from the API."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

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


@dataclass(slots=True)
class Chat:
    """One session under probe."""

    driver: Driver
    space: Workspace
    start_body: Mapping[str, object]
    sleep: timedelta
    say: Callable[[str], None]
    session: Json = field(default_factory=dict)
    note: str = field(default_factory=lambda: _canary("NOTE"))

    @property
    def id(self) -> str:
        return str(self.session["id"])

    async def turn(self, prompt: str, *, expect: str, meanwhile: "Meanwhile | None" = None) -> Json:
        """One prompt to its exact answer, with exactly one completion and one end per tool call."""
        before = len(await self.driver.turns(self.id))
        self.say(f"prompt  {prompt.splitlines()[0][:100]}")
        sent = await self.driver.send(self.id, prompt)
        _require(sent["outcome"] == "delivered", f"the prompt was {sent['outcome']}, not delivered")
        if meanwhile is not None:
            await meanwhile(str(sent["turn_id"]))
        turn = await self.driver.turn(self.id, str(sent["turn_id"]), limit=self.sleep + TURN_MARGIN)
        _check_completed(turn)
        turns = await self.driver.turns(self.id)
        _require(len(turns) == before + 1, f"one turn was expected, {len(turns) - before} were recorded")
        self.say(f"answer  {str(turn['final_text'])[:100]}")
        if str(turn["final_text"]).strip() != expect:
            raise NotFollowed(f"the answer is {turn['final_text']!r}, expected {expect!r}")
        return turn

    async def call_of(self, turn: Json) -> Json:
        """The one tool call of a turn, which must have begun and ended once."""
        calls = [call for call in await self.driver.calls(self.id) if call["turn_id"] == turn["id"]]
        _require(len(calls) == 1, f"one tool call was expected in the turn, {len(calls)} were recorded")
        call = calls[0]
        _require(call["ended_at"] is not None, "the tool call has no end")
        _require(call["why_ended"] == "result", f"the wait for the tool ended by {call['why_ended']}")
        _require(call["happened"] == "succeeded", f"the tool call {call['happened']}")
        return call


Meanwhile = Callable[[str], Awaitable[None]]
Probe = Callable[[Chat], Awaitable[Evidence]]


async def launch(chat: Chat) -> Evidence:
    """The CLI that was asked for runs in a pane, shows its prompt, and its bridge is connected."""
    chat.session = await chat.driver.start_session(chat.start_body)
    if chat.session["state"] == "blocked":
        raise SessionBlocked(chat.id, str(chat.session["detail"]), str(chat.session["advice"]), "")
    _require(chat.session["state"] == "ready", f"the session is {chat.session['state']}")
    _require(chat.session["provider"] == chat.start_body["provider"], "another provider was started")
    version = await chat.driver.version(chat.id, limit=VERSION_WITHIN)
    _require(version is not None, "the CLI did not tell its version")
    cli = identify(_pane_pid(chat))
    _require(cli is not None and cli in marked(SESSION_MARK, chat.id), "the pane's process is not the session's CLI")
    chat.say(f"session {chat.id}: {chat.session['provider']} {version} is ready")
    return {"session": chat.id, "provider_version": version, "pane": chat.session["pane"]}


async def note_canary(chat: Chat) -> Evidence:
    """A turn without tools; the note comes back in a later probe."""
    turn = await chat.turn(prompts.remember_note(chat.note), expect=f"ACK_{chat.note}")
    calls = await chat.driver.calls(chat.id)
    _require(not calls, f"no tool was to be called, {len(calls)} calls were recorded")
    if chat.session["native_session_id"] is None:  # this CLI chooses it at its first prompt
        told = (await chat.driver.show(chat.id))["native_session_id"]
        _require(told is not None, "the CLI did not tell the id of its conversation")
        chat.session = {**chat.session, "native_session_id": told}
    return {"turn": turn["id"], "answer": turn["final_text"]}


async def silent_sleep(chat: Chat) -> Evidence:
    """A tool call that prints nothing for a long time ends with its result, in the same turn."""
    token = _canary("SLEEP")
    seconds = chat.sleep.total_seconds()
    turn = await chat.turn(prompts.run_silent_sleep(seconds, token), expect=f"DONE_SLEPT_{token}")
    call = await chat.call_of(turn)
    took = cast("float", call["ended_at"]) - cast("float", call["started_at"])
    _require(took >= seconds, f"the call took {took:.1f} s, less than the sleep")
    command = cast("Json", call["arguments"]).get("command")
    _require(command == prompts.silent_sleep_command(seconds, token), f"another command was run: {command!r}")
    return {"turn": turn["id"], "call": call["call_id"], "silent_seconds": round(took, 1)}


async def live_input(chat: Chat) -> Evidence:
    """A prompt sent while a tool runs reaches the turn that runs."""
    token, live = _canary("WORK"), _canary("LIVE")
    sent: list[Json] = []

    async def during_the_call(turn_id: str) -> None:
        running = await chat.driver.running_call(chat.id, turn_id, limit=CALL_STARTS_WITHIN)
        _require(running is not None, "no tool call began")
        chat.say("live    (while the tool runs)")
        sent.append(await chat.driver.send(chat.id, prompts.live_input(live)))
        _require(sent[0]["outcome"] in {"queued", "delivered"}, f"live input was {sent[0]['outcome']}")
        _require(sent[0]["turn_id"] == turn_id, "live input went to another turn")

    prompt = prompts.run_silent_sleep(LIVE_INPUT_SLEEP.total_seconds(), token)
    turn = await chat.turn(prompt, expect=f"DONE_SLEPT_{token} LIVE_{live}", meanwhile=during_the_call)
    call = await chat.call_of(turn)
    _require(turn["live_inputs"] == [prompts.live_input(live)], "the turn does not hold the live input once")
    return {"turn": turn["id"], "call": call["call_id"], "outcome": sent[0]["outcome"]}


async def final_answer(chat: Chat) -> Evidence:
    """The session still is the one of the first turn: same pane, same conversation, and it remembers."""
    turn = await chat.turn(prompts.recall_note(), expect=chat.note)
    now = await chat.driver.show(chat.id)
    for kept in ("pane", "native_session_id"):
        _require(now[kept] == chat.session[kept], f"the session was rebuilt: its {kept} changed")
    return {"turn": turn["id"], "answer": turn["final_text"]}


async def stop(chat: Chat) -> Evidence:
    """Stopped means gone: processes, pane, token, sockets, server."""
    cli = identify(_pane_pid(chat))
    server_pid = int(str((await chat.driver.server())["pid"]))
    server = identify(server_pid)
    await chat.driver.stop_session(chat.id)
    _require(cli is None or not is_alive(cli), "the CLI still runs")
    left = marked(SESSION_MARK, chat.id)
    _require(not left, f"processes are left: {[process.pid for process in left]}")
    directory = chat.space.state.session(chat.id)
    files = sorted(path.name for path in directory.iterdir() if path.name != "session.json")
    _require(not files, f"files are left in the session's directory: {files}")
    _require(not chat.space.state.tmux_socket.exists(), "the tmux server still has its socket")
    await chat.driver.stop_server()
    _require(server is None or await wait_gone([server], limit=SERVER_ENDS_WITHIN), "the server still runs")
    sockets = chat.space.state.sockets
    _require(not sockets.exists(), f"sockets are left in {sockets}")
    return {"session": chat.id}


PROBES: Mapping[str, Probe] = {
    "launch and provider proof": launch,
    "note canary": note_canary,
    "silent sleep": silent_sleep,
    "live input during an active call": live_input,
    "final answer from the retained session": final_answer,
    "stop and nothing left behind": stop,
}


def _canary(word: str) -> str:
    return f"{word}-{secrets.token_hex(4)}"


def _require(holds: bool, otherwise: str) -> None:
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


def _pane_pid(chat: Chat) -> int:
    return int(str(cast("Json", chat.session["pane"])["pid"]))
