"""Sessions by name, over HTTP: every route takes one, and it leads nowhere else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import psutil
import pytest

from mcp_agent.errors import RemoteError

if TYPE_CHECKING:
    from tests.server.conftest import Server


def start(server: Server, **body: object) -> dict[str, Any]:
    asked = {"provider": "scripted", "working_directory": str(server.work), "trust": True, **body}
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(server.work)}
    return server.client.post("/sessions", {"environment": environment, **asked}, waits=True)


def listed(server: Server, **query: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", server.client.get("/sessions", **query)["sessions"])


def status(server: Server, method: str, path: str, *, token: str | None = None) -> int:
    return server.ask(method, path, token=token or server.state.read_owner_token()).status_code


def test_a_name_stands_for_the_id_on_every_route_and_leads_nowhere_else(server: Server) -> None:
    session = start(server, name="calls")["id"]
    other = start(server, name="work.1")["id"]

    for path in ("", "/screen", "?wait_seconds=0", "/"):
        assert status(server, "GET", f"/sessions/calls{path}") in {200, 307}
    assert server.client.get("/sessions/calls")["id"] == session
    assert server.client.post("/sessions/work.1/interrupt", waits=True) == {"interrupted": False}
    for path in ("%2e%2e/server/stop", "work.1%00", "work.1%20", "WORK.1"):
        assert status(server, "POST", f"/sessions/{path}") in {404, 405, 422}
    assert [found["state"] for found in listed(server)] == ["ready", "ready"]
    server.client.post("/sessions/work.1/stop", waits=True)
    assert server.client.get(f"/sessions/{other}")["state"] == "stopped"


@pytest.mark.contract("A2")
def test_a_name_opens_nothing_to_whoever_has_not_the_owners_token(server: Server) -> None:
    token = server.token_of(str(start(server, name="work")["id"]))

    assert status(server, "GET", "/sessions/work", token=token) == 403
    assert status(server, "POST", "/sessions/work/stop", token=token) == 403
    assert server.ask("GET", "/s/work/tools", token=token).status_code == 403


def test_of_starts_with_one_name_at_the_same_time_one_gets_it(server: Server) -> None:
    def attempt(_: int) -> str:
        try:
            return str(start(server, name="work")["id"])
        except RemoteError as error:
            return error.kind

    with ThreadPoolExecutor(5) as pool:
        outcomes = sorted(pool.map(attempt, range(5)))
    assert outcomes[:4] == ["SessionNameTaken"] * 4
    assert [found["id"] for found in listed(server)] == outcomes[4:]


def test_a_start_that_fails_gives_its_name_back(server: Server) -> None:
    with pytest.raises(RemoteError, match="python3"):
        start(server, name="work", environment={"PATH": "/nowhere"})
    assert start(server, name="work")["name"] == "work"


@pytest.mark.contract("S7")
def test_a_name_outlives_its_server(server: Server) -> None:
    session = start(server, name="work")["id"]
    server.crash()
    server.start_again()

    assert server.client.get("/sessions/work")["id"] == session
    with pytest.raises(RemoteError, match=f"session {session} is called work already"):
        start(server, name="work")


def test_what_was_stopped_under_an_earlier_server_is_listed_on_request(server: Server) -> None:
    session = start(server, name="work")["id"]
    server.client.post("/sessions/work/stop", waits=True)
    server.crash()
    server.start_again()

    assert listed(server) == []
    (found,) = listed(server, on_record="true")
    assert (found["id"], found["name"], found["state"]) == (session, "work", "stopped")
    assert server.client.get("/sessions/work")["state"] == "stopped"


@pytest.mark.contract("A3")
def test_a_variable_is_the_sessions_own_whatever_its_text(server: Server) -> None:
    odd = "#{pid} ; $HOME ~ 'x' \"y\" \\ \t\n ä字 \x1b[0m"
    session = start(server, named_environment={"ODD": odd, "LANG": "C.UTF-8"})

    seen = psutil.Process(session["pane"]["pid"]).environ()
    assert (seen["ODD"], seen["LANG"]) == (odd, "C.UTF-8")


@pytest.mark.parametrize(
    "body",
    [
        {"name": "a/b"},
        {"name": 5},
        {"named_environment": {"A": "x\0"}},
        {"named_environment": {"TMUX": "x"}},
        {"named_environment": {"A": 5}},
        {"columns": 39},
        {"rows": True},
        {"permission_mode": "yolo"},
    ],
)
def test_what_no_session_can_have_is_refused(shared_server: Server, body: dict[str, object]) -> None:
    with pytest.raises(RemoteError) as caught:
        start(shared_server, **body)
    assert caught.value.remote_exit_code == 2
    assert listed(shared_server) == []
