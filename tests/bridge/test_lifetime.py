"""How a bridge begins and ends: with its client, quietly, leaving nothing that runs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.bridge import mcpbridge
from mcp_agent.bridge.dispatch import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bridge.conftest import Bridge, FakeServer

PROGRAM = Path(mcpbridge.__file__)
ROOT = Path(__file__).parents[2]
BOUND_SECONDS = 20
PARENT = "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:], stdin=0).pid, flush=True); time.sleep(100)"


def run(*arguments: str, flags: str = "-I", text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *flags.split(), str(PROGRAM), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=BOUND_SECONDS)


@pytest.mark.contract("B4")
def test_the_end_of_input_ends_the_bridge_well(bridge: Bridge) -> None:
    assert bridge.lives()
    assert bridge.end() == 0


@pytest.mark.contract("B4")
def test_answers_to_what_came_before_the_end_of_input_are_still_written(session_file: Callable[..., Path]) -> None:
    line = '{"jsonrpc":"2.0","id":1,"method":"initialize"}\n{"jsonrpc":"2.0","id":2,"method":"ping"}'
    ended = run(str(session_file()), text=line)

    assert [json.loads(answer)["id"] for answer in ended.stdout.splitlines()] == [1, 2]
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.contract("B4", "C2")
def test_the_end_of_input_cancels_every_running_call_without_an_answer(bridge: Bridge, server: FakeServer) -> None:
    for number in range(3):
        bridge.call(number, "slow")
    calls = server.wait_for_calls(3)

    assert bridge.end() == 0
    assert bridge.messages == []
    assert all(call.hung_up.wait(BOUND_SECONDS) for call in calls)


@pytest.mark.contract("B4", "C2")
def test_the_death_of_the_bridge_reaches_the_server(bridge: Bridge, server: FakeServer) -> None:
    bridge.call(1, "slow")
    [call] = server.wait_for_calls(1)
    bridge.process.kill()

    assert call.hung_up.wait(BOUND_SECONDS)


@pytest.mark.contract("B4", "C2")
def test_the_death_of_the_parent_ends_the_bridge_and_its_calls_though_stdin_stays_open(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-c", PARENT, sys.executable, "-I", str(PROGRAM), str(session_file())]
    with subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        bridge = os.pidfd_open(int(parent.stdout.readline()))
        os.write(writing, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}\n')
        [call] = server.wait_for_calls(1)
        parent.kill()

        assert call.hung_up.wait(BOUND_SECONDS)
        assert select.select([bridge], [], [], BOUND_SECONDS)[0]
    for descriptor in (bridge, reading, writing):
        os.close(descriptor)


@pytest.mark.contract("B4")
def test_a_client_that_closed_our_stdout_ends_the_bridge_and_its_calls(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    command = [sys.executable, "-I", str(PROGRAM), str(session_file())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        bridge.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}\n')
        [call] = server.wait_for_calls(1)
        bridge.stdout.close()
        bridge.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')

        assert bridge.wait(BOUND_SECONDS) == 0
    assert call.hung_up.wait(BOUND_SECONDS)


@pytest.mark.contract("B4", "C2")
def test_a_client_that_never_reads_can_still_cancel_and_leave(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    command = [sys.executable, "-I", str(PROGRAM), str(session_file())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as bridge:
        assert bridge.stdin is not None
        bridge.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}\n')
        [call] = server.wait_for_calls(1)
        for _ in range(3000):
            bridge.stdin.write(b'{"jsonrpc":"2.0","id":"' + b"x" * 1000 + b'","method":"ping"}\n')
        bridge.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
        assert call.hung_up.wait(BOUND_SECONDS)
        bridge.stdin.close()

        assert bridge.wait(BOUND_SECONDS) == 0


@pytest.mark.contract("B4")
def test_an_interrupt_meant_for_the_cli_does_not_end_the_bridge(bridge: Bridge, server: FakeServer) -> None:
    bridge.call(1, "slow")
    [call] = server.wait_for_calls(1)
    bridge.process.send_signal(signal.SIGINT)

    assert bridge.lives()
    assert not call.hung_up.is_set()


@pytest.mark.contract("B1")
def test_the_process_is_named_for_what_it_is(bridge: Bridge) -> None:
    assert bridge.lives()
    assert Path(f"/proc/{bridge.process.pid}/comm").read_text() == "mcpbridge\n"


@pytest.mark.contract("B1")
def test_no_users_directory_is_held(bridge: Bridge) -> None:
    assert bridge.lives()
    assert Path(f"/proc/{bridge.process.pid}/cwd").readlink() == Path("/")


@pytest.mark.contract("B1")
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"token": None}, "`token` must be a text"),
        ({"token": "two words"}, "`token` must be one word"),
        ({"session": "a\r\nb"}, "`session` must be one word"),
        ({"socket": ""}, "`socket` must be a text"),
        ({"start_server": []}, "`start_server` must be a list of texts"),
        ({"start_server": ["x", 1]}, "`start_server` must be a text"),
        ({"start_environment": {"A": 1}}, "`start_environment` must map names to texts"),
        ({"limits": None}, "`limits` must be an object"),
        ({"limits": {"ordinary_seconds": 0}}, "`ordinary_seconds` must be a positive number of seconds"),
        ({"limits": {"ordinary_seconds": 1}}, "`long_running_seconds` must be a positive number of seconds"),
        ({"progress_seconds": True}, "`progress_seconds` must be a positive number of seconds"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_session_file_that_is_wrong_is_one_clear_line_and_exit_status_2(
    session_file: Callable[..., Path], changes: dict[str, object], problem: str
) -> None:
    path = session_file(**changes)
    ended = run(str(path))

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"mcpbridge: {path}: {problem}")
    assert ended.stderr.count("\n") == 1


@pytest.mark.contract("B1")
def test_a_session_file_that_is_missing_or_no_json_is_one_clear_line_and_exit_status_2(short_tmp: Path) -> None:
    (short_tmp / "broken").write_text("{")
    (short_tmp / "list").write_text("[]")
    ends = [run(str(short_tmp / name)) for name in ("missing", "broken", "list")] + [run()]

    assert [ended.returncode for ended in ends] == [2] * 4
    for ended, part in zip(ends, ("No such file", "is not JSON", "is not a JSON object", "usage"), strict=True):
        assert part in ended.stderr
        assert ended.stderr.count("\n") == 1


@pytest.mark.contract("B1")
def test_the_bridge_needs_the_standard_library_only(session_file: Callable[..., Path]) -> None:
    path = str(session_file())
    bare = run(path, flags="-I -S", text='{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    imported = {line.rpartition("|")[2].strip() for line in run(path, flags="-I -X importtime").stderr.splitlines()}

    assert json.loads(bare.stdout)["result"]["serverInfo"]["name"] == "api-bridge"
    slow = {"asyncio", "dataclasses", "email", "http.client", "inspect", "pathlib", "subprocess", "typing", "uuid"}
    assert imported & slow == set()
    assert {name for name in imported if name.startswith("mcp_agent")} == {
        f"mcp_agent.bridge.{path.stem}"
        for path in PROGRAM.parent.glob("*.py")
        if path.stem not in ("__init__", "mcpbridge", "event_hook")
    }


@pytest.mark.contract("B1")
def test_the_version_is_the_distributions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == VERSION
