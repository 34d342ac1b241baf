"""The options of `mcp-agent test coding-agent-chat-e2e`."""

from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Annotated, Protocol

import typer

from mcp_agent.durations import format_duration, parse_duration


class _Probe(Protocol):
    """What the scenario asks; it is imported only to be listed."""

    @property
    def proves(self) -> str: ...


def limit_of(option: str, text: str, *, most: timedelta) -> timedelta:
    """The duration that an option names."""
    try:
        duration = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not timedelta(0) < duration <= most:
        raise typer.BadParameter(f"{option} {text}: must be more than 0s and at most {format_duration(most)}")
    return duration


def _list_probes(wanted: bool) -> None:
    """Print what there is to ask, and leave."""
    if wanted:
        probes: Mapping[str, _Probe] = import_module("mcp_agent.scenarios.probes").PROBES
        for name, probe in probes.items():
            typer.echo(f"{name}: {probe.proves}")
        raise typer.Exit


AnyProvider = Annotated[
    str, typer.Option("--provider", "-p", metavar="ID", help="Whose CLI to run; `all`: every one that is a program.")
]
Probes = Annotated[
    list[str] | None,
    typer.Option(
        "--probe", metavar="NAME", help="Ask only this one, after the one that starts the session; repeatable."
    ),
]
ListProbes = Annotated[
    bool, typer.Option("--list-probes", callback=_list_probes, is_eager=True, help="Say what each probe proves.")
]
Timeout = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="At most so long for one provider's probes; a later one is `not run`."),
]
KeepSession = Annotated[
    bool, typer.Option("--keep-session", help="Leave the session running to be looked at; such a run is no pass.")
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="DIR", help="Write index.html, report.json, junit.xml and recordings there."),
]
