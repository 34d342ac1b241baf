"""A model whose tools are called by a program: the calls stand in it, and one that runs on is waited for."""

import json
from collections.abc import Mapping

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model.brain import answer
from mcp_agent.scenarios.model.conversation import CallTool, Conversation, Text
from mcp_agent.scenarios.model.responses import ResponsesDialect

PROMPT = prompts.run_command("echo hi")
TOOLS = [
    {
        "type": "namespace",
        "name": "functions",
        "tools": [
            {"type": "custom", "name": "exec", "description": "`ALL_TOOLS`: metadata for the nested tools"},
            {"type": "function", "name": "wait"},
        ],
    }
]
DIALECT = ResponsesDialect()
REPORT = json.dumps({"stdout": "hi\n", "ended": "exited"})


def parsed(*entries: Mapping[str, object]) -> Conversation:
    more = {"type": "additional_tools", "role": "developer", "tools": TOOLS}
    return DIALECT.parse({"input": [more, {"type": "message", "role": "user", "content": PROMPT}, *entries]})


def output(call_id: str, text: str, kind: str = "custom_tool_call") -> dict[str, object]:
    parts = [{"type": "input_text", "text": part} for part in text.split("|")]
    return {"type": f"{kind}_output", "call_id": call_id, "output": parts}


def program() -> dict[str, object]:
    """The item that the model's first reply is."""
    (item,) = json.loads(json.dumps(DIALECT.document(answer(parsed()), model="m")))["output"]
    assert isinstance(item, dict)
    return item


def wait_for(cell: str, call_id: str) -> dict[str, object]:
    return {"type": "function_call", "name": "wait", "call_id": call_id, "arguments": json.dumps({"cell_id": cell})}


def test_a_tool_behind_a_program_is_called_by_one() -> None:
    item = program()

    assert (item["type"], item["name"]) == ("custom_tool_call", "exec")
    assert '{"tool": "execute_shell_command", "arguments": {"command": "echo hi"}}' in str(item["input"])
    names = [event.name for event in DIALECT.events(answer(parsed()), model="m")]
    assert "response.custom_tool_call_input.done" in names


def test_what_the_program_printed_is_the_calls_result() -> None:
    item = program()
    done = output(str(item["call_id"]), f"Script completed\nWall time 0.1 seconds\nOutput:\n|{REPORT}")

    assert answer(parsed(item, done)) == Text("OUTPUT hi")


def test_a_program_that_runs_on_is_waited_for_until_its_last_word() -> None:
    item = program()
    running = output(str(item["call_id"]), "Script running with cell ID 2\nWall time 0.5 seconds\nOutput:\n")
    live = {"type": "message", "role": "user", "content": prompts.live_input("x")}
    reply = answer(parsed(item, running, live))

    assert isinstance(reply, CallTool)
    assert (reply.tool.name, reply.tool.namespace, reply.arguments["cell_id"]) == ("wait", "functions", "2")
    again = output("w1", "Script running with cell ID 2\nOutput:\n", "function_call")
    last = output("w2", f"Script completed\nOutput:\n|{REPORT}", "function_call")
    said = (item, running, live, wait_for("2", "w1"), again)
    assert isinstance(answer(parsed(*said)), CallTool)
    assert answer(parsed(*said, wait_for("2", "w2"), last)) == Text("OUTPUT hi LIVE_x")


def test_a_program_of_somebody_else_is_an_ordinary_call() -> None:
    call = {"type": "custom_tool_call", "name": "exec", "call_id": "c", "input": "text(1)"}

    assert answer(parsed(call, output("c", "Script completed\n|1"))) != Text("OUTPUT 1")
