"""Claude Code, the real program: a turn whose last hook nobody could take ends all the same, and ends no other."""

import time
from pathlib import Path

import pytest

from e2e.conftest import Model
from e2e.place import KEY, Place
from e2e.test_recovery import ask, show, turns
from mcp_agent.scenarios.prompts import remember_note

WRITTEN_WITHIN_SECONDS = 60
LAST_ROW = '"turn_duration"'

pytestmark = pytest.mark.real_cli


@pytest.mark.contract("S3", "S7", "I2")
def test_a_turn_whose_end_no_hook_could_tell_ends_with_its_answer_by_the_transcript(
    onboarded: Place, model: Model
) -> None:
    session = start(onboarded, model.url)
    model.go_down()
    assert onboarded.run("session", "send", session, remember_note("first")).status == 0
    assert onboarded.run("server", "stop").status == 0
    events = onboarded.state / "sessions" / session / "events"
    kept = events.rename(events.with_name("kept"))
    events.touch()
    model.come_up()
    until_written(onboarded.root / "home", LAST_ROW)
    events.unlink()
    kept.rename(events)

    (first,) = turns(show(onboarded, session))
    assert (first["outcome"], first["final_text"]) == ("completed", "ACK_first")
    assert ask(onboarded, session, remember_note("second")) == "ACK_second"
    assert [turn["final_text"] for turn in turns(show(onboarded, session))] == ["ACK_first", "ACK_second"]


def start(place: Place, model_url: str) -> str:
    endpoint = ("--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")
    started = place.run("session", "start", "-p", "claude-code", "--trust", *endpoint, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    return started.out.strip()


def until_written(home: Path, row: str) -> None:
    deadline_seconds = time.monotonic() + WRITTEN_WITHIN_SECONDS
    while not any(row in path.read_text() for path in home.glob(".claude/projects/*/*.jsonl")):
        assert time.monotonic() < deadline_seconds, "the transcript tells of no end"
        time.sleep(0.2)
