"""Idle sessions close by the clock inside tmux, with every process of ours dead, and the next command says why."""

import json
import time
from collections.abc import Callable
from typing import cast

import psutil
import pytest

from e2e.place import Place

pytestmark = [pytest.mark.contract("S6", "S8")]

BOUND_SECONDS = 60.0

Json = dict[str, object]


def eventually(condition: Callable[[], object], *, within_seconds: float = BOUND_SECONDS) -> None:
    """Return once the condition holds, which nothing tells us of."""
    deadline = time.monotonic() + within_seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def start(place: Place, limit: str) -> str:
    done = place.run("session", "start", "-p", "scripted", "--trust", "--idle-retention", limit)
    assert done.status == 0, done.err
    return done.out.strip()


def show(place: Place, session: str) -> Json:
    return place.run("session", "show", session, "--json").json


def pane_of(place: Place, session: str) -> psutil.Process:
    return psutil.Process(cast("int", cast("Json", show(place, session)["pane"])["pid"]))


def kill_server(place: Place) -> None:
    record = json.loads((place.state / "server.json").read_text(encoding="utf-8"))
    server = psutil.Process(record["pid"])
    server.kill()
    server.wait(timeout=30)


def processes_of(session: str) -> list[int]:
    return [process.pid for process in psutil.process_iter() if _carries_mark(process, session)]


def _carries_mark(process: psutil.Process, session: str) -> bool:
    try:
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and process.environ().get("MCP_AGENT_SESSION") == session
    except psutil.Error:
        return False


@pytest.mark.parametrize(("limit", "seconds"), [("3s", 3.0), pytest.param("20s", 20.0, marks=pytest.mark.long)])
def test_an_idle_session_is_closed_with_the_server_killed_and_the_next_start_says_why(
    place: Place, limit: str, seconds: float
) -> None:
    session = start(place, limit)
    assert pane_of(place, session).is_running()
    kill_server(place)
    begun = time.monotonic()
    eventually(lambda: not processes_of(session), within_seconds=seconds + BOUND_SECONDS)
    closed_after = time.monotonic() - begun

    # The clock began a little before the server was killed, and was never ahead of itself.
    assert closed_after >= seconds - 3.0
    done = place.run("session", "show", session)
    assert done.status == 0
    assert f"stopped (idle for {limit})" in done.out
    assert "layer idle_retention, owner session manager" in done.out
    assert "--idle-retention" in done.out
    closed = cast("Json", show(place, session)["closed"])
    assert (closed["by"], closed["configured_seconds"]) == ("tmux", seconds)
    listed = place.run("session", "list", "--all")
    assert f"stopped (idle for {limit})" in listed.out
    assert place.run("server", "stop").status == 0
    assert place.processes() == []
    assert place.files() == []


@pytest.mark.parametrize("wish", ["90", "999h", ""])
def test_a_wish_that_cannot_be_kept_is_one_line_and_starts_nothing(place: Place, wish: str) -> None:
    done = place.run("session", "start", "-p", "scripted", "--trust", "--idle-retention", wish)
    assert done.status == 2
    assert done.err.count("\n") == 1
    assert "--idle-retention" in done.err
    assert not (place.state / "server.json").exists()
