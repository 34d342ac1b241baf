"""A publication that nobody waits for any more: the model is told the truth, repeats it, and it happens once."""

import json
import re
import time
from collections.abc import Callable
from typing import TypeVar, cast

import pytest

from e2e.bridges import Bridge
from e2e.conftest import Model
from e2e.fifo import Fifo
from e2e.place import KEY, ROOT, Place
from mcp_agent.scenarios.prompts import publish_once

HAPPENS_WITHIN_SECONDS = 60

TEXT = "Late editions, once only"
W3_FIELDS = {
    "timed_out",
    "outcome",
    "cancelled",
    "call_id",
    "tool",
    "layer",
    "waited_seconds",
    "limit_seconds",
    "message",
}

Json = dict[str, object]
FoundT = TypeVar("FoundT")


@pytest.mark.contract("A5", "W2", "W3", "W5", "W8", "W10")
@pytest.mark.parametrize(
    ("provider", "shows"), [("scripted", "text"), pytest.param("claude-code", "json", marks=pytest.mark.real_cli)]
)
def test_a_publication_of_unknown_outcome_that_is_repeated_at_once_happens_once(
    onboarded: Place, model: Model, provider: str, shows: str
) -> None:
    place = with_own_tool(onboarded)
    with Fifo.at(place.work / "confirmation") as press:
        session = start(place, model, provider)
        sent = place.run("session", "send", session, publish_once("publish", TEXT))
        assert sent.out.startswith("delivered"), sent.out + sent.err
        gated = eventually(lambda: next((call for call in calls(place) if call["gated_by"]), None))
        with Bridge.of(place, session) as bridge:
            before = bridge.ask("get_tool_call", call_id=gated["gated_by"]).structured or {}
            assert (before["why_ended"], before["happened"], before["late"]) == ("tool_wait", "unknown", False)
            press.say("printed")
            bridge.ask("wait_tool_call", call_id=gated["gated_by"])
            after = bridge.ask("get_tool_call", call_id=gated["gated_by"]).structured or {}
            assert (after["why_ended"], after["happened"], after["late"]) == ("tool_wait", "succeeded", True)
            assert after["detail"] == f"{TEXT}: printed"
    assert eventually(lambda: last_answer(place, session)) == "PUBLISHED succeeded"
    assert (place.work / "published.txt").read_text(encoding="utf-8") == f"{TEXT}\n"
    assert [call["happened"] for call in calls(place) if call["tool"] == "publish"] == ["succeeded", "not_started"]
    unknown, repeated, waited = model.tool_results()
    assert_unknown(unknown, call_id=str(gated["gated_by"]))
    if shows == "json":
        assert_w3(json.loads(unknown), call_id=str(gated["gated_by"]))
    assert "This call was NOT run." in repeated
    assert json.loads(waited)["happened"] == "succeeded"
    assert place.run("session", "stop", session).status == 0
    assert place.run("server", "stop").status == 0
    assert (place.processes(), place.files()) == ([], [])


def with_own_tool(place: Place) -> Place:
    """The user has a tool in a directory of their own, and says so."""
    configuration = place.root / "home/.config/mcp-agent"
    configuration.mkdir(parents=True)
    (configuration / "config.toml").write_text(
        f'[tools]\nmodules = ["publisher"]\npaths = ["{ROOT}/e2e/publisher"]\n', encoding="utf-8"
    )
    return place


def start(place: Place, model: Model, provider: str) -> str:
    endpoint = ("--model-endpoint", model.url, "--model-key-variable", "LOOPBACK_KEY")
    tools = ("--trust", "--allow-tool", "publish")
    done = place.run("session", "start", "-p", provider, *tools, *endpoint, LOOPBACK_KEY=KEY)
    assert done.status == 0, done.err
    return done.out.strip()


def assert_unknown(told: str, *, call_id: str) -> None:
    assert "TIMEOUT: layer=tool_wait owner=watchdog tool=publish session=" in told
    assert f"get_tool_call(call_id='{call_id}')" in told
    assert "NOT cancelled" in told
    assert not re.search("error|fail", told, re.IGNORECASE)


def assert_w3(told: Json, *, call_id: str) -> None:
    assert set(told) == W3_FIELDS
    assert (told["timed_out"], told["outcome"], told["cancelled"]) == (True, "unknown", False)
    assert (told["call_id"], told["tool"], told["layer"]) == (call_id, "publish", "tool_wait")


def calls(place: Place) -> list[Json]:
    return cast("list[Json]", place.run("calls", "list", "--json").json["calls"])


def last_answer(place: Place, session: str) -> object:
    turns = cast("list[Json]", place.run("session", "show", session, "--json").json["turns"])
    return turns[-1]["final_text"]


def eventually(look: Callable[[], FoundT | None]) -> FoundT:
    """What a look finds, once it finds something; each look runs a command."""
    deadline = time.monotonic() + HAPPENS_WITHIN_SECONDS
    while (found := look()) is None:
        assert time.monotonic() < deadline, "it never happened"
    return found
