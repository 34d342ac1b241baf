"""However a session ends in the middle of `sleep 600`, nothing of it is left."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pexpect
import psutil
import pytest

from e2e.place import KEY, Place
from mcp_agent.scenarios.prompts import run_command

STARTS_WITHIN_SECONDS = 60
ALLOWED = ("--trust", "--allow-tool", "execute_shell_command")

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("C2", "C3", "C5", "S5", "S8")]


def endpoint(model_url: str) -> tuple[str, ...]:
    return ("--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")


def start(place: Place, model_url: str) -> str:
    """A session in the user's own home, whose trust dialog is answered by its label."""
    done = place.run("session", "start", "-p", "claude-code", *ALLOWED, *endpoint(model_url), LOOPBACK_KEY=KEY)
    assert done.status == 0, done.err
    return done.out.strip()


def sleep_prompt(fifo: Path) -> str:
    """Asks for a shell call that tells its pid and then sleeps for ten minutes."""
    return run_command(f"echo $$ > {fifo}; exec sleep 600")


class Told:
    """A pipe with a name, through which the command under test says that it runs."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR)

    def pid(self) -> psutil.Process:
        """The process that told its pid. Raises when none did in time."""
        readable, _, _ = select.select([self._descriptor], [], [], STARTS_WITHIN_SECONDS)
        assert readable, "the command was never started"
        return psutil.Process(int(os.read(self._descriptor, 32)))


@pytest.fixture
def told(onboarded: Place) -> Told:
    return Told(onboarded.root / "told")


def bridge_of(place: Place) -> psutil.Process:
    for process in psutil.process_iter():
        try:
            if any("mcpbridge.py" in part for part in process.cmdline()) and str(place.root) in str(process.cmdline()):
                return process
        except psutil.Error:
            continue
    raise AssertionError("no bridge runs")


def assert_nothing_left(place: Place) -> None:
    assert place.run("server", "stop").status == 0
    assert place.processes() == []
    assert place.files() == []


def test_a_killed_bridge_takes_its_call_with_it_and_a_stop_takes_the_rest(
    onboarded: Place, model_url: str, told: Told
) -> None:
    session = start(onboarded, model_url)
    assert onboarded.run("session", "send", session, sleep_prompt(told.path)).out.startswith("delivered")
    command = told.pid()
    bridge_of(onboarded).send_signal(signal.SIGKILL)
    command.wait(timeout=30)
    calls = cast("list[dict[str, object]]", onboarded.run("session", "show", session, "--json").json["calls"])
    assert [(call["why_ended"], call["happened"]) for call in calls] == [("cancel", "cancelled")]
    assert onboarded.run("session", "stop", session).status == 0
    assert_nothing_left(onboarded)


def test_stopping_the_session_cancels_its_call_first(onboarded: Place, model_url: str, told: Told) -> None:
    session = start(onboarded, model_url)
    onboarded.run("session", "send", session, sleep_prompt(told.path))
    told.pid()
    (stopped,) = onboarded.run("session", "stop", session, "--json").list_of("sessions")
    assert stopped["cancelled_calls"] == 1
    assert_nothing_left(onboarded)


@contextmanager
def typed_ask(place: Place, model_url: str, prompt: str) -> Iterator["pexpect.spawn[str]"]:
    child = pexpect.spawn(
        "mcp-agent",
        ["ask", "-p", "claude-code", *ALLOWED, *endpoint(model_url), prompt],
        cwd=str(place.work),
        env={**place.environment, "LOOPBACK_KEY": KEY},
        encoding="utf-8",
        timeout=60,
    )
    try:
        yield child
    finally:
        child.close(force=True)


def test_control_c_typed_while_ask_waits_stops_everything(onboarded: Place, model_url: str, told: Told) -> None:
    with typed_ask(onboarded, model_url, sleep_prompt(told.path)) as child:
        told.pid()
        child.sendintr()
        child.expect(pexpect.EOF)
        shown = str(child.before)
        child.wait()
        assert child.exitstatus == 130, shown
    assert "Traceback" not in shown
    assert_nothing_left(onboarded)


def test_an_untrusted_directory_blocks_the_session_and_says_what_to_do(onboarded: Place, model_url: str) -> None:
    done = onboarded.run("ask", "-p", "claude-code", *endpoint(model_url), "hello", LOOPBACK_KEY=KEY)
    assert done.status == 1
    assert "--trust" in done.err
    assert_nothing_left(onboarded)
    assert not list(Path(onboarded.work).iterdir())
