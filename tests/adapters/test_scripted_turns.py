"""Turns, transcript and interface of the scripted agent's program, without a terminal."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from adapters.scripted_agent import wording
from adapters.scripted_agent.interface import Interface
from adapters.scripted_agent.keys import Key, Pasted, Typed
from adapters.scripted_agent.model import Answer, CallRequest, Tokens, Tools
from adapters.scripted_agent.quirks import Quirks, Record
from adapters.scripted_agent.runner import CALL_INTERRUPTED, REFUSED, Phase, Runner
from adapters.scripted_agent.transcript import LOST_RESULT, Entry, Transcript

TOOLS: Tools = [{"name": "execute_shell_command"}]
CALL = CallRequest("c1", "execute_shell_command", {"command": "ls"})


@dataclass
class Recorder:
    """Ports that only note what they were asked for."""

    thoughts: list[tuple[int, Sequence[Entry], Tools]] = field(default_factory=list)
    calls: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    events: list[Mapping[str, object]] = field(default_factory=list)

    def think(self, request: int, entries: Sequence[Entry], tools: Tools) -> None:
        self.thoughts.append((request, entries, tools))

    def call(self, tool: str, arguments: Mapping[str, object]) -> int:
        self.calls.append((tool, arguments))
        return len(self.calls)

    def cancel(self, call: int) -> None:
        self.cancelled.append(call)

    def emit(self, event: Mapping[str, object]) -> None:
        self.events.append(event)

    @property
    def outcomes(self) -> list[object]:
        return [event["outcome"] for event in self.events if event["event"] == "turn_end"]

    @property
    def request(self) -> int:
        return self.thoughts[-1][0]


@pytest.fixture
def ports() -> Recorder:
    return Recorder()


@pytest.fixture
def runner(ports: Recorder, tmp_path: Path) -> Runner:
    """A runner whose bridge is up and whose tools need no permission."""
    made = Runner(ports, Transcript.open(tmp_path / "t.jsonl", resume=False), lambda tool: tool != "guarded")
    made.tools_known(TOOLS)
    return made


def calling(runner: Runner, ports: Recorder) -> None:
    """Brings the runner into a tool call."""
    runner.submit("run it")
    runner.replied(ports.request, CALL)
    assert runner.phase is Phase.CALLING


def kinds(runner: Runner) -> list[object]:
    return [entry["type"] for entry in runner.transcript.entries]


def test_a_turn_has_one_beginning_and_one_end(runner: Runner, ports: Recorder) -> None:
    runner.submit("hello")
    runner.replied(ports.request, Answer("hi"))
    runner.replied(ports.request, Answer("hi again"))

    assert [event["event"] for event in ports.events] == ["prompt_accepted", "turn_end"]
    assert ports.events[1] == {
        "event": "turn_end",
        "turn": 1,
        "outcome": "completed",
        "final_text": "hi",
        "error": None,
    }
    assert kinds(runner) == ["user", "assistant", "turn_end"]


def test_a_turn_tells_what_its_replies_cost_together_and_begins_from_nothing(runner: Runner, ports: Recorder) -> None:
    for _ in range(2):
        runner.submit("run it")
        runner.replied(ports.request, CallRequest("c1", "execute_shell_command", {}, Tokens(10, 5)))
        runner.answered(len(ports.calls), "the result")
        runner.replied(ports.request, Answer("done", Tokens(20, 1)))

    assert [event["usage"] for event in ports.events if event["event"] == "turn_end"] == [
        {"input_tokens": 30, "output_tokens": 6}
    ] * 2


@pytest.mark.contract("I4")
def test_live_input_goes_to_the_model_with_the_result_in_the_same_turn(runner: Runner, ports: Recorder) -> None:
    calling(runner, ports)
    runner.submit("also this")
    assert runner.queued == ["also this"]
    runner.answered(1, "the result")

    assert [entry["type"] for entry in ports.thoughts[-1][1]] == ["user", "tool_call", "tool_result", "user"]
    runner.replied(ports.request, Answer("both"))
    accepted = [(event["text"], event["queued"]) for event in ports.events if event["event"] == "prompt_accepted"]
    assert accepted == [("run it", False), ("also this", True)]
    assert ports.outcomes == ["completed"]


def test_input_during_the_last_answer_extends_the_turn(runner: Runner, ports: Recorder) -> None:
    runner.submit("one")
    runner.submit("two")
    runner.replied(ports.request, Answer("first"))
    runner.replied(ports.request, Answer("second"))

    assert ports.outcomes == ["completed"]
    assert ports.events[-1]["final_text"] == "first\nsecond"


@pytest.mark.contract("C2")
def test_an_interrupt_cancels_the_call_and_drops_its_answer(runner: Runner, ports: Recorder) -> None:
    calling(runner, ports)
    runner.interrupt()
    runner.answered(1, "too late")

    assert ports.cancelled == [1]
    assert kinds(runner) == ["user", "tool_call", "tool_result", "interrupted", "turn_end"]
    assert runner.transcript.entries[2]["text"] == CALL_INTERRUPTED
    assert ports.outcomes == ["interrupted"]


def test_prompts_held_by_an_interrupted_turn_start_the_next(runner: Runner, ports: Recorder) -> None:
    calling(runner, ports)
    runner.submit("next")
    runner.interrupt()

    assert runner.phase is Phase.THINKING
    assert [event["event"] for event in ports.events][-2:] == ["turn_end", "prompt_accepted"]
    assert ports.events[-1]["queued"] is False


def test_an_interrupt_while_idle_does_nothing(runner: Runner, ports: Recorder) -> None:
    runner.interrupt()

    assert (ports.events, kinds(runner)) == ([], [])


def test_a_reply_to_an_interrupted_turn_is_dropped(runner: Runner, ports: Recorder) -> None:
    runner.submit("one")
    stale = ports.request
    runner.interrupt()
    runner.submit("two")
    runner.replied(stale, Answer("answer to one"))
    runner.failed(stale, "nor this")

    assert runner.phase is Phase.THINKING
    assert ports.outcomes == ["interrupted"]


def test_a_model_that_fails_ends_the_turn_as_failed(runner: Runner, ports: Recorder) -> None:
    runner.submit("one")
    runner.failed(ports.request, "model error 500: no")

    assert ports.outcomes == ["failed"]
    assert ports.events[-1]["error"] == "model error 500: no"


@pytest.mark.contract("A5")
@pytest.mark.parametrize("allowed", [True, False])
def test_a_guarded_tool_is_called_only_with_permission(runner: Runner, ports: Recorder, allowed: bool) -> None:
    runner.submit("one")
    runner.replied(ports.request, CallRequest("c1", "guarded", {}))
    assert (runner.phase, ports.calls) == (Phase.ASKING, [])

    runner.permitted(allowed=allowed)
    assert [call[0] for call in ports.calls] == (["guarded"] if allowed else [])
    assert (runner.transcript.entries[-1].get("text") == REFUSED) is not allowed


def test_a_silent_call_is_cancelled_and_reported(runner: Runner, ports: Recorder) -> None:
    calling(runner, ports)
    runner.timed_out(1, "timed out")

    assert ports.cancelled == [1]
    assert (runner.phase, ports.thoughts[-1][1][-1]["text"]) == (Phase.THINKING, "timed out")


def test_a_bridge_that_ends_does_not_hang_the_turn(runner: Runner, ports: Recorder) -> None:
    calling(runner, ports)
    runner.tools_gone()

    assert runner.phase is Phase.THINKING
    assert "unknown" in str(runner.transcript.entries[-1]["text"])


def test_prompts_wait_for_the_bridge(ports: Recorder, tmp_path: Path) -> None:
    runner = Runner(ports, Transcript.open(tmp_path / "t.jsonl", resume=False), lambda _: True)
    runner.submit("early")
    assert ports.thoughts == []

    runner.tools_known(TOOLS)
    assert ports.thoughts[0][2] == TOOLS


# --- the transcript ---------------------------------------------------------------------------------------------------


@pytest.mark.contract("S7")
def test_a_resumed_conversation_goes_on_where_it_ended(runner: Runner, ports: Recorder) -> None:
    runner.submit("one")
    runner.replied(ports.request, Answer("first"))
    again = Runner(ports, Transcript.open(runner.transcript.path, resume=True), lambda _: True)
    again.tools_known(TOOLS)
    again.submit("two")

    assert [entry.get("text") for entry in ports.thoughts[-1][1]] == ["one", "first", None, "two"]
    assert ports.events[-1]["turn"] == 2


def test_a_call_that_a_crash_cut_off_is_closed_on_resume(runner: Runner, ports: Recorder) -> None:
    calling(runner, ports)
    with runner.transcript.path.open("a") as file:
        file.write('{"type": "half')
    resumed = Transcript.open(runner.transcript.path, resume=True)

    assert [entry["type"] for entry in resumed.entries][-3:] == ["tool_result", "interrupted", "turn_end"]
    assert resumed.entries[-3]["text"] == LOST_RESULT


@pytest.mark.contract("A4")
def test_the_transcript_is_readable_by_its_owner_only(runner: Runner) -> None:
    runner.submit("one")

    assert runner.transcript.path.stat().st_mode & 0o777 == 0o600
    assert json.loads(runner.transcript.path.read_text())["text"] == "one"


# --- the interface ----------------------------------------------------------------------------------------------------


@pytest.fixture
def interface(runner: Runner) -> Interface:
    return Interface(runner, Quirks(), Record(None))


def test_enter_submits_the_draft_and_empties_it(interface: Interface, ports: Recorder) -> None:
    for press in (Pasted("two\nlines"), Typed("!"), Key.BACKSPACE, Key.ENTER):
        interface.press(press)

    assert (ports.events[0]["text"], interface.view().draft) == ("two\nlines", "")
    assert interface.view().footer == wording.WORKING


def test_blank_drafts_are_not_submitted(interface: Interface, ports: Recorder) -> None:
    for press in (Typed("  "), Key.ENTER):
        interface.press(press)

    assert ports.events == []


def test_two_breaks_leave_and_one_does_not(interface: Interface) -> None:
    interface.press(Key.BREAK)
    assert (interface.is_over, interface.view().footer) == (False, wording.LEAVING)
    interface.press(Typed("x"))
    interface.press(Key.BREAK)
    assert (interface.is_over, interface.view().draft) == (False, "")
    interface.press(Key.BREAK)
    interface.press(Key.BREAK)
    assert interface.is_over


def test_an_end_of_input_leaves_only_without_a_draft(interface: Interface) -> None:
    interface.press(Typed("x"))
    interface.press(Key.END)
    assert not interface.is_over
    interface.press(Key.CLEAR)
    interface.press(Key.END)
    assert interface.is_over


def test_a_permission_is_refused_by_its_label(interface: Interface, runner: Runner, ports: Recorder) -> None:
    runner.submit("one")
    runner.replied(ports.request, CallRequest("c1", "guarded", {}))
    for press in (Typed("ignored"), Key.DOWN):
        interface.press(press)
    choice = interface.view().choice
    assert choice is not None
    assert choice.options[choice.selected] == wording.PERMISSION_NO

    interface.press(Key.ENTER)
    assert (ports.calls, interface.view().draft) == ([], "")
