"""One server per state directory, started by whoever needs it first."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from mcp_agent import __version__
from mcp_agent.errors import BadConfiguration, RemoteError, ServerStartFailed, ServerUnreachable
from mcp_agent.processes import identify, is_alive, send_signal
from mcp_agent.server.client import Client, limit_warnings
from mcp_agent.server.starting import ALREADY_RUNNING_EXIT, holds_lock, is_listening, server_environment, start_server
from mcp_agent.state import HOME_VARIABLE, StateDirectory
from tests.server.conftest import BOUND_SECONDS, eventually, put_away

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.conftest import Server


def pid_of(state: StateDirectory) -> int:
    with Client.connect(state, start=False) as client:
        return int(str(client.server["pid"]))


def foreground(state: StateDirectory, **variables: str) -> subprocess.CompletedProcess[str]:
    """A server in the foreground, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "mcp_agent.server"],
        env={**os.environ, HOME_VARIABLE: str(state.root), **variables},
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )


@pytest.mark.contract("A1", "S9")
def test_a_started_server_listens_on_a_private_socket_and_keeps_its_record(server: Server) -> None:
    state = server.state
    record = json.loads(state.server_record.read_text())
    assert record["pid"] == server.pid
    assert record["version"] == __version__
    assert server.client.started
    for path, mode in ((state.server_socket, 0o600), (state.sockets, 0o700), (state.root, 0o700), (state.log, 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.contract("S9")
def test_a_second_server_of_the_same_directory_says_so_and_leaves_the_first_alone(server: Server) -> None:
    second = foreground(server.state)
    assert second.returncode == ALREADY_RUNNING_EXIT
    assert second.stderr.count("\n") == 1
    assert "already runs" in second.stderr
    assert server.client.get("/sessions") == {"sessions": []}


@pytest.mark.contract("S9")
def test_many_callers_at_once_get_one_server(state: StateDirectory) -> None:
    with ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(lambda _: Client.connect(state), range(8)))
    pids = {client.get("/server")["pid"] for client in clients}
    assert len(pids) == 1
    assert sum(client.started for client in clients) == 1
    assert state.log.read_text().count("listens on") == 1
    for client in clients:
        client.close()


@pytest.mark.contract("S9")
def test_a_killed_server_is_replaced_by_the_next_command(server: Server) -> None:
    first = identify(server.pid)
    assert first is not None
    send_signal(first, signal.SIGKILL)
    eventually(lambda: not holds_lock(server.state))
    assert server.state.server_socket.exists()
    with pytest.raises(ServerUnreachable):
        Client.connect(server.state, start=False)
    with Client.connect(server.state) as client:
        assert client.started
        assert client.server["pid"] != first.pid


@pytest.mark.contract("S9")
def test_a_stale_socket_and_a_stale_record_are_replaced(state: StateDirectory) -> None:
    state.create()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(state.server_socket))
    me = identify(os.getpid())
    assert me is not None
    state.server_record.write_text(json.dumps(me.to_json()))
    with Client.connect(state) as client:
        assert client.started
    assert is_alive(me)


@pytest.mark.contract("S9")
def test_a_server_of_another_version_is_replaced(state: StateDirectory) -> None:
    state.create()
    program = "import os, mcp_agent; mcp_agent.__version__ = '0.0.0'; from mcp_agent.server.serving import main; "
    old = subprocess.Popen([sys.executable, "-c", f"{program} main(os.environ)"], env={**os.environ})
    eventually(lambda: is_listening(state))
    with Client.connect(state, start=False) as client:
        assert client.server["version"] == "0.0.0"
    with Client.connect(state) as client:
        assert client.server["version"] == __version__
        assert client.server["pid"] != old.pid
    assert old.wait(BOUND_SECONDS) == 0


@pytest.mark.contract("S9")
def test_a_stopped_server_leaves_no_socket_and_no_record(server: Server) -> None:
    server.client.post("/server/stop", waits=True)
    server.client.wait_until_gone()
    assert not server.state.sockets.exists()
    assert not server.state.server_record.exists()


