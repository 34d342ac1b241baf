"""Prompt after prompt into one real CLI: each arrives once, and neither live input nor an interrupt spoils the next."""

from __future__ import annotations

import time
from secrets import token_hex
from typing import TYPE_CHECKING, cast

import pytest

from e2e.fifo import Fifo
from e2e.place import KEY, Place
from mcp_agent.scenarios.prompts import SHELL_TOOL, live_input, run_command

if TYPE_CHECKING:
    from e2e.conftest import Model

BOUND_SECONDS = 120

Turns = list[dict[str, object]]

pytestmark = pytest.mark.real_cli


@pytest.fixture
def session(onboarded: Place, model_url: str) -> str:
    endpoint = ("--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")
    options = ("-p", "claude-code", "--trust", "--allow-tool", SHELL_TOOL, *endpoint)
    started = onboarded.run("session", "start", *options, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    return started.out.strip()


@pytest.mark.contract("I1", "I2")
def test_ten_prompts_in_a_row_are_delivered_and_reach_the_model_once(
    onboarded: Place, session: str, model: Model
) -> None:
    send_in_a_row(onboarded, session, model, 10)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.contract("I1", "I2")
def test_two_hundred_prompts_in_a_row_are_delivered_and_reach_the_model_once(
    onboarded: Place, session: str, model: Model
) -> None:
    send_in_a_row(onboarded, session, model, 200)


def send_in_a_row(place: Place, session: str, model: Model, count: int) -> None:
    prompts = [f"word {number:03} {token_hex(4)}" for number in range(count)]
    for number, prompt in enumerate(prompts, start=1):
        assert send(place, session, prompt).startswith("delivered t-")
        assert settled_turns(place, session, number)[-1]["final_text"] == f"ECHO: {prompt}"
    said = model.said()
    longest = max(said, key=len)
    in_the_end = "\n".join(longest)
    assert [in_the_end.count(prompt) for prompt in prompts] == [1] * count
    assert [sum(texts[-1:] == [prompt] for texts in said) for prompt in prompts] == [1] * count


@pytest.mark.contract("I4")
def test_live_input_reaches_the_model_with_the_result_of_the_call_that_it_came_during(
    onboarded: Place, session: str, model: Model
) -> None:
    with Fifo.at(onboarded.root / "told") as told, Fifo.at(onboarded.root / "silence") as silence:
        send(onboarded, session, run_command(f"exec 3<{silence.path}; echo runs >{told.path}; cat <&3; echo done"))
        assert told.lines(1) == ["runs"]
        assert send(onboarded, session, live_input("now")).startswith("queued t-")
        assert not any("LIVE_now" in text for texts in model.said() for text in texts)
        silence.close()
        [turn] = settled_turns(onboarded, session, 1)
    assert (turn["outcome"], turn["final_text"]) == ("completed", "OUTPUT done LIVE_now")
    assert sum("LIVE_now" in text for text in model.said()[-1]) == 1


@pytest.mark.contract("I4", "W4")
def test_an_interrupt_ends_a_running_call_and_the_session_goes_on(onboarded: Place, session: str) -> None:
    with Fifo.at(onboarded.root / "told") as told:
        for number in (1, 3):
            send(onboarded, session, run_command(f"echo runs >{told.path}; exec sleep 600"))
            assert told.lines(1) == ["runs"]
            interrupted = onboarded.run("session", "interrupt", session)
            assert interrupted.status == 0, interrupted.err
            assert settled_turns(onboarded, session, number)[-1]["outcome"] == "interrupted"
            assert send(onboarded, session, f"hello {number}").startswith("delivered t-")
            assert settled_turns(onboarded, session, number + 1)[-1]["final_text"] == f"ECHO: hello {number}"
    calls = cast("list[dict[str, object]]", onboarded.run("session", "show", session, "--json").json["calls"])
    assert [(call["why_ended"], call["happened"]) for call in calls] == [("cancel", "cancelled")] * 2


def send(place: Place, session: str, prompt: str) -> str:
    sent = place.run("session", "send", session, prompt)
    assert sent.status == 0, sent.err
    return sent.out


def settled_turns(place: Place, session: str, number: int) -> Turns:
    """All turns, once there are so many and every one is over."""
    deadline = time.monotonic() + BOUND_SECONDS
    while True:
        turns = cast("Turns", place.run("session", "show", session, "--json").json["turns"])
        if len(turns) == number and all(turn["outcome"] for turn in turns):
            return turns
        assert time.monotonic() < deadline, turns
        time.sleep(0.1)
