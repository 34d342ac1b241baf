"""One prompt to a session and the end of its turn, as the command line waits for it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import typer

from mcp_agent.durations import format_duration, parse_duration
from mcp_agent.errors import Limited, LoginInvalid, McpAgentError, TurnDeadlinePassed, TurnFailed, Unconfirmed
from mcp_agent.server.client import Client, Json
from mcp_agent.sessions.signals import ENDED, SessionState

LONGEST_TURN = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Wait:
    """How somebody waits for a turn."""

    limit: timedelta | None
    """None: as long as it takes."""
    at_limit: Callable[[str], bool | None]
    """Ends a turn, by its id, that takes longer; whether its session could be kept, None where that does not matter."""
    nobody_answers: str
    """What is said when the CLI asks its user something; `{what}` is what."""


def turn_limit(deadline: str | None) -> timedelta | None:
    """The limit that a `--deadline` means."""
    if deadline is None:
        return None
    try:
        limit = parse_duration(deadline)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not timedelta(0) < limit <= LONGEST_TURN:
        raise typer.BadParameter(f"{deadline} is not between 0s and {format_duration(LONGEST_TURN)}")
    return limit


def one_turn(server: Client, session_id: str, text: str, wait: Wait) -> Json:
    """The ended turn. Raises when it cannot be begun, did not complete, or took longer than the caller's limit."""
    began = time.monotonic()
    sent = server.post(f"/sessions/{session_id}/send", {"text": text}, waits=True)
    if sent["turn_id"] is None:
        raise Unconfirmed(session_id, str(sent["reason"] or ""))
    path = f"/sessions/{session_id}/turns/{sent['turn_id']}"
    left = max(0.0, (wait.limit or LONGEST_TURN).total_seconds() - (time.monotonic() - began))
    turn = server.wait(f"{path}?wait_seconds={left}&until_waiting=true")
    if turn["outcome"] is None and _has_overrun(turn, wait):
        kept = wait.at_limit(str(sent["turn_id"]))
        turn = server.get(path)
        if turn["outcome"] != "completed":
            assert wait.limit is not None
            raise TurnDeadlinePassed(session_id, wait.limit, time.monotonic() - began, kept=kept)
    if turn["outcome"] == "completed":
        return turn
    if turn["session_state"] == SessionState.WAITING:
        raise TurnFailed(session_id, wait.nobody_answers.format(what=turn["session_detail"]))
    raise _failure(session_id, turn)


def _has_overrun(turn: Json, wait: Wait) -> bool:
    return wait.limit is not None and turn["session_state"] not in ENDED | {SessionState.WAITING}


def _failure(session_id: str, turn: Json) -> McpAgentError:
    error = str(turn["error"] or "")
    match turn["outcome"], turn["cause"]:
        case None, _:
            detail = f" ({turn['session_detail']})" if turn["session_detail"] else ""
            return TurnFailed(session_id, f"the session is over: {turn['session_state']}{detail}")
        case "failed", "login":
            return LoginInvalid(f"the provider refused the login: {error}")
        case "failed", "limited":
            return Limited(f"the provider does not answer for now: {error}")
        case outcome, _:
            return TurnFailed(session_id, f"{outcome} {error}".strip())
