"""One prompt to a session and the end of its turn, as the command line waits for it."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NoReturn, cast

import typer

from mcp_agent.cli.stopping import Left
from mcp_agent.cli.submitting import submit
from mcp_agent.durations import format_duration, parse_duration
from mcp_agent.errors import (
    AskWithdrawn,
    Limited,
    LoginInvalid,
    McpAgentError,
    SendRefused,
    TurnDeadlinePassed,
    TurnFailed,
    Unconfirmed,
)
from mcp_agent.server.client import Client, Json
from mcp_agent.sessions.input.messages import DEADLINE_PASSED
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
    stays: bool = False
    """The session outlives the command: whoever leaves it hears what becomes of the prompt."""
    began_seconds: float = field(default_factory=time.monotonic)
    """The limit counts from here."""


def turn_limit(deadline: str | None) -> timedelta | None:
    """The limit that a `--deadline` means."""
    if deadline is None:
        return None
    try:
        limit = parse_duration(deadline)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not timedelta(0) < limit <= LONGEST_TURN:
        longest = format_duration(LONGEST_TURN)
        raise typer.BadParameter(f"--deadline {deadline}: must be more than 0s, at most {longest}; or leave it out")
    return limit


def one_turn(server: Client, session_id: str, text: str, wait: Wait) -> Json:
    """The ended turn of this prompt, and of no other. Raises when it cannot be begun, did not complete, or overran."""
    asking = _Asking(server, session_id, wait)
    try:
        return asking.turn_of(asking.sent(text))
    except Left as left:
        if not wait.stays:
            raise
        asking.leave(left)


@dataclass(slots=True)
class _Asking:
    """One prompt on its way through its session."""

    server: Client
    session_id: str
    wait: Wait
    message_id: str | None = None
    has_turn: bool = False

    def sent(self, text: str) -> Json:
        """What became of the prompt, once it waits no longer. Raises unless a turn began with it."""
        sent = submit(self.server, self.session_id, {"text": text, "mode": "turn", **self._deadline()})
        self.message_id = str(sent["message_id"])
        outcome = sent["outcome"]
        if outcome == "waiting":
            if sys.stderr.isatty():
                typer.echo(f"mcp-agent: something else is before it: it waits as {self.message_id}", err=True)
            sent = self._until_sent()
            outcome = sent["state"]
        match outcome:
            case "delivered":
                self.has_turn = True
                return sent
            case "queued":
                raise TurnFailed(
                    self.session_id,
                    f"somebody else's turn began first and took the prompt in: {sent['turn_id']} goes on with both",
                )
            case "refused":
                raise SendRefused(self.session_id, str(sent["reason"]))
            case "withdrawn":
                raise SendRefused(self.session_id, f"somebody withdrew message {self.message_id}")
            case _:
                raise Unconfirmed(self.session_id, str(sent["reason"] or ""))

    def turn_of(self, sent: Json) -> Json:
        path = f"/sessions/{self.session_id}/turns/{sent['turn_id']}"
        turn = self.server.wait(f"{path}?wait_seconds={self._left_seconds()}&until_waiting=true")
        if _has_overrun(turn, self.wait):
            kept = self.wait.at_limit(str(sent["turn_id"]))
            turn = self.server.get(path)
            if turn["outcome"] != "completed":
                assert self.wait.limit is not None
                raise TurnDeadlinePassed(self.session_id, self.wait.limit, self._elapsed_seconds(), kept=kept)
        if turn["outcome"] == "completed":
            return turn
        if turn["session_state"] == SessionState.WAITING:
            raise TurnFailed(self.session_id, self.wait.nobody_answers.format(what=turn["session_detail"]))
        raise _failure(self.session_id, turn)

    def leave(self, left: Left) -> NoReturn:
        """The command was told to end: say what becomes of the prompt."""
        name = self.session_id
        if self.has_turn:
            told = f"the turn goes on: `mcp-agent session interrupt {name}` ends it"
        elif self.message_id is not None and self._withdraw():
            told = "the prompt waited still and was withdrawn: it was not run and will not be"
        else:
            told = f"the prompt may be run: `mcp-agent session messages {name}` tells"
        with suppress(OSError, ValueError):
            typer.echo(f"mcp-agent: stopped waiting; {told}", err=True)
        raise typer.Exit(int(str(left.code)))

    def _until_sent(self) -> Json:
        """A prompt that waits still when nobody may wait any longer is taken back. Raises then."""
        path = f"/sessions/{self.session_id}/messages/{self.message_id}"
        while True:
            message = self.server.wait(f"{path}?wait_seconds={self._left_seconds()}")
            if message["reason"] == DEADLINE_PASSED:
                raise self._waited_in_vain(message)
            if message["state"] != "waiting":
                return message
            if self._withdraw():
                raise self._waited_in_vain(message)

    def _waited_in_vain(self, message: Json) -> McpAgentError:
        if message["session_over"] or self.wait.limit is None:
            over = message["session_over"] or "it does not come free"
            return SendRefused(self.session_id, f"{over}, and the prompt that waited for its turn was withdrawn")
        why = cast("str | None", message["waits_for"])
        return AskWithdrawn(self.session_id, self.wait.limit, self._elapsed_seconds(), waited_for=why)

    def _withdraw(self) -> bool:
        """Whether the prompt waited still, and was taken back."""
        try:
            self.server.delete(f"/sessions/{self.session_id}/messages/{self.message_id}")
        except McpAgentError:
            return False
        return True

    def _deadline(self) -> Json:
        """The limit as a point in time: the server keeps it though this command may die. Raises when it has passed."""
        if self.wait.limit is None:
            return {}
        if not self._left_seconds():
            raise AskWithdrawn(self.session_id, self.wait.limit, self._elapsed_seconds(), waited_for=None)
        return {"deadline_at": time.time() + self._left_seconds()}

    def _elapsed_seconds(self) -> float:
        return time.monotonic() - self.wait.began_seconds

    def _left_seconds(self) -> float:
        return max(0.0, (self.wait.limit or LONGEST_TURN).total_seconds() - self._elapsed_seconds())


def _has_overrun(turn: Json, wait: Wait) -> bool:
    """Whether the limit ended the turn already, or has to."""
    runs = turn["outcome"] is None and turn["session_state"] not in ENDED | {SessionState.WAITING}
    return wait.limit is not None and (runs or turn["reason"] == "deadline")


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
