"""A run with everything in it: one provider that passed, one that failed, one that an emulator plays, one not run."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mcp_agent.scenarios.report.record import Call, Event, Frame, Limit, Probe, ProviderRun, Run, Shot
from mcp_agent.scenarios.results import Result
from tests.scenarios.report.chromium import Chromium

APT = {"DEBIAN_FRONTEND": "noninteractive"}
APT_INSTALL = [
    *("apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"),
    *("chromium", "fonts-dejavu-core"),
]

FAKE_KEY = "sk-fake-3f9a1c77b2e84d10"
SESSION_TOKEN = "Zt4vQ8mX1LpR7sYw2NcK9hBd"
OWNER_TOKEN = "o7Hq2Wn5Jx8Vb3Tz6Mf1Ls4P"
SECRETS = (FAKE_KEY, SESSION_TOKEN, OWNER_TOKEN)

RULE = "\x1b[38;5;244m" + "─" * 120 + "\x1b[0m"
LINES = (
    " \x1b[38;2;215;119;87m▐▛███▜▌\x1b[0m   \x1b[1mAn agent\x1b[0m \x1b[38;5;246mv2.1.332\x1b[0m",
    "\x1b[38;2;215;119;87m▝▜█████▛▘\x1b[0m  \x1b[38;5;246mscripted-model · a model on loopback\x1b[0m",
    "  \x1b[38;2;215;119;87m▘▘ ▝▝\x1b[0m    \x1b[38;5;246m/tmp/mcp-agent-e2e-x1/work\x1b[0m",
    "",
    "\x1b[48;5;237m❯ Use the execute_shell_command tool of the api-bridge server once, in the foreground, run\x1b[0m",
    "\x1b[48;5;237m  exactly this command: sleep 20 && echo SLEEP-7cc275ae\x1b[0m",
    "",
    '\x1b[38;5;114m●\x1b[0m \x1b[1mapi-bridge\x1b[0m - execute_shell_command (MCP)(command: \x1b[2m"sleep 20"\x1b[0m)',
    "  ⎿  \x1b[31mTIMEOUT: layer=tool_wait limit=45s\x1b[39m waited 45.0 s",
    "",
    "\x1b[38;5;174m✻\x1b[0m \x1b[38;5;174mThinking… 日本語 ✔\x1b[0m \x1b[2m(esc to interrupt · 45s)\x1b[0m",
    "",
    RULE,
    '❯ \x1b[7m \x1b[0m\x1b[2mTry "explain this"\x1b[0m',
    RULE,
    "  \x1b[4mshortcuts\x1b[24m  \x1b[3;9mold\x1b[0m",
    *[""] * 20,
)


def frame(at_seconds: float, *lines: str) -> Frame:
    return Frame(at_seconds, 120, 36, lines or LINES, title="agent")


def passed(name: str, at_seconds: float) -> Probe:
    events = (
        Event(at_seconds + 0.1, "prompt", "Remember this note for later"),
        Event(at_seconds + 0.8, "answer", "ACK"),
    )
    shots = (Shot("at its end", frame(at_seconds + 1)),)
    return Probe(
        name,
        Result.PASSED,
        None,
        at_seconds,
        1.2,
        proves="A turn without tools; the note comes back in a later probe.",
        evidence={"turn": "t-7f87497c30", "answer": "ACK_NOTE-7cc275ae"},
        events=events,
        shots=shots,
    )


def failed(at_seconds: float) -> Probe:
    call = Call(
        "call_5daa52b0fc67cc747ac1",
        "execute_shell_command",
        '{"command": "sleep 20 && echo SLEEP-7cc275ae"}',
        at_seconds + 1.5,
        at_seconds + 46.5,
        "tool_wait",
        "unknown",
        limits=(Limit("tool_wait", 45.0), Limit("server_tool", 5400.0)),
    )
    return Probe(
        "silent sleep",
        Result.FAILED,
        "the wait for the tool ended by tool_wait",
        at_seconds,
        47.3,
        proves="A tool call that prints nothing for a long time ends with its result, in the same turn.",
        expected="the wait for the tool ends by its result",
        seen="the wait ended by tool_wait after 45.0 s; what became of the work is unknown",
        layer="tool_wait, 45 s",
        evidence={"turn": "t-cfb5bd3144", "screen": ["left out"]},
        events=(Event(at_seconds + 0.2, "prompt", "Use the execute_shell_command tool"),),
        calls=(call,),
        shots=(Shot("when the call began", frame(at_seconds + 2)), Shot("when it failed", frame(at_seconds + 47))),
    )


def not_run(name: str) -> Probe:
    return Probe(name, Result.NOT_RUN, "silent sleep did not pass", 0.0, 0.0, proves="The session remembers.")


@pytest.fixture
def run() -> Run:
    good = (passed("launch and provider proof", 0.0), passed("note canary", 1.2))
    bad = (passed("launch and provider proof", 0.0), failed(1.2), not_run("final answer from the retained session"))
    limits = (Limit("prompt_ready", 30.0, "default"), Limit("tool_wait", 45.0, "client ceiling"), Limit("turn", None))
    return Run(
        "coding-agent-chat-e2e",
        "mcp-agent test coding-agent-chat-e2e --provider all --model-server scripted --report out",
        datetime(2026, 11, 30, 3, 12, 5, tzinfo=UTC),
        (
            ProviderRun(
                "agent-one", "2.1.332", "scripted", Result.PASSED, 0, good, None, 2.4, (frame(0.5), frame(2.0)), limits
            ),
            ProviderRun("agent-two", "0.171.0", "scripted", Result.FAILED, 1, bad, None, 49.0, (frame(1.0),), limits),
            ProviderRun("agent-three", "2026.10.01-emulator", "scripted", Result.PASSED, 0, good, None, 2.4),
            ProviderRun(
                "agent-four", None, "real", Result.NOT_RUN, 3, (), "no credentials: none of FOUR_API_KEY is set"
            ),
        ),
    )


@pytest.fixture
def leaky(run: Run) -> Run:
    """The same run with a secret in every kind of text, whole and broken over lines and styles."""
    broken = (f"token {OWNER_TOKEN[:12]}", f"{OWNER_TOKEN[12:]} ends", f"\x1b[1m{FAKE_KEY[:9]}\x1b[0m{FAKE_KEY[9:]}")
    told = " ".join(SECRETS)
    call = Call("call_1", told, told, 0.1, 0.2, told, told, told, (Limit(told, 1.0, told),))
    shot = Shot(told, Frame(0.3, 80, 24, broken, told))
    probe = Probe(
        told, Result.FAILED, told, 0.0, 1.0, told, told, told, told, {told: [told, {"deep": told}]},
        (Event(0.1, told, told),), (call,), (shot,),
    )  # fmt: skip
    provider = ProviderRun("agent", told, "scripted", Result.FAILED, 1, (probe,), told, 1.0, (shot.frame,))
    return Run(run.scenario, told, run.began_at, (provider,))


def _chromium() -> str | None:
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


def _install_chromium() -> str:
    """Why there is none, or nothing. Workers that run side by side wait for each other."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "no Chromium here, and installing it takes root and apt-get: apt-get install chromium"
    with Path(tempfile.gettempdir(), "mcp-agent-tests-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for arguments in (APT_INSTALL, ["apt-get", "update"], APT_INSTALL):
            if _chromium() is not None:
                return ""
            done = subprocess.run(arguments, env=os.environ | APT, capture_output=True, text=True, check=False)
    return "" if _chromium() else f"Chromium could not be installed: {done.stderr.strip().splitlines()[-1:]}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    """Headless Chromium, installed when it is missing and that is possible."""
    why_not = "" if _chromium() else _install_chromium()
    program = _chromium()
    if program is None:
        pytest.skip(why_not)
    with tempfile.TemporaryDirectory(prefix="ma-chromium-", ignore_cleanup_errors=True) as profile:
        chromium = Chromium(program, Path(profile))
        yield chromium
        chromium.close()
