"""Who may ask for what, and where the tokens are not."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from mcp_agent.server.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_agent.server.runtime import Runtime
    from tests.server.conftest import Server

SESSION_PREFIX = "/s/{session}/"


def routes(*, of_sessions: bool) -> list[tuple[str, str]]:
    """Every method and path of the application on one side of the wall; nothing that it serves is left out."""
    app = create_app(cast("Runtime", None))
    pending, found = list(app.routes), []
    while pending:
        route = pending.pop()
        pending += getattr(getattr(route, "original_router", route), "routes", [])
        if isinstance(route, APIRoute | Route):
            found += [(method, route.path) for method in route.methods or ()]
    return sorted((method, path) for method, path in found if path.startswith(SESSION_PREFIX) is of_sessions)


def path_for(route: str, session: str) -> str:
    filled = route.replace("{session}", session).replace("{session_id}", session).replace("{turn_id}", "t-1")
    return filled.replace("{server}", "server").replace("{tool}", "execute_shell_command")


def test_both_sides_of_the_wall_have_routes() -> None:
    assert ("POST", "/sessions") in routes(of_sessions=False)
    assert ("POST", "/s/{session}/tools/mcp/{server}/{tool}") in routes(of_sessions=True)


@pytest.mark.contract("A2")
def test_every_owner_route_refuses_everyone_but_the_owner(server: Server, session: str) -> None:
    for method, route in routes(of_sessions=False):
        for token in (None, "", "wrong", server.token_of(session)):
            response = server.ask(method, path_for(route, session), token=token, json={})
            assert (method, route, response.status_code) == (method, route, 403)
            assert response.json()["error"] == {"kind": "AccessDenied", "message": "access denied", "exit_code": 1}


@pytest.mark.contract("A2")
def test_every_session_route_refuses_everyone_but_that_session(server: Server, session: str) -> None:
    other = server.start_session()
    stopped = server.start_session()
    token_of_stopped = server.token_of(stopped)
    server.client.post(f"/sessions/{stopped}/stop", waits=True)
    owner = server.state.read_owner_token()
    for method, route in routes(of_sessions=True):
        attempts = [(session, token) for token in (None, "", "wrong", owner, server.token_of(other))]
        attempts += [(stopped, token_of_stopped), ("s-unknown", server.token_of(session)), ("s-unknown", "")]
        for asked, token in attempts:
            response = server.ask(method, path_for(route, asked), token=token, headers={"X-Call-Id": "call_1"})
            assert (method, route, response.status_code) == (method, route, 403)
    assert server.client.get("/calls")["calls"] == []


@pytest.mark.contract("A2")
@pytest.mark.parametrize("header", ["", "Bearer", "{token}", "Basic {token}", "Bearer {token}x", "Bearer \xe9"])
def test_a_header_that_is_not_quite_the_owners_is_refused(server: Server, header: str) -> None:
    shown = header.format(token=server.state.read_owner_token()).encode("latin-1")
    response = server.ask("GET", "/server", token=None, headers={"Authorization": shown})
    assert response.status_code == 403


@pytest.mark.contract("A2")
def test_a_session_cannot_act_as_another_by_what_it_sends(server: Server, session: str) -> None:
    other = server.start_session()
    response = server.ask(
        "POST",
        f"/s/{session}/tools/virtual/execute_shell_command",
        token=server.token_of(session),
        headers={"X-Call-Id": "call_1", "X-Session": other},
        params={"session": other, "session_id": other},
        json={"command": "echo $MCP_AGENT_SESSION"},
    )
    assert response.json()["structured"]["stdout"] == f"{session}\n"
    assert server.calls(other) == []


@pytest.mark.contract("A2", "A3", "S1")
def test_no_token_stands_in_an_argv_an_environment_or_a_file_that_others_are_told_of(
    server: Server, session: str
) -> None:
    bridge = server.bridge(session)
    bridge.begin("execute_shell_command", command="sleep 600")
    call_id = server.running_call(session)
    secrets = [server.token_of(session), str(server.state.read_owner_token())]
    seen = [*process_texts(), *file_texts(server, session), call_id]
    assert any(str(server.state.tmux_socket) in text for text in seen)
    for text in seen:
        assert not any(secret in text for secret in secrets)


def process_texts() -> Iterator[str]:
    """The command line and the environment of every process, the tmux server's among them."""
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                yield (process / name).read_bytes().decode(errors="replace")
            except OSError:
                continue


def file_texts(server: Server, session: str) -> Iterator[str]:
    kept = {server.bridge_file(session), server.state.owner_token}
    for path in server.state.root.rglob("*"):
        if path.is_file() and path not in kept:
            yield path.read_bytes().decode(errors="replace")


@pytest.mark.contract("A1", "A2")
def test_everything_on_disk_is_the_owners_alone(server: Server, session: str) -> None:
    server.bridge(session).call("execute_shell_command", command="true")
    for path in [server.state.root, *server.state.root.rglob("*")]:
        assert not path.is_symlink()
        assert (path, stat.S_IMODE(path.lstat().st_mode) & 0o077) == (path, 0)
    assert stat.S_IMODE(server.state.server_socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.state.sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.bridge_file(session).stat().st_mode) == 0o600


@pytest.mark.contract("A3")
def test_a_shell_command_sees_its_sessions_allow_list_and_not_the_servers_environment(server: Server) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/home/mine", "LANG": "C.UTF-8", "AWS_SECRET": "x", "LC_TIME": "C"}
    session = server.start_session(environment=environment)
    seen = server.bridge(session).call("execute_shell_command", command="env")
    assert "HOME=/home/mine" in seen
    assert "LC_TIME=C" in seen
    for leaked in ("AWS_SECRET", "MCP_AGENT_HOME", "MCP_AGENT_READY_FD", "TMUX"):
        assert leaked not in seen


@pytest.mark.contract("A1")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_cannot_reach_the_socket(server: Server) -> None:
    program = f"import socket; socket.socket(socket.AF_UNIX).connect({str(server.state.server_socket)!r})"
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", program]
    refused = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "PermissionError" in refused.stderr
