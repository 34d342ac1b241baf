"""What the extension tells, run by the real Node with a double in Pi's place that calls its handlers."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from adapters.pi_cli import ADAPTER
from mcp_agent.adapter import LaunchRequest

NODE = Path(sys.executable).with_name("node")
LONGEST_SECONDS = 60
RECORDER = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"
DOUBLE = """
import extension from "./extension.mjs";

const registered = { servers: {}, providers: {} };
const handlers = {};
let listener = () => undefined;
let editor = "";
const ui = {
  onTerminalInput: (heard) => ((listener = heard), () => (listener = () => undefined)),
  getEditorText: () => editor,
  setEditorText: (text) => (editor = text),
};
const sessionManager = { getSessionId: () => "2f7c", getSessionFile: () => "/h/s.jsonl" };
const pi = {
  on: (name, handler) => (handlers[name] = handler),
  registerMcpServer: (name, server) => (registered.servers[name] = server),
  registerProvider: (name, provider) => (registered.providers[name] = provider),
};
extension(pi);

const returned = [];
for (const [name, event] of JSON.parse(process.argv[2])) {
  if (name === "terminal") returned.push(listener(event) ?? null);
  else if (name === "editor") editor = event;
  else returned.push((await handlers[name](event, { ui, sessionManager, mode: "tui" })) ?? null);
}
await handlers.session_shutdown({}, {});
console.log(JSON.stringify({ registered, returned, editor }));
"""

Step = tuple[str, object]
Happened = tuple[list[dict[str, object]], dict[str, object]]
Run = Callable[[Sequence[Step]], Happened]

SESSION: Step = ("session_start", {})
SETTLED: Step = ("agent_settled", {"aborted": False})
ABORTED: Step = ("agent_settled", {"aborted": True})


def typed(text: str, behavior: str | None = None) -> Step:
    return "input", {"text": text, "source": "interactive", "streamingBehavior": behavior}


def begins(kind: str = "user") -> Step:
    return "before_agent_start", {"messageType": kind, "prompt": "expanded"}


def said(role: str, text: str, **facts: object) -> Step:
    usage = {"input": 4, "output": 5, "cacheRead": 3, "cacheWrite": 3, "cost": {"total": 0.5}}
    message = {"role": role, "content": [{"type": "text", "text": text}], "usage": usage, "stopReason": "stop", **facts}
    return "message_end", {"message": message}


@pytest.fixture
def run(tmp_path: Path, launch_request: LaunchRequest) -> Run:
    if not NODE.exists():
        pytest.skip("Node is not installed beside Python")
    log = tmp_path / "events"
    recorder = (sys.executable, "-I", "-c", RECORDER, str(log))
    (file,) = ADAPTER.launch(replace(launch_request, event_command=recorder)).files
    (tmp_path / "extension.mjs").write_text(file.text, encoding="utf-8")
    double = tmp_path / "double.mjs"
    double.write_text(DOUBLE, encoding="utf-8")

    def happened(steps: Sequence[Step]) -> Happened:
        command = [str(NODE), str(double), json.dumps(steps)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        told = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
        return told, cast("dict[str, object]", json.loads(done.stdout))

    return happened


def prompts(told: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(event["text"], event["queued"]) for event in told if event["event"] == "prompt"]


def test_it_registers_the_bridge_and_the_gateway(run: Run) -> None:
    _, after = run([SESSION])
    registered = cast("dict[str, dict[str, object]]", after["registered"])

    assert [*registered["servers"]] == ["api-bridge"]
    assert [*registered["providers"]] == ["gateway"]


@pytest.mark.contract("S3")
def test_a_turn_is_told_in_order_with_its_answer_and_all_that_it_cost(run: Run) -> None:
    told, _ = run([SESSION, typed("hello"), begins(), said("assistant", "first"), said("assistant", "second"), SETTLED])

    assert told == [
        {"event": "session_start", "session_id": "2f7c", "transcript": "/h/s.jsonl"},
        {"event": "prompt", "text": "hello", "queued": False},
        {
            "event": "settled",
            "aborted": False,
            "stop_reason": "stop",
            "error": None,
            "final_text": "second",
            "usage": {"input": 20, "output": 10, "cost": 1},
        },
    ]


@pytest.mark.contract("I2")
def test_a_prompt_that_is_refused_before_its_run_is_not_told(run: Run) -> None:
    told, _ = run([typed("no key for this model"), typed("hello"), begins(), SETTLED])

    assert prompts(told) == [("hello", False)]


@pytest.mark.contract("I4")
def test_live_input_is_told_as_queued_and_once(run: Run) -> None:
    live = typed("live", "steer")
    told, _ = run([typed("hello"), begins(), live, said("user", "live"), said("assistant", "both"), SETTLED])

    assert prompts(told) == [("hello", False), ("live", True)]


@pytest.mark.contract("I4")
def test_live_input_that_came_too_late_begins_a_turn_of_its_own(run: Run) -> None:
    told, _ = run([typed("hello"), begins(), typed("late", "steer"), SETTLED, begins(), SETTLED])

    assert prompts(told) == [("hello", False), ("late", True), ("late", False)]


def test_a_run_that_no_prompt_began_tells_of_none(run: Run) -> None:
    told, _ = run([typed("hello"), begins(), SETTLED, begins("custom"), SETTLED])

    assert prompts(told) == [("hello", False)]


def test_a_compaction_before_a_run_does_not_hold_its_prompt_back(run: Run) -> None:
    automatic, manual = (
        ("session_before_compact", {"reason": "threshold"}),
        ("session_before_compact", {"reason": "manual"}),
    )
    told, _ = run([typed("hello"), automatic, begins(), SETTLED, manual])

    assert prompts(told) == [("hello", False)]


@pytest.mark.contract("I4")
@pytest.mark.parametrize(
    ("draft", "left"), [("one\n\ntwo    tabs", ""), ("one\n\ntwo    tabs and more", "one\n\ntwo    tabs and more")]
)
def test_what_was_queued_ends_with_an_aborted_run_and_a_draft_stays(run: Run, draft: str, left: str) -> None:
    two: list[Step] = [("terminal", "\x1b[200~two\ttabs\x1b[201~"), typed("two    tabs", "steer")]
    _, after = run([SESSION, typed("hello"), begins(), typed("one", "steer"), *two, ("editor", draft), ABORTED])

    assert after["editor"] == left


@pytest.mark.contract("I3")
def test_tabs_and_line_ends_reach_the_model_as_they_were_pasted(run: Run) -> None:
    pasted: Step = ("terminal", "\x1b[200~\n a\tb\r\nc \x1b[201~")
    told, after = run([SESSION, pasted, typed("a    b\nc"), begins(), typed("a    b"), begins()])
    returned = cast("list[object]", after["returned"])

    assert returned[1:3] == [{"data": "\x1b[200~a\tb\r\nc \x1b[201~"}, {"action": "transform", "text": "a\tb\r\nc"}]
    assert prompts(told) == [("a\tb\r\nc", False), ("a    b", False)]
    assert returned[4] is None


def test_a_paste_into_a_draft_and_other_keys_are_left_alone(run: Run) -> None:
    _, after = run([SESSION, ("editor", "mine"), ("terminal", "\x1b[200~ x\x1b[201~"), ("terminal", "\x1b")])

    assert cast("list[object]", after["returned"])[1:] == [None, None]


def test_an_event_program_that_is_gone_disturbs_nothing(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "extension.mjs"
    file.write_text(file.read_text(encoding="utf-8").replace(sys.executable, "/nowhere/python"), encoding="utf-8")

    told, after = run([SESSION, typed("hello"), begins(), SETTLED])

    assert told == []
    assert after["returned"] == [None] * 4
