"""`mcp-agent test adapter-conformance`: what every adapter must get right, asked of one."""

import os
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Annotated, Protocol, cast

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mcp_agent.adapter import Adapter
from mcp_agent.cli.context import print_json
from mcp_agent.cli.options import AsJson, Model
from mcp_agent.cli.stopping import run_until_signal
from mcp_agent.registry import load_all
from mcp_agent.scenarios.one_line import one_line
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.results import MARKS, ProbeResult, Result, ScenarioReport

_SUITE = "mcp_agent.scenarios.conformance"
_SHOWN_REASON = 300


class _Report(Protocol):
    """What the suite answers with; it is imported only to be run."""

    @property
    def scenario(self) -> ScenarioReport: ...

    def as_json(self) -> dict[str, object]: ...


def adapter_conformance(
    *,
    provider: Annotated[
        str | None, typer.Option("--provider", "-p", metavar="ID", help="Whose adapter is asked.")
    ] = None,
    model: Model = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the server's log when a question fails.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print what is asked of whom, and ask nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask an adapter, and its CLI with a scripted model, all that every provider must get right."""
    if markdown:
        typer.echo(_matrix(load_all()))
        return
    if provider is None:
        raise typer.BadParameter("--provider ID: name the adapter to ask")
    options = ChatOptions(provider, "scripted", dict(os.environ), model=model, keep=keep)
    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    run = cast("Callable[[ChatOptions, Listener], Awaitable[_Report]]", _suite("running", "run_conformance"))
    report = run_until_signal(lambda: run(options, _listener(console)))
    if as_json:
        print_json(report.as_json())
    else:
        _conclude(console, report.scenario)
    raise typer.Exit(report.scenario.exit_code)


def _matrix(adapters: tuple[Adapter, ...]) -> str:
    render = cast("Callable[[tuple[Adapter, ...]], str]", _suite("matrix", "matrix"))
    return render(adapters)


def _suite(module: str, name: str) -> object:
    """The suite brings a model server along, which no other command should wait for."""
    return getattr(import_module(f"{_SUITE}.{module}"), name)


def _listener(console: Console) -> Listener:
    def begins(name: str) -> None:
        if not console.is_terminal:
            console.print(Text(f"{'begins':12}{name}"))

    def answered(answer: ProbeResult) -> None:
        if answer.result is Result.NOT_RUN and not answer.elapsed_seconds:
            return  # it was not begun: the conclusion tells of all such together
        line = Text.assemble((f"{answer.result:12}", MARKS[answer.result]), answer.name)
        line.append(f"  {answer.elapsed_seconds:.1f} s" if answer.elapsed_seconds else "", style="dim")
        console.print(line)
        if answer.reason:
            console.print(Text(f"            {answer.reason}"))
        for shown in cast("list[str]", answer.evidence.get("screen", [])):
            console.print(Text(f"            | {shown}", style="dim"))
        if "server_log" in answer.evidence:
            console.print(Text(f"            the server's log: {answer.evidence['server_log']}"))

    return Listener(say=lambda _: None, probed=answered, begins=begins)


def _conclude(console: Console, report: ScenarioReport) -> None:
    """How many of each, what did not pass, and the one line that says what it comes to."""
    open_questions = [answer for answer in report.probes if answer.result is not Result.PASSED]
    told_below = [answer for answer in open_questions if answer.reason == report.reason]
    if len(told_below) < len(open_questions):
        console.print(_table([answer for answer in open_questions if answer not in told_below]))
    counts = {result: sum(answer.result is result for answer in report.probes) for result in Result}
    subject = f"{report.provider} {report.provider_version or ''}".strip()
    line = Text(f"{report.result}", style=MARKS[report.result])
    told = [f"{count} {result}" for result, count in counts.items() if count]
    line.append(f": {report.reason}" if report.reason else f": {subject} with the scripted model")
    line.append(f", {', '.join(told)} of {len(report.probes)} questions")
    console.print(line)


def _table(answers: list[ProbeResult]) -> Table:
    table = Table("question", "result", "why", box=None, pad_edge=False)
    for alike in _folded(answers):
        answer, count = alike[0], len(alike)
        name = answer.name if count == 1 else f"{count} questions"
        why = one_line((answer.reason or "").partition("\n")[0], longest=_SHOWN_REASON)
        table.add_row(name, Text(answer.result, style=MARKS[answer.result]), Text(why))
    return table


def _folded(answers: Sequence[ProbeResult]) -> list[list[ProbeResult]]:
    """Those that are alike in result and reason together; each that failed stands alone."""
    groups: dict[object, list[ProbeResult]] = {}
    for answer in answers:
        failed = answer.result is Result.FAILED
        groups.setdefault((answer.name, failed) if failed else (answer.result, answer.reason), []).append(answer)
    return list(groups.values())
