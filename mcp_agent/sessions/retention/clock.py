"""How long an idle session is kept, and the clock that its pane gets for that."""

import math
import sys
from datetime import timedelta

from mcp_agent.adapter import Adapter
from mcp_agent.durations import format_duration, parse_duration
from mcp_agent.errors import UsageError
from mcp_agent.sessions.record import SessionOptions
from mcp_agent.sessions.retention.closing import ABANDONED_AFTER, Keeping
from mcp_agent.state import StateDirectory
from mcp_agent.timeout_settings import Source
from mcp_agent.timeouts import IDLE_RETENTION, Policy
from mcp_agent.tmux.terminal import IdleClock

OPTION = "--idle-retention"
OFF = timedelta(0)
LONGEST_TICK = timedelta(minutes=1)
SHORTEST_TICK = timedelta(seconds=1)
TICKS_OF_A_SHORT_LIMIT = 20
TICKS_OF_GRACE = 1
"""The terminal closes so many ticks after the server would have: a server that lives does it, and better."""
WORD_FILE = "closed.json"


def keeping_of(options: SessionOptions | None, policy: Policy, adapter: Adapter) -> Keeping:
    """The session's own wish first, then what is chosen for its provider."""
    if options is not None and options.idle_retention is not None:
        return Keeping(options.idle_retention or None, OPTION)
    chosen = policy.choice_for(IDLE_RETENTION, adapter.id, own=adapter.limits.idle_retention)
    default = f"the provider's default; {IDLE_RETENTION.name} changes it"
    setting = {Source.ENVIRONMENT: IDLE_RETENTION.name, Source.FILE: f"{IDLE_RETENTION.key} in the configuration file"}
    return Keeping(policy.idle_retention(adapter.id, adapter.limits), setting.get(chosen.source, default))


def parse_wish(text: str) -> timedelta:
    """What `--idle-retention` says: a duration, or `off`, which is zero. Raises `UsageError`."""
    if text.strip().lower() == "off":
        return OFF
    try:
        wish = parse_duration(text)
    except ValueError as problem:
        raise UsageError(f"{OPTION}: {problem}") from problem
    floor, ceiling = IDLE_RETENTION.floor, IDLE_RETENTION.ceiling
    assert ceiling is not None
    if not floor <= wish <= ceiling:
        least, greatest = format_duration(floor), format_duration(ceiling)
        raise UsageError(f"{OPTION}: {text!r} is not between {least} and {greatest}; write off to keep it for ever")
    return wish


def interval_of(limit: timedelta) -> timedelta:
    """How long a tick is: a minute, and less for limits that are counted in seconds."""
    return min(LONGEST_TICK, max(SHORTEST_TICK, limit / TICKS_OF_A_SHORT_LIMIT))


def ticks_of(limit: timedelta) -> int:
    """After how many ticks a session is idle for its limit."""
    return math.ceil(limit / interval_of(limit))


def clock_of(state: StateDirectory, session_id: str, limit: timedelta) -> IdleClock:
    """The clock of this session's pane, from the beginning."""
    interval, due = interval_of(limit), ticks_of(limit) + TICKS_OF_GRACE
    word = str(state.session(session_id) / WORD_FILE)
    return IdleClock(
        name=session_id,
        interval=interval,
        close_after=due,
        abandon_after=max(math.ceil(ABANDONED_AFTER / interval), due),
        then=(sys.executable, "-I", "-m", "mcp_agent.processes.ending", session_id, word),
    )
