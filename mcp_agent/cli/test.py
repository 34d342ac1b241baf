"""`mcp-agent test`: end-to-end scenarios with real CLIs."""

import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console
from rich.text import Text

from mcp_agent.cli.chat_options import AnyProvider, KeepSession, ListProbes, Probes, Report, Timeout, limit_of
from mcp_agent.cli.conformance import adapter_conformance
from mcp_agent.cli.context import print_json
from mcp_agent.cli.options import AsJson, Model
from mcp_agent.cli.probe_progress import ProbeProgress
from mcp_agent.cli.stopping import run_until_signal
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.report.verdict import advice
from mcp_agent.scenarios.results import MARKS, Result, ScenarioReport

test_app = typer.Typer(help="End-to-end scenarios with real CLIs.", no_args_is_help=True)


class _ChatRun(Protocol):
    """What the scenario answers with; it is imported only to be run."""

    reports: list[ScenarioReport]
    page: Path | None

    @property
    def exit_code(self) -> int: ...

    def as_json(self) -> dict[str, object]: ...


Scenario = Callable[[ChatOptions, Listener, Path | None], Awaitable[_ChatRun]]


class ModelServerChoice(StrEnum):
    SCRIPTED = "scripted"
    REAL = "real"


test_app.command("adapter-conformance")(adapter_conformance)


@test_app.command("coding-agent-chat-e2e")
def coding_agent_chat_e2e(
    *,
    provider: AnyProvider,
    model_server: Annotated[ModelServerChoice, typer.Option(help="A model on loopback, or the provider's own.")],
    sleep: Annotated[str, typer.Option(metavar="DURATION", help="How long the silent tool call takes.")] = "20s",
    probe: Probes = None,
    list_probes: ListProbes = False,
    timeout: Timeout = None,
    model: Model = None,
    keep_session: KeepSession = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the server's log when a probe fails.")] = False,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Drive a real CLI through the real bridge: turns, tool calls, a long silence, and what stops or loses them."""
    options = ChatOptions(
        provider=provider,
        model_server=model_server.value,
        environment=dict(os.environ),
        sleep=limit_of("--sleep", sleep, most=timedelta(hours=1)),
        model=model,
        keep=keep,
        probes=tuple(probe or ()),
        timeout=limit_of("--timeout", timeout, most=timedelta(days=1)) if timeout else None,
        keep_session=keep_session,
    )
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    progress = ProbeProgress(console)
    run_all = _scenario("reported", "run_all")
    with progress.shown():
        done = run_until_signal(lambda: run_all(options, progress.listener(), report))
    if as_json:
        print_json(done.as_json())
    else:
        _conclude(console, done)
    raise typer.Exit(done.exit_code)


def _scenario(module: str, name: str) -> Scenario:
    """Scenarios bring a model server along, which no other command should wait for."""
    scenario: Scenario = getattr(import_module(f"mcp_agent.scenarios.{module}"), name)
    return scenario


def _conclude(console: Console, done: _ChatRun) -> None:
    for report in done.reports:
        console.print(_conclusion(report))
        if report.exit_code and report.reason is None:
            console.print(Text(f"{'to do':>6}: {advice(report.exit_code, report.probes)}"))
    if done.page is not None:
        console.print(Text(f"report: {done.page}"))


def _conclusion(report: ScenarioReport) -> Text:
    line = Text(f"{report.result}", style=MARKS[report.result])
    if report.reason:
        line.append(f": {report.provider}: {report.reason}")
    else:
        passed = sum(probe.result is Result.PASSED for probe in report.probes)
        subject = f"{report.provider} {report.provider_version or ''}".strip()
        line.append(f": {subject} with the {report.model_server} model, {passed} of {len(report.probes)} probes passed")
    return line
