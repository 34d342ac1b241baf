"""What `mcp-agent executions` says without a server: refusals, exit codes, and its page in the documentation."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from mcp_agent.cli.executions import executions_app
from mcp_agent.cli.executions.named import execution_reference
from mcp_agent.cli.executions.starting import ExecutionOptions
from mcp_agent.cli.executions.waiting import _problem
from mcp_agent.cli.main import app
from mcp_agent.cli.start_options import CommonOptions
from mcp_agent.cli.usage import CLICK_USAGE
from mcp_agent.config import DATABASE_VARIABLE, Agent, Config, Executions
from mcp_agent.errors import McpAgentError, UnknownExecution
from mcp_agent.executions.records import DeliveryState, EndedBy, ExecutionState
from mcp_agent.tools.agents import AGENT_TOOL_NAMES

PAGE = Path(__file__).parents[2] / "docs/executions.md"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("hello",), "one of --agent and --provider"),
        (("--agent", "worker", "--provider", "scripted", "hello"), "one of --agent and --provider"),
        (("--agent", "worker"), "give the prompt"),
        (("--agent", "worker", " "), "the prompt is empty"),
        (("--agent", "worker", "--deadline", "0s", "hello"), "more than 0s"),
        (("--agent", "worker", "--deadline", "1", "hello"), "no unit"),
        (("--agent", "worker", "--deadline-at", "tomorrow", "hello"), "--deadline-at tomorrow: no point in time"),
        (("--agent", "worker", "--deadline", "1s", "--deadline-at", "2030-01-01", "hello"), "choose one of"),
        (("--agent", "worker", "--tool", "execute_shell_command", "hello"), "--tool goes with --provider"),
        (("--agent", "worker", "--permission-mode", "ask", "hello"), "--permission-mode goes with --provider"),
        (("--provider", "nobody", "hello"), "unknown provider 'nobody'"),
        (("--provider", "scripted", "--parent", "a/b", "hello"), "no session a/b"),
        (("--provider", "scripted", "-C", "/nowhere", "hello"), "/nowhere"),
    ],
)
def test_what_cannot_be_meant_is_told_and_starts_nothing(
    short_tmp: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.setenv("MCP_AGENT_HOME", str(short_tmp / "state"))
    with pytest.raises((McpAgentError, CLICK_USAGE)) as refused:
        app(["executions", "start", *arguments], standalone_mode=False)
    assert words in str(refused.value)
    assert getattr(refused.value, "exit_code", None) == 2
    assert not (short_tmp / "state").exists()


@pytest.mark.parametrize("text", ["", "..", "x-", "x-0/../..", "a/b?c#d", "💥", "\x1b[31m", "x" * 2000])
def test_what_can_be_no_execution_never_stands_in_a_path(text: str) -> None:
    with pytest.raises(UnknownExecution) as unknown:
        execution_reference(text)
    assert str(unknown.value).isprintable()
    assert len(str(unknown.value)) < 200


@pytest.mark.parametrize(
    ("facts", "exit_code"),
    [
        ({"state": "succeeded"}, None),
        ({"state": "failed", "cause": "other"}, 1),
        ({"state": "failed", "cause": "login"}, 5),
        ({"state": "failed", "cause": "limited"}, 6),
        ({"state": "cancelled"}, 1),
        ({"state": "deadline_exceeded", "cause": "limited"}, 1),
        ({"state": "lost"}, 1),
        ({"state": "queued", "ended_at": None}, 124),
    ],
)
def test_an_exit_code_says_how_an_execution_ended(facts: dict[str, object], exit_code: int | None) -> None:
    whole = {"execution_id": "x-1", "ended_at": 1.0, "cause": None, "reason": "r", "detail": "d"} | facts
    problem = _problem(whole, timedelta(seconds=1))
    assert (problem.exit_code if isinstance(problem, McpAgentError) else None) == exit_code


def test_the_page_names_every_setting_state_layer_and_tool_and_its_example_is_a_configuration() -> None:
    page = PAGE.read_text(encoding="utf-8")
    words = [*Agent.model_fields, *Executions.model_fields, *ExecutionState, *get_args(EndedBy), *DeliveryState]
    assert [word for word in (*words, DATABASE_VARIABLE) if f"`{word}`" not in page and f" {word} " not in page] == []
    assert [name for name in AGENT_TOOL_NAMES if f"| `{name}(" not in page] == []
    for example in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        Config.model_validate(tomllib.loads(example))


def test_the_page_names_every_command_and_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    executions: Any = typer.main.get_command(executions_app)
    assert [name for name in executions.commands if f"`executions {name}" not in page] == []
    own = {field.name for field in fields(ExecutionOptions)} - {field.name for field in fields(CommonOptions)}
    options = [f"--{name.replace('_', '-')}" for name in own - {"directory"}]
    assert [option for option in options if option not in page] == []
