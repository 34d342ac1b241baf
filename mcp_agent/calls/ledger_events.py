"""The facts that a ledger keeps of a call, each written once and never changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mcp_agent.processes import ProcessIdentity


class WhyEnded(StrEnum):
    """Why the wait for a call ended; what happened to the work is another question."""

    RESULT = "result"
    TOOL_WAIT = "tool_wait"
    SERVER_TOOL = "server_tool"
    BRIDGE_HTTP = "bridge_http"
    MCP_CALL = "mcp_call"
    TURN_DEADLINE = "turn_deadline"
    CANCEL = "cancel"
    RUNTIME_LOST = "runtime_lost"


class Happened(StrEnum):
    """What happened to the work, as far as anybody knows."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    NOT_STARTED = "not_started"


class Verdict(StrEnum):
    """What a look at the world says of a call's effect."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    CANNOT_TELL = "cannot_tell"


class Decider(StrEnum):
    """Who took a decision that no machine can take."""

    OWNER = "owner"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Intent:
    """Somebody is about to do this; the first fact of every call."""

    session_id: str
    tool: str
    category: str
    arguments: Mapping[str, object]
    digest: str
    """Of the tool and its canonical arguments: equal for identical calls."""
    turn_id: str | None
    wait_limit_seconds: float
    work_limit_seconds: float | None
    """When the work itself is stopped, counted from its start; None when nothing stops it."""
    owner: ProcessIdentity
    """The server that runs the call; once it is dead, nobody waits any more."""
    read_only: bool
    idempotent: bool
    working_directory: str | None = None
    """Where it runs, for whoever looks for its effect later."""


@dataclass(frozen=True, slots=True)
class Slow:
    """The call takes longer than most, and is waited for all the same."""

    elapsed_seconds: float
    limit_seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """The work gave a sign of life."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class WaitEnded:
    """Nobody waits for the call any more."""

    why: WhyEnded
    waited_seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was observed of the work; `late` when the wait had ended before."""

    happened: Happened
    detail: str = ""
    result_bytes: int | None = None
    late: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a check of the world said; the call itself was not touched."""

    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Somebody looked and says whether it took place."""

    happened: bool
    note: str
    by: Decider


@dataclass(frozen=True, slots=True)
class Gated:
    """The call was answered with the record of an earlier one instead of being run."""

    by_call_id: str


@dataclass(frozen=True, slots=True)
class DuplicateAllowed:
    """The call was run although nobody knows what became of an identical earlier one."""

    of_call_id: str
    by: Decider


@dataclass(frozen=True, slots=True)
class Offered:
    """The session was told of the late outcome."""

    asked: bool = False
    """It was the answer to a question about this call, or to a repetition of it, and not news beside another answer."""


Event = Intent | Slow | Progress | WaitEnded | Outcome | Evidence | Resolved | Gated | DuplicateAllowed | Offered


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """A fact of another version of this program: kept and shown, and not interpreted."""

    kind: str
    facts: str
    """As it is written in the file."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A fact and when it was written, as a wall-clock epoch. The order of facts is that of the file, not of clocks."""

    at: float
    event: Event | Unrecognised
