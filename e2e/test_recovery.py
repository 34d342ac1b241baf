"""A lost, exited or stopped session goes on with the provider's own conversation: a canary told before is known after.

The scripted model remembers nothing between requests, so that its answer proves what the conversation held.
"""

import json
import signal
from secrets import token_hex
from typing import cast

import psutil
import pytest

from e2e.place import KEY, Place
from e2e.test_crash import kill_server
from mcp_agent.scenarios.prompts import recall_note, remember_note

DIES_WITHIN_SECONDS = 20
KEY_VARIABLE = ("--model-key-variable", "LOOPBACK_KEY")

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("S7", "S9")]


@pytest.fixture
def canary() -> str:
    return f"canary-{token_hex(4)}"


@pytest.fixture
def session(onboarded: Place, model_url: str, canary: str) -> str:
    """A session that was told the canary."""
    options = ("-p", "claude-code", "--trust", "--model-endpoint", model_url, *KEY_VARIABLE)
    started = onboarded.run("session", "start", *options, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    session = started.out.strip()
    assert ask(onboarded, session, remember_note(canary)) == f"ACK_{canary}"
    return session


def test_a_prompt_resumes_the_conversation_of_a_killed_tmux_server(onboarded: Place, session: str, canary: str) -> None:
    before = show(onboarded, session)
    kill_tmux(onboarded)
    assert ask(onboarded, session, recall_note()) == canary
    after = show(onboarded, session)
    assert after["native_session_id"] == before["native_session_id"]
    assert [turn["final_text"] for turn in turns(after)] == [f"ACK_{canary}", canary]
    assert_nothing_left(onboarded)


def test_a_prompt_resumes_it_when_the_server_was_killed_too(onboarded: Place, session: str, canary: str) -> None:
    kill_server(onboarded)
    kill_tmux(onboarded)
    assert show(onboarded, session)["state"] == "lost"
    assert ask(onboarded, session, recall_note()) == canary
    assert_nothing_left(onboarded)


def test_a_killed_cli_is_resumed_by_name_and_a_stopped_session_by_its_key(
    onboarded: Place, session: str, canary: str
) -> None:
    pane = cast("dict[str, int]", show(onboarded, session)["pane"])
    psutil.Process(pane["pid"]).send_signal(signal.SIGKILL)
    assert ends(onboarded, session, "hello").startswith("exited (signal 9)")
    assert onboarded.run("session", "resume", session).status == 0
    assert ask(onboarded, session, recall_note()) == canary

    assert onboarded.run("session", "stop", session).status == 0
    assert ends(onboarded, session, "hello").startswith("stopped")
    refused = onboarded.run("session", "resume", session)
    assert (refused.status, "--model-key-variable" in refused.err) == (2, True)
    resumed = onboarded.run("session", "resume", session, *KEY_VARIABLE, LOOPBACK_KEY=KEY)
    assert resumed.status == 0, resumed.err
    assert ask(onboarded, session, recall_note()) == canary
    assert KEY not in (onboarded.state / "sessions" / session / "session.json").read_text(encoding="utf-8")
    assert_nothing_left(onboarded)


def test_a_new_session_goes_on_with_a_conversation_by_the_providers_own_id(
    onboarded: Place, session: str, canary: str, model_url: str
) -> None:
    native = str(show(onboarded, session)["native_session_id"])
    options = ("-p", "claude-code", "--trust", "--model-endpoint", model_url, *KEY_VARIABLE, "--resume", native)
    refused = onboarded.run("session", "start", *options, LOOPBACK_KEY=KEY)
    assert (refused.status, session in refused.err) == (2, True)
    assert onboarded.run("session", "stop", session).status == 0

    started = onboarded.run("session", "start", *options, LOOPBACK_KEY=KEY)

    assert started.status == 0, started.err
    again = started.out.strip()
    assert again != session
    assert ask(onboarded, again, recall_note()) == canary
    assert [turn["final_text"] for turn in turns(show(onboarded, again))] == [canary]
    assert_nothing_left(onboarded)


def test_a_conversation_that_is_gone_is_not_resumed_and_the_screen_says_why(onboarded: Place, session: str) -> None:
    native = str(show(onboarded, session)["native_session_id"])
    kill_tmux(onboarded)
    [transcript] = (onboarded.root / "home").rglob(f"{native}.jsonl")
    transcript.unlink()
    failed = onboarded.run("session", "send", session, "hello")
    assert failed.status == 1
    assert "left as it was" in failed.err
    assert "No conversation found" in failed.err
    assert show(onboarded, session)["state"] == "lost"
    assert_nothing_left(onboarded)


def ask(place: Place, session: str, prompt: str) -> str:
    done = place.run("session", "ask", session, prompt, "--deadline", "2m")
    assert done.status == 0, done.err
    return done.out.strip()


def ends(place: Place, session: str, prompt: str) -> str:
    """How a session is over, as a send is told."""
    refused = place.run("session", "send", session, prompt)
    assert refused.status == 1, refused.out
    return refused.err.partition(" is over: ")[2]


def show(place: Place, session: str) -> dict[str, object]:
    return place.run("session", "show", session, "--json").json


def turns(shown: dict[str, object]) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", shown["turns"])


def kill_tmux(place: Place) -> None:
    """Kill the private tmux server of this place, as `kill -9` does it."""
    record = json.loads((place.state / "run/tmux.sock.server").read_text(encoding="utf-8"))
    server = psutil.Process(record["pid"])
    assert str(place.state) in " ".join(server.cmdline())
    server.send_signal(signal.SIGKILL)
    server.wait(DIES_WITHIN_SECONDS)


def assert_nothing_left(place: Place) -> None:
    """What a CLI that was killed left in its own temporary directory is the provider's."""
    assert place.run("server", "stop", "--now").status == 0
    assert place.processes() == []
    assert [file for file in place.files() if not file.startswith("tmp/")] == []
