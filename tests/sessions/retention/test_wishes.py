"""How long a session is kept: who chooses that, and how it is counted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import UsageError
from mcp_agent.sessions.record import SessionOptions
from mcp_agent.sessions.retention.clock import clock_of, interval_of, keeping_of, parse_wish, ticks_of
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import FileTimeouts, Policy
from mcp_agent.tmux.ticks import check_clock

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.contract("S6")

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "wish"), [("20s", 20 * SECOND), ("3h", 3 * HOUR), ("off", timedelta(0)), (" OFF ", timedelta(0))]
)
def test_a_wish_is_a_duration_or_off(text: str, wish: timedelta) -> None:
    assert parse_wish(text) == wish


@pytest.mark.parametrize(
    "text", ["", "0", "90", "-5m", "inf", "nan", "999ms", "721h", "soon", "1h 2", "\u0661h", "9" * 99]
)
def test_anything_else_is_refused_in_one_line_that_says_what_to_write(text: str) -> None:
    with pytest.raises(UsageError, match="--idle-retention") as refused:
        parse_wish(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("limit", [SECOND, 1.5 * SECOND, 3 * SECOND, 20 * SECOND, 7 * MINUTE, 3 * HOUR, 30 * DAY])
def test_a_clock_never_ends_before_the_limit_and_a_tick_after_it_at_most(limit: timedelta, tmp_path: Path) -> None:
    interval = interval_of(limit)
    assert SECOND <= interval <= MINUTE
    assert limit <= ticks_of(limit) * interval < limit + interval

    clock = clock_of(StateDirectory(tmp_path), "s-1", limit)
    check_clock(clock)
    assert clock.close_after == ticks_of(limit) + 1
    assert clock.abandon_after * interval >= max(DAY, limit)


def options(wish: timedelta | None) -> SessionOptions:
    return SessionOptions("plain", Path("/"), {}, idle_retention=wish)


def test_the_own_wish_comes_first_then_the_environment_then_the_file_then_the_provider(bench: Bench) -> None:
    file = FileTimeouts({"idle_retention": 2 * HOUR})
    both = Policy.resolve({"MCP_AGENT_IDLE_RETENTION": "1h"}, file)

    own = keeping_of(options(20 * SECOND), both, bench.adapter)
    assert (own.limit, own.setting) == (20 * SECOND, "--idle-retention")
    environment = keeping_of(options(None), both, bench.adapter)
    assert (environment.limit, environment.setting) == (HOUR, "MCP_AGENT_IDLE_RETENTION")
    from_file = keeping_of(options(None), Policy.resolve({}, file), bench.adapter)
    assert (from_file.limit, from_file.setting) == (2 * HOUR, "idle_retention in the configuration file")
    default = keeping_of(None, Policy(), bench.adapter)
    assert default.limit == 3 * HOUR
    assert "MCP_AGENT_IDLE_RETENTION" in default.setting


def test_off_keeps_a_session_for_ever(bench: Bench) -> None:
    assert keeping_of(options(timedelta(0)), Policy(), bench.adapter).limit is None
