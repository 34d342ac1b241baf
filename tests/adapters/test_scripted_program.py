"""The scripted agent's program end to end: a real terminal, a real stdio MCP server, the scripted model over HTTP."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pexpect
import pytest
from anyio.from_thread import start_blocking_portal

from adapters.scripted import ADAPTER
from adapters.scripted_agent import wording
from mcp_agent.adapter import (
    Blocked,
    Busy,
    FailureCause,
    LaunchRequest,
    ModelEndpoint,
    PromptAccepted,
    Ready,
    Screen,
    SessionIdentified,
    Signal,
    TurnEnded,
    TurnOutcome,
    Usage,
    Waiting,
)
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model import ScriptedModel

COLUMNS, ROWS = 100, 30
LIMIT = 30.0
"""Seconds that any wait of these tests may take."""
CURSOR = re.compile(r"\x1b\[(\d+);(\d+)H\x1b\[2K([^\x1b]*)")

ONE_REPLY = Usage(10, 5)
"""What the scripted model says that each of its replies costs."""

MCP_SERVER = Path(__file__).with_name("stdio_mcp_server.py")


@dataclass
class Running:
    """The program on a terminal whose screen is kept as rows."""

    child: "pexpect.spawn[str]"
    events_file: Path
    mcp_log: Path
    rows: list[str] = field(default_factory=lambda: [""] * ROWS)
    unread: str = ""

    @property
    def screen(self) -> Screen:
        return Screen([row.rstrip() for row in self.rows])

    @property
    def signals(self) -> list[Signal]:
        """What the events so far say."""
        lines = self.events_file.read_text().splitlines() if self.events_file.exists() else []
        return [signal for line in lines if line for signal in ADAPTER.read_event(json.loads(line))]

    def until(self, holds: Callable[[], object]) -> None:
        """Reads what the program draws until the condition holds; a draw follows everything that happens in it."""
        while not holds():
            self.unread += self.child.read_nonblocking(1 << 16, timeout=LIMIT)
            whole, mark, self.unread = self.unread.rpartition("\x1b[?25h")
            for row, _, text in CURSOR.findall(whole + mark):
                self.rows[int(row) - 1] = text

    def reads(self, signal: Signal) -> bool:
        return list(ADAPTER.read(self.screen)) == [signal]

    def has_answered(self, answer: str) -> bool:
        return f"  {answer}" in self.screen.lines and self.reads(Ready())

    def ready(self) -> None:
        self.until(lambda: self.reads(Ready()))

    def paste(self, text: str) -> None:
        self.child.send(f"\x1b[200~{text}\x1b[201~")

    def prompt(self, text: str) -> None:
        """Pastes a prompt, sees it in the composer, and submits it."""
        self.paste(text)
        self.until(lambda: (drawn := ADAPTER.composer(self.screen)) and drawn.draft.split() == text.split())
        self.child.send("\r")

    def leave(self) -> int | None:
        """Ends the program as a user does; its exit status."""
        self.child.send("\x04")
        self.child.expect(pexpect.EOF, timeout=LIMIT)
        self.child.close()
        return self.child.exitstatus

    def mcp_methods(self) -> list[object]:
        return [json.loads(line)["method"] for line in self.mcp_log.read_text().splitlines()]


@dataclass
class World:
    """A directory to run in, and everything the program is launched with."""

    directory: Path
    request: LaunchRequest
    running: list[Running] = field(default_factory=list)

    def start(self, **changes: Any) -> Running:
        launch = ADAPTER.launch(replace(self.request, **changes))
        for file in launch.files:
            file.path.write_text(file.text)
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.request.home), "TERM": "xterm"}
        child = pexpect.spawn(
            launch.argv[0],
            list(launch.argv[1:]),
            env={**environment, **launch.environment},
            dimensions=(ROWS, COLUMNS),
            encoding="utf-8",
            codec_errors="replace",
            timeout=LIMIT,
        )
        child.delaybeforesend = None
        running = Running(child, self.directory / "events.jsonl", self.directory / "mcp.log")
        self.running.append(running)
        return running

    def transcript(self) -> list[Mapping[str, Any]]:
        path = self.request.home / str(ADAPTER.transcript_glob(self.request.native_session_id))
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(ScriptedModel.serve()) as served:
        yield served


@pytest.fixture
def world(tmp_path: Path, model: ScriptedModel) -> Iterator[World]:
    events = tmp_path / "events.jsonl"
    request = LaunchRequest(
        session_id="s-1",
        executable=Path(sys.executable),
        working_directory=tmp_path,
        session_directory=tmp_path,
        home=tmp_path,
        home_is_ours=True,
        bridge_command=(sys.executable, "-I", str(MCP_SERVER), str(tmp_path / "mcp.log")),
        event_command=("sh", "-c", f"cat >> '{events}'; echo >> '{events}'"),
        mcp_call=timedelta(minutes=90),
        native_session_id="11111111-2222",
        resume=False,
        allow_tools=frozenset({"execute_shell_command"}),
        provider_shell=False,
        trust=True,
        endpoint=ModelEndpoint(model.base_url, model.api_key),
    )
    made = World(tmp_path, request)
    yield made
    for running in made.running:
        running.child.close(force=True)


def when_released(gate: Path, token: str) -> str:
    """A command that is silent until the file is there."""
    return f"while [ ! -e '{gate}' ]; do sleep 0.02; done; printf 'SLEPT_%s' {token}"


def held_prompt(gate: Path, token: str) -> str:
    plain = prompts.silent_sleep_command(1, token)
    return prompts.run_silent_sleep(1, token).replace(plain, when_released(gate, token))


def is_calling(running: Running) -> bool:
    return "tools/call" in running.mcp_methods()


@pytest.mark.contract("X1")
def test_a_conversation_remembers_and_tells_every_turn_once(world: World) -> None:
    running = world.start()
    running.ready()
    for prompt, answer in [(prompts.remember_note("k7"), "ACK_k7"), (prompts.recall_note(), "k7")]:
        running.prompt(prompt)
        running.until(partial(running.has_answered, answer))
    assert running.leave() == 0

    assert running.signals == [
        SessionIdentified("11111111-2222", world.directory / ".scripted-agent/11111111-2222.jsonl"),
        PromptAccepted(prompts.remember_note("k7")),
        TurnEnded(TurnOutcome.COMPLETED, "ACK_k7", usage=ONE_REPLY),
        PromptAccepted(prompts.recall_note()),
        TurnEnded(TurnOutcome.COMPLETED, "k7", usage=ONE_REPLY),
    ]


@pytest.mark.contract("I4")
def test_live_input_during_a_call_is_answered_in_the_same_turn(world: World) -> None:
    gate = world.directory / "gate"
    running = world.start()
    running.ready()
    running.prompt(held_prompt(gate, "k7"))
    running.until(lambda: running.reads(Busy()) and is_calling(running))
    running.prompt(prompts.live_input("z9"))
    running.until(lambda: any(row.startswith(wording.QUEUED) for row in running.rows))
    gate.touch()
    running.ready()
    assert running.leave() == 0

    assert running.signals[2:] == [
        PromptAccepted(prompts.live_input("z9"), queued=True),
        TurnEnded(TurnOutcome.COMPLETED, "DONE_SLEPT_k7 LIVE_z9", usage=Usage(20, 10)),
    ]


def test_a_prompt_is_told_before_its_first_call_begins(world: World) -> None:
    told, slow = world.directory / "told", "while [ ! -e '{gate}' ]; do sleep 0.02; done; cat >> '{told}'"
    gate = world.directory / "gate"
    running = world.start(event_command=("sh", "-c", slow.format(gate=gate, told=told)))
    running.ready()
    running.prompt(prompts.run_command(f"cat '{told}'"))
    running.until(lambda: running.reads(Busy()))
    assert not is_calling(running)
    gate.touch()
    running.ready()

    result = next(entry["text"] for entry in world.transcript() if entry["type"] == "tool_result")
    assert "prompt_accepted" in result
    assert running.leave() == 0


@pytest.mark.contract("C2")
def test_escape_cancels_the_call_and_leaves_the_agent_usable(world: World) -> None:
    running = world.start()
    running.ready()
    running.prompt(held_prompt(world.directory / "never", "k7"))
    running.until(lambda: running.reads(Busy()) and is_calling(running))
    running.child.send("\x1b")
    running.ready()
    running.prompt(prompts.remember_note("n1"))
    running.until(lambda: "  ACK_n1" in running.screen.lines)
    (world.directory / "never").touch()
    assert running.leave() == 0

    assert running.mcp_methods()[-1] == "notifications/cancelled"
    ended = [signal for signal in running.signals if isinstance(signal, TurnEnded)]
    assert [turn.outcome for turn in ended] == [TurnOutcome.INTERRUPTED, TurnOutcome.COMPLETED]


@pytest.mark.contract("S7")
def test_a_killed_agent_resumes_its_conversation(world: World) -> None:
    running = world.start()
    running.ready()
    running.prompt(prompts.remember_note("k7"))
    running.until(lambda: "  ACK_k7" in running.screen.lines)
    running.child.kill(signal.SIGKILL)
    running.child.expect(pexpect.EOF)

    resumed = world.start(resume=True)
    resumed.ready()
    resumed.prompt(prompts.recall_note())
    resumed.until(lambda: "  k7" in resumed.screen.lines)
    assert resumed.leave() == 0
    assert [entry["final_text"] for entry in world.transcript() if entry["type"] == "turn_end"] == ["ACK_k7", "k7"]


@pytest.mark.contract("A5")
def test_a_tool_that_was_not_allowed_needs_permission(world: World) -> None:
    running = world.start(allow_tools=frozenset())
    running.ready()
    running.prompt(prompts.run_command("printf hello"))
    running.until(lambda: running.reads(Waiting("permission")))
    assert "tools/call" not in running.mcp_methods()
    running.child.send("\r")
    running.until(lambda: "  OUTPUT hello" in running.screen.lines)
    assert running.leave() == 0


@pytest.mark.contract("A5", "S5")
def test_an_untrusted_directory_is_asked_about_once(world: World) -> None:
    running = world.start(home_is_ours=False)
    running.until(lambda: any(isinstance(signal, Blocked) for signal in ADAPTER.read(running.screen)))
    assert not running.mcp_log.exists()
    running.child.send("\x1b[B\r")
    running.ready()
    assert running.leave() == 0

    again = world.start(home_is_ours=False)
    again.ready()
    assert again.leave() == 0


def test_an_agent_that_is_not_trusted_leaves_without_touching_anything(world: World) -> None:
    running = world.start(home_is_ours=False)
    running.until(lambda: any(isinstance(signal, Blocked) for signal in ADAPTER.read(running.screen)))
    running.child.send("\r")
    running.child.expect(pexpect.EOF)
    running.child.close()

    assert running.child.exitstatus == 1
    assert not (world.directory / ".scripted-agent").exists()


@pytest.mark.contract("I3")
def test_a_prompt_with_modes_lines_and_marks_arrives_as_it_is(world: World) -> None:
    text = "/quit @file\n\t! # trailing;\n> | \n漢字 é — end"
    running = world.start()
    running.ready()
    running.prompt(prompts.repeat_exactly(text, opening="/exit @here"))
    running.until(lambda: any(isinstance(signal, TurnEnded) for signal in running.signals))
    assert running.leave() == 0

    assert running.signals[-1] == TurnEnded(TurnOutcome.COMPLETED, text, usage=ONE_REPLY)


def test_a_refusing_model_fails_the_turn_with_its_status(world: World) -> None:
    running = world.start(endpoint=replace(world.request.endpoint or ModelEndpoint("", ""), api_key="sk-wrong"))
    running.ready()
    running.prompt("hello")
    running.until(lambda: any("model error 401" in row for row in running.rows) and running.reads(Ready()))
    assert running.leave() == 0

    error = "model error 401: invalid api key"
    assert running.signals[-1] == TurnEnded(TurnOutcome.FAILED, error=error, cause=FailureCause.LOGIN)


def test_without_a_model_server_the_agent_echoes(world: World) -> None:
    running = world.start(endpoint=None)
    running.ready()
    running.prompt("hello there")
    running.until(lambda: "  ECHO: hello there" in running.screen.lines)
    assert running.leave() == 0


def test_without_a_bridge_the_agent_says_so_and_answers(world: World) -> None:
    running = world.start(bridge_command=("/does/not/exist",))
    running.ready()
    assert f"  {wording.READY_WITHOUT_TOOLS}" in running.screen.lines
    running.prompt(prompts.run_command("true"))
    running.until(lambda: f"  {prompts.NO_TOOL}" in running.screen.lines)
    assert running.leave() == 0


def test_events_without_a_command_are_told_by_the_transcript(world: World) -> None:
    running = world.start(event_command=())
    running.ready()
    running.prompt("hello")
    running.until(lambda: "  ECHO: hello" in running.screen.lines)
    assert running.leave() == 0
    lines = [json.dumps(entry) for entry in world.transcript()]

    assert [type(signal) for signal in ADAPTER.read_transcript(lines)] == [SessionIdentified, PromptAccepted, TurnEnded]


@pytest.mark.contract("S8", "B4")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_agent_and_its_bridge(world: World, number: signal.Signals) -> None:
    running = world.start()
    running.ready()
    bridge = subprocess.run(
        ["pgrep", "-P", str(running.child.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    running.child.kill(number)
    running.child.expect(pexpect.EOF)
    running.child.close()

    assert running.child.exitstatus == 128 + number
    assert bridge
    assert not any(Path(f"/proc/{pid}").exists() for pid in bridge)


@pytest.mark.parametrize("arguments", [[], ["--config"], ["--config", "/does/not/exist"]])
def test_a_wrong_command_line_is_one_line_and_status_2(arguments: list[str]) -> None:
    command = [sys.executable, "-I", "-m", "adapters.scripted_agent", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_the_version_is_printed_and_understood() -> None:
    command = [sys.executable, "-I", "-m", "adapters.scripted_agent", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert ADAPTER.parse_version(done.stdout) == "1.0"


@pytest.mark.contract("I1")
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_paste_through_tmux_arrives_as_one_draft(world: World, short_tmp: Path) -> None:
    socket, text = short_tmp / "t", "first line\n/second\n\n  last;"
    launch = ADAPTER.launch(world.request)
    launch.files[0].path.write_text(launch.files[0].text)

    def tmux(*arguments: str, stdin: str | None = None) -> str:
        command = ["tmux", "-u", "-S", str(socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout

    def captured() -> Screen:
        return Screen([row.rstrip() for row in tmux("capture-pane", "-p", "-J").splitlines()])

    def until(holds: Callable[[], object]) -> None:
        """Each look is a process of its own and takes its time; the test's limit bounds them."""
        while not holds():
            pass

    try:
        tmux("new-session", "-d", "-x", "120", "-y", "36", *launch.argv)
        until(lambda: list(ADAPTER.read(captured())) == [Ready()])
        tmux("load-buffer", "-b", "ours", "-", stdin=text)
        tmux("paste-buffer", "-b", "ours", "-p", "-r", "-d")
        until(lambda: (drawn := ADAPTER.composer(captured())) and drawn.draft == text)
        tmux("send-keys", "Enter")
        until(lambda: any("ECHO: first line" in row for row in captured().lines))
    finally:
        tmux("kill-server")
