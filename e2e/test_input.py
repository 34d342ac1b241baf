"""What goes into a real CLI: messages that wait or steer, commands, and what the CLI itself has on record of them."""

import json
import time
from typing import cast

import pytest

from e2e.fifo import Fifo
from e2e.place import KEY, Place
from mcp_agent.scenarios.prompts import SHELL_TOOL, live_input, recall_note, remember_note, run_command

BOUND_SECONDS = 120

pytestmark = pytest.mark.real_cli


@pytest.fixture
def session(onboarded: Place, model_url: str) -> str:
    endpoint = ("--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")
    options = ("-p", "claude-code", "--trust", "--allow-tool", SHELL_TOOL, *endpoint)
    started = onboarded.run("session", "start", *options, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    return started.out.strip()


@pytest.mark.contract("I4", "I5")
def test_a_steer_lands_in_the_running_turn_and_queued_messages_each_in_one_of_their_own(
    onboarded: Place, session: str
) -> None:
    with Fifo.at(onboarded.root / "told") as told, Fifo.at(onboarded.root / "silence") as silence:
        command = f"exec 3<{silence.path}; echo runs >{told.path}; cat <&3; echo done"
        send(onboarded, session, run_command(command))
        assert told.lines(1) == ["runs"]
        for prompt in (remember_note("first"), recall_note()):
            assert send(onboarded, session, prompt, "--queue").startswith("waiting m-")
        assert send(onboarded, session, live_input("now"), "--steer").startswith("queued t-")
        assert [message["state"] for message in messages(onboarded, session)].count("waiting") == 2
        silence.close()
        answers = [turn["final_text"] for turn in settled_turns(onboarded, session, 3)]
    assert answers == ["OUTPUT done LIVE_now", "ACK_first", "first"]


@pytest.mark.contract("I5")
def test_the_clis_own_record_holds_each_queued_message_once_and_in_order(onboarded: Place, session: str) -> None:
    prompts = [f"message number {number}" for number in range(5)]
    for prompt in prompts:
        send(onboarded, session, prompt, "--queue")
    settled_turns(onboarded, session, 5)
    assert said_by_the_user(onboarded, session) == prompts


@pytest.mark.contract("I3")
def test_a_command_is_run_and_the_same_words_as_a_prompt_are_none(onboarded: Place, session: str) -> None:
    send(onboarded, session, remember_note("kept"))
    settled_turns(onboarded, session, 1)
    send(onboarded, session, "/clear is a word here")
    settled_turns(onboarded, session, 2)
    send(onboarded, session, recall_note())
    assert settled_turns(onboarded, session, 3)[-1]["final_text"] == "kept"

    ran = onboarded.run("session", "command", session, "/cost")
    assert (ran.status, ran.out) == (0, "executed\n")
    assert "Estimated cost" in onboarded.run("session", "screen", session).out


def send(place: Place, session: str, prompt: str, *options: str) -> str:
    sent = place.run("session", "send", session, prompt, *options)
    assert sent.status == 0, sent.err
    return sent.out


def messages(place: Place, session: str) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", place.run("session", "messages", session, "--json").json["messages"])


def settled_turns(place: Place, session: str, number: int) -> list[dict[str, object]]:
    """All turns, once there are so many and every one is over."""
    deadline = time.monotonic() + BOUND_SECONDS
    while True:
        shown = place.run("session", "show", session, "--json").json
        turns = cast("list[dict[str, object]]", shown["turns"])
        if len(turns) == number and all(turn["outcome"] for turn in turns):
            return turns
        assert time.monotonic() < deadline, turns
        time.sleep(0.2)


def said_by_the_user(place: Place, session: str) -> list[str]:
    """The prompts in the transcript of the CLI itself."""
    native = place.run("session", "show", session, "--json").json["native_session_id"]
    [transcript] = (place.root / "home").rglob(f"{native}.jsonl")
    rows = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    said = [row["message"]["content"] for row in rows if row.get("type") == "user" and not row.get("isMeta")]
    return [text if isinstance(text, str) else text[0]["text"] for text in said]
