"""A turn, or one call of it, is stopped: what ran is gone and stays gone, and the session is as good as before."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from mcp_agent.processes import CALL_MARK, ProcessIdentity, marked
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat.chat import TURN_MARGIN, Chat
from mcp_agent.scenarios.chat.looking import look_until
from mcp_agent.scenarios.chat.proving import Evidence, NotFollowed, canary, require
from mcp_agent.server.client import Json

FOR_EVER_SECONDS = 600
COMMAND_STARTS_WITHIN = timedelta(seconds=30)
CALL_ENDS_WITHIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class _Running:
    """A command that runs until it is stopped, and counts how often it was started."""

    turn_id: str
    call: Json
    token: str
    starts: Path
    processes: list[ProcessIdentity]

    @property
    def started(self) -> list[str]:
        return self.starts.read_text(encoding="utf-8").split()


async def interrupt(chat: Chat) -> Evidence:
    """An interrupt during a tool call ends the turn and the command; the next prompt is answered."""
    running = await _begin(chat)
    chat.say("interrupt (while the tool runs)")
    require(await chat.driver.interrupt(chat.id), "nothing was interrupted")
    turn = await chat.driver.turn(chat.id, running.turn_id, limit=TURN_MARGIN)
    require(turn["outcome"] == "interrupted", f"the turn {turn['outcome']}")
    return await _is_over(chat, running, turn)


async def cancel(chat: Chat) -> Evidence:
    """A call that is cancelled ends, its turn goes on and says so, and the command is not started again."""
    running = await _begin(chat)
    chat.say("cancel  (while the tool runs)")
    cancelled = await chat.driver.cancel_call(str(running.call["call_id"]))
    require(cancelled["cancelled"] is True, "the call was not cancelled")
    turn = await chat.end(running.turn_id)
    evidence = await _is_over(chat, running, turn)
    if str(turn["final_text"]).strip() != prompts.CANCELLED:
        told = f"the answer is {turn['final_text']!r}, expected {prompts.CANCELLED!r}"
        raise NotFollowed(told, expected=f"the answer {prompts.CANCELLED}", seen=f"the answer {turn['final_text']}")
    return evidence


async def _begin(chat: Chat) -> _Running:
    """A turn whose command runs, and would run for long."""
    token = canary("ONCE")
    starts = chat.space.working_directory / f"starts-{token}"
    turn_id = await chat.begin(prompts.run_command(f"echo {token} >>{starts.name}; sleep {FOR_EVER_SECONDS}"))
    call = await chat.begun_call(turn_id)
    has_started = await look_until(bool, starts.exists, limit=COMMAND_STARTS_WITHIN)
    require(has_started, "the command does not run, although its call has begun")
    return _Running(turn_id, call, token, starts, marked(CALL_MARK, str(call["call_id"])))


async def _is_over(chat: Chat, running: _Running, turn: Json) -> Evidence:
    """The command has ended with its call, and was started once: then, and after another turn too."""
    await _ended(chat, running.call, running.processes)
    calls = await chat.calls_of(turn)
    require(len(calls) == 1, f"one tool call was expected in the turn, {len(calls)} were recorded")
    after = await _answers(chat)
    times = len(running.started)
    require(running.started == [running.token], f"the stopped command was started {times} times")
    return {"turn": running.turn_id, "call": running.call["call_id"], "starts": times, "next": after}


async def _ended(chat: Chat, call: Json, running: list[ProcessIdentity]) -> None:
    now = await chat.driver.settled_call(str(call["call_id"]), limit=CALL_ENDS_WITHIN)
    require(now["ended_at"] is not None, "the call still runs")
    require(now["happened"] == "cancelled", f"the call {now['happened']}")
    require(await wait_gone(running, limit=CALL_ENDS_WITHIN), "the command still runs")


async def _answers(chat: Chat) -> object:
    """The next prompt is answered by the same process."""
    token = canary("NEXT")
    turn = await chat.turn(prompts.repeat_exactly(token), expect=token)
    now = await chat.driver.show(chat.id)
    require(now["pane"] == chat.session["pane"], "the session was rebuilt")
    return turn["id"]