@pytest.mark.contract("S9")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_the_server_in_order(server: Server, number: signal.Signals) -> None:
    running = identify(server.pid)
    assert running is not None
    send_signal(running, number)
    server.client.wait_until_gone()
    assert not server.state.sockets.exists()
    assert f"stopping on {number.name}" in server.state.log.read_text()


@pytest.mark.contract("S9")
def test_a_server_that_is_just_stopping_is_waited_for(server: Server) -> None:
    before = server.pid
    server.client.post("/server/stop", waits=True)
    with Client.connect(server.state) as client:
        assert client.server["pid"] != before


@pytest.mark.contract("S1", "A1")
def test_a_state_path_too_long_for_a_socket_works(short_tmp: Path) -> None:
    state = StateDirectory(short_tmp / ("long-" * 30) / "home", runtime=short_tmp)
    state.root.parent.mkdir()
    try:
        with Client.connect(state, environ={**os.environ, "XDG_RUNTIME_DIR": str(short_tmp)}) as client:
            assert client.server["home"] == str(state.root)
            assert len(str(state.server_socket)) < 108
            assert stat.S_IMODE(state.sockets.stat().st_mode) == 0o700
    finally:
        put_away(state)


def test_a_state_root_that_is_a_file_is_refused_in_one_line(short_tmp: Path) -> None:
    root = short_tmp / "file"
    root.touch()
    for start in (True, False):
        with pytest.raises(BadConfiguration, match="file"):
            Client.connect(StateDirectory(root), start=start)


def test_a_configuration_that_cannot_be_used_is_the_servers_last_word(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch, short_tmp: Path
) -> None:
    (short_tmp / "config/mcp-agent").mkdir(parents=True)
    (short_tmp / "config/mcp-agent/config.toml").write_text("[sessions]\ncolumn = 3\n")
    with pytest.raises(ServerStartFailed, match="did you mean 'columns'"):
        Client.connect(state)
    assert not holds_lock(state)


def test_a_lost_owner_token_means_no_access_and_says_nothing_else(server: Server) -> None:
    server.state.owner_token.unlink()
    with pytest.raises(RemoteError, match=r"^access denied$"):
        Client.connect(server.state)


@pytest.mark.contract("A3")
def test_a_server_sees_an_allow_list_of_its_starters_variables() -> None:
    seen = server_environment({"PATH": "/bin", "LC_ALL": "C", "CODING_AGENT_MCP_TOOL_TIMEOUT": "1h", "API_KEY": "x"})
    assert seen == {"PATH": "/bin", "LC_ALL": "C", "CODING_AGENT_MCP_TOOL_TIMEOUT": "1h"}


@pytest.mark.contract("T2", "T7")
def test_the_server_tells_its_limits_settings_and_what_is_wrong_with_them(state: StateDirectory) -> None:
    environ = {**os.environ, "CODING_AGENT_MCP_TOOL_TIMEOUT": "90", "TOOL_EXECUTION_TIMEOUT": "1h"}
    with Client.connect(state, environ=environ) as client:
        assert client.server["settings"] == {"CODING_AGENT_MCP_TOOL_TIMEOUT": "90", "TOOL_EXECUTION_TIMEOUT": "1h"}
        (warning,) = limit_warnings(client.server)
    assert "CODING_AGENT_MCP_TOOL_TIMEOUT" in warning


def test_starting_where_one_listens_starts_nothing(server: Server) -> None:
    before = server.pid
    assert start_server(server.state, os.environ) is False
    assert pid_of(server.state) == before


def test_a_stop_is_answered_once_all_of_its_request_has_come(server: Server) -> None:
    token = server.state.read_owner_token()
    head = f"POST /server/stop HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as slow:
        slow.settimeout(BOUND_SECONDS)
        slow.connect(str(server.state.server_socket))
        slow.sendall(head.encode())
        assert server.client.get("/server")["stopping"] is False
        slow.sendall(b"{}")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200 ")
    server.client.wait_until_gone()
