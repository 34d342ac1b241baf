"""A server that is lost, or that stops, in the middle of a shell command: the command goes on, and is found again."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_agent.processes.reaping import reap
from mcp_agent.tools import call_files
from tests.server.conftest import eventually, processes_of_call

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.conftest import Bridge, Server


@dataclass
class Command:
    """A shell command that a session runs, and that ends when it is told to."""

    server: Server
    session: str
    bridge: Bridge
    gate: Path
    text: str
    call_id: str = ""

    def begin(self) -> None:
        self.bridge.begin("execute_shell_command", command=self.text)
        self.call_id = self.server.running_call(self.session)

    def finish(self) -> None:
        """Let the command end; returns once its end is on record."""
        with self.gate.open("w") as gate:
            gate.write("told\n")
        eventually(lambda: call_files.read_exit(self.directory) is not None)

    def answer(self) -> str:
        return str(self.bridge.read()["result"]["content"][0]["text"])

    def kill(self) -> None:
        """End everything of it that runs, its supervisor first, with nothing on record."""
        anyio.run(lambda: reap(lambda: processes_of_call(self.call_id), grace=timedelta(0)))

    @property
    def directory(self) -> Path:
        return self.server.state.call(self.call_id)

    @property
    def record(self) -> dict[str, Any]:
        return self.server.show(self.call_id)

    @property
    def known(self) -> tuple[object, object]:
        return self.record["why_ended"], self.record["happened"]


@pytest.fixture
def command(server: Server, session: str) -> Command:
    gate = server.work / "gate"
    os.mkfifo(gate)
    found = Command(server, session, server.bridge(session), gate, "echo begun; cat gate; echo ended")
    found.begin()
    return found


@pytest.fixture
def lost(command: Command) -> Command:
    """The command of a server that was killed and started again."""
    command.server.crash()
    command.server.start_again()
    return command


@pytest.mark.contract("W6", "W7")
def test_a_call_of_a_killed_server_is_unknown_at_once_for_everybody(lost: Command) -> None:
    assert lost.known == ("runtime_lost", "unknown")
    assert lost.record["unknown"]
    assert "outcome=unknown" in lost.answer()
    listed: Any = lost.server.client.get("/calls", unknown_only="true")["calls"]
    assert [call["call_id"] for call in listed] == [lost.call_id]


@pytest.mark.contract("W6", "W5")
def test_a_command_that_outlived_its_server_is_recorded_with_its_end_and_its_output(lost: Command) -> None:
    lost.finish()
    eventually(lambda: lost.known == ("runtime_lost", "succeeded"))
    assert lost.record["late"]
    assert json.loads(str(lost.record["detail"]))["stdout"] == "begun\ntold\nended\n"
    assert f"tool.late_outcome {lost.call_id} execute_shell_command" in lost.server.state.log.read_text()
    told = json.loads(lost.server.bridge(lost.session).call("execute_shell_command", command="true"))
    assert [call["call_id"] for call in told["earlier_calls"]] == [lost.call_id]


@pytest.mark.contract("W6")
def test_an_end_that_came_while_no_server_ran_is_found_by_the_next(command: Command) -> None:
    command.server.crash()
    command.finish()
    command.server.start_again()
    eventually(lambda: command.known == ("runtime_lost", "succeeded"))


@pytest.mark.contract("W6")
def test_a_call_is_followed_over_two_crashes(lost: Command) -> None:
    again = json.loads(lost.server.bridge(lost.session).call("get_tool_call", call_id=lost.call_id))
    assert again["happened"] == "unknown"
    assert "NOT run" in lost.server.bridge(lost.session).call("execute_shell_command", command=lost.text)
    assert lost.record["evidence"]
    lost.server.crash()
    lost.server.start_again()
    lost.finish()
    eventually(lambda: lost.known == ("runtime_lost", "succeeded"))


@pytest.mark.contract("W6")
def test_a_call_whose_evidence_is_gone_stays_unknown_and_says_so(command: Command) -> None:
    command.server.crash()
    command.kill()
    shutil.rmtree(command.directory)
    command.server.start_again()
    eventually(lambda: command.record["evidence"])
    (evidence,) = command.record["evidence"]
    assert evidence["verdict"] == "cannot_tell"
    assert "nothing is left that tells" in evidence["detail"]
    assert command.known == ("runtime_lost", "unknown")
    waited = command.server.client.wait(f"/calls/{command.call_id}?wait_seconds=600")
    assert waited["happened"] == "unknown"


@pytest.mark.contract("W6", "W8", "W9")
def test_a_command_that_no_supervisor_began_did_not_happen_and_may_be_repeated(command: Command) -> None:
    command.server.crash()
    command.kill()
    for path in command.directory.iterdir():
        if path.name != call_files.ANNOUNCED:
            path.unlink()
    command.server.start_again()
    eventually(lambda: command.record["evidence"])
    assert [found["verdict"] for found in command.record["evidence"]] == ["did_not_happen"]
    assert not command.record["unknown"]
    repeated = command.server.bridge(command.session)
    repeated.begin("execute_shell_command", command=command.text)
    command.server.running_call(command.session)


@pytest.mark.contract("W6")
@pytest.mark.parametrize("how", ["call", "session", "server"])
def test_a_recovered_command_is_ended_by_whoever_may_end_it(lost: Command, how: str) -> None:
    client = lost.server.client
    if how == "call":
        assert client.delete(f"/calls/{lost.call_id}")["cancelled"]
    elif how == "session":
        assert client.post(f"/sessions/{lost.session}/stop", waits=True)["cancelled_calls"] == 1
    else:
        client.post("/server/stop?now=true", waits=True)
        client.wait_until_gone()
        lost.server.start_again()
    assert processes_of_call(lost.call_id) == []
    assert lost.known == ("runtime_lost", "cancelled")


@pytest.fixture
def short_work_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_EXECUTION_TIMEOUT", "3s")


@pytest.mark.contract("W6", "C4")
@pytest.mark.usefixtures("short_work_limit")
def test_the_limit_of_the_work_is_kept_while_no_server_runs(command: Command) -> None:
    command.server.crash()
    eventually(lambda: processes_of_call(command.call_id) == [])
    record = call_files.read_exit(command.directory)
    assert record is not None
    assert record.ended == call_files.KILLED_WORK_LIMIT
    command.server.start_again()
    eventually(lambda: command.known == ("runtime_lost", "cancelled"))
    assert "layer=server_tool owner=supervisor" in str(command.record["detail"])


@pytest.mark.contract("S9", "W6")
def test_a_server_that_is_stopped_leaves_the_command_and_the_next_records_its_end(command: Command) -> None:
    command.server.client.post("/server/stop", waits=True)
    text = command.answer()
    assert "outcome=unknown" in text
    assert "get_tool_call" in text
    command.server.client.wait_until_gone()
    assert processes_of_call(command.call_id)
    command.server.start_again()
    assert command.known == ("runtime_lost", "unknown")
    command.finish()
    eventually(lambda: command.known == ("runtime_lost", "succeeded"))


@pytest.mark.contract("S9", "C5")
def test_a_server_that_is_stopped_now_cancels_the_command(command: Command) -> None:
    command.server.client.post("/server/stop?now=true", waits=True)
    command.server.client.wait_until_gone()
    assert processes_of_call(command.call_id) == []
    assert "CANCELED: layer=cancel owner=session" in command.answer()
    command.server.start_again()
    assert command.known == ("cancel", "cancelled")
