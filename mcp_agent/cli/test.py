"""`mcp-agent test`: end-to-end scenarios with real CLIs."""

import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import StrEnum
from importlib import import_module
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.text import Text

from mcp_agent.cli.context import print_json
from mcp_agent.cli.options import AsJson, Model, Provider
from mcp_agent.cli.stopping import run_until_signal
from mcp_agent.durations import parse_duration
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport

test_app = typer.Typer(help="End-to-end scenarios with real CLIs.", no_args_is_help=True)

_MARKS = {Result.PASSED: "green", Result.FAILED: "red", Result.NOT_RUN: "yellow", Result.INCONCLUSIVE: "yellow"}

Scenario = Callable[[ChatOptions, Listener], Awaitable[ScenarioReport]]


class ModelServerChoice(StrEnum):
    SCRIPTED = "scripted"
    REAL = "real"


@test_app.callback()
def _test() -> None:
    """Keeps `coding-agent-chat-e2e` a subcommand while it is the only one."""


def _sleep(text: str) -> timedelta:
    try:
        sleep = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not timedelta(0) < sleep <= timedelta(hours=1):
        raise typer.BadParameter(f"--sleep {text}: must be more than 0s and at most 1h")
    return sleep


@test_app.command("coding-agent-chat-e2e")
def coding_agent_chat_e2e(
    *,
    provider: Provider,
    model_server: Annotated[ModelServerChoice, typer.Option(help="A model on loopback, or the provider's own.")],
    sleep: Annotated[str, typer.Option(metavar="DURATION", help="How long the silent tool call takes.")] = "20s",
    model: Model = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the server's log when a probe fails.")] = False,
    as_json: AsJson = False,
) -> None:
    """Drive a real CLI through the real bridge, and a silent sleep through its shell tool."""
    options = ChatOptions(
        provider=provider,
        model_server=model_server.value,
        environment=dict(os.environ),
        sleep=_sleep(sleep),
        model=model,
        keep=keep,
    )
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    listener = _listener(console)
    run_chat = _scenario("coding_agent_chat", "run_chat")
    report = run_until_signal(lambda: run_chat(options, listener))
    if as_json:
        print_json(report.as_json())
    else:
        _conclude(console, report)
    raise typer.Exit(report.exit_code)


def _scenario(module: str, name: str) -> Scenario:
    """Scenarios bring a model server along, which no other command should wait for."""
    scenario: Scenario = getattr(import_module(f"mcp_agent.scenarios.{module}"), name)
    return scenario


def _listener(console: Console) -> Listener:
    def probed(probe: ProbeResult) -> None:
        line = Text.assemble((f"{probe.result:12}", _MARKS[probe.result]), f"{probe.name}  ")
        line.append(f"{probe.elapsed_seconds:.1f} s", style="dim")
        console.print(line)
        if probe.reason:
            console.print(Text(f"            {probe.reason}"))
        for shown in cast("list[str]", probe.evidence.get("screen", [])):
            console.print(Text(f"            | {shown}", style="dim"))
        if "server_log" in probe.evidence:
            console.print(Text(f"            the server's log: {probe.evidence['server_log']}"))

    def begins(name: str) -> None:
        if not console.is_terminal:
            console.print(Text(f"{'begins':12}{name}"))

    return Listener(say=lambda text: console.print(Text(f"  {text}", style="dim")), probed=probed, begins=begins)


def _conclude(console: Console, report: ScenarioReport) -> None:
    line = Text(f"{report.result}", style=_MARKS[report.result])
    if report.reason:
        line.append(f": {report.reason}")
    else:
        passed = sum(probe.result is Result.PASSED for probe in report.probes)
        subject = f"{report.provider} {report.provider_version or ''}".strip()
        line.append(f": {subject} with the {report.model_server} model, {passed} of {len(report.probes)} probes passed")
    console.print(line)
