"""`mcp-agent providers`: which agent CLIs there are, what is installed of them, and what each can do."""

import os
from collections.abc import Sequence
from typing import Annotated

import anyio
import typer

from mcp_agent import installing
from mcp_agent.adapter import Adapter
from mcp_agent.cli.context import print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.provider_facts import ProviderFacts, facts_of
from mcp_agent.cli.stopping import run_until_signal
from mcp_agent.config import load_config
from mcp_agent.durations import format_duration
from mcp_agent.errors import BadConfiguration
from mcp_agent.registry import installed, load
from mcp_agent.sessions.environment import for_session, shared
from mcp_agent.sessions.starting.launching import find_executable
from mcp_agent.timeouts import Policy

_TITLE_WIDTH = 18

_OF_NPM = ("npm_config_", "node_")
"""How the variables begin that say where npm's registry is and whom Node trusts."""

providers_app = typer.Typer(
    help="The agent CLIs that sessions can run: what is installed, and what each can do.",
    invoke_without_command=True,
)


@providers_app.callback()
def _without_a_command(context: typer.Context, *, as_json: AsJson = False) -> None:
    if context.invoked_subcommand is None:
        list_providers(as_json=as_json)
    elif as_json:
        raise typer.BadParameter(f"write it behind the command: providers {context.invoked_subcommand} --json")


@providers_app.command("list")
def list_providers(*, as_json: AsJson = False) -> None:
    """List every provider: versions, whether a login's variable is set, limits, live input, permission modes."""
    adapters, problems = _loadable()
    asked = _ask(adapters)
    if as_json:
        print_json({"providers": [facts.as_json() for facts in asked], "problems": problems})
        return
    typer.echo("\n\n".join("\n".join(_described(facts)) for facts in asked))
    _warn(asked)
    for problem in problems:
        typer.echo(f"problem: {problem}", err=True)


@providers_app.command()
def check(
    provider: Annotated[str, typer.Argument(metavar="ID", help="The provider's id.")], *, as_json: AsJson = False
) -> None:
    """Say whether sessions of this provider can start here: exit 0 when they can, 4 when its CLI is not installed."""
    (facts,) = _ask([load(provider)])
    if facts.problem is not None:
        raise facts.problem
    if as_json:
        print_json(facts.as_json())
        return
    typer.echo(f"{facts.adapter.title} {facts.version or '(unknown version)'} can be used: {facts.executable}")
    _warn([facts])


@providers_app.command()
def install(
    provider: Annotated[str, typer.Argument(metavar="ID", help="The provider's id.")], *, as_json: AsJson = False
) -> None:
    """Install a provider's CLI, in the version it was tested with, where only sessions look for it; nothing else of it.

    A CLI that PATH holds comes first, so yours stays the one that is used. Exit 4 when it cannot be installed.
    """
    adapter = load(provider)
    if adapter.package is not None:
        typer.echo(f"{adapter.package.name} {adapter.package.version} …", err=True)
    npm_environment = for_session(os.environ, named=[name for name in os.environ if name.lower().startswith(_OF_NPM)])
    done = run_until_signal(lambda: installing.install(adapter, os.environ, npm_environment=npm_environment))
    used = find_executable(adapter, shared(os.environ, home=None))
    if as_json:
        print_json(
            {"program": str(done.program), "version": done.version, "was_there": done.was_there, "used": str(used)}
        )
        return
    typer.echo(
        f"{adapter.title} {done.version} {'was installed before' if done.was_there else 'is installed'}: {done.program}"
    )
    if used != done.program:
        typer.echo(f"warning: sessions use {used}, which PATH holds", err=True)


def _loadable() -> tuple[list[Adapter], list[str]]:
    """Every adapter that can be used, and what is wrong with the others: one of them hides nobody else."""
    adapters: list[Adapter] = []
    problems: list[str] = []
    for name in installed():
        try:
            adapters.append(load(name))
        except BadConfiguration as error:
            problems.append(str(error))
    return adapters, problems


def _ask(adapters: Sequence[Adapter]) -> list[ProviderFacts]:
    """All of them at once, in the order given."""
    policy = Policy.resolve(os.environ, load_config().file_timeouts())
    for warning in policy.warnings:
        typer.echo(f"warning: {warning}", err=True)
    answers: dict[str, ProviderFacts] = {}

    async def ask(adapter: Adapter) -> None:
        answers[adapter.id] = await facts_of(adapter, os.environ, mcp_call=policy.mcp_call)

    async def ask_all() -> None:
        async with anyio.create_task_group() as group:
            for adapter in adapters:
                group.start_soon(ask, adapter)

    run_until_signal(ask_all)
    return [answers[adapter.id] for adapter in adapters]


def _described(facts: ProviderFacts) -> list[str]:
    adapter = facts.adapter
    rows = {
        "version": _version(facts),
        "login": _login(facts),
        "MCP timeout": _mcp_timeout(facts),
        "client ceiling": _ceiling(adapter),
        "live input": adapter.live_input.replace("_", " "),
        "permission modes": ", ".join(adapter.permission_modes) or "none: there is nothing to choose",
        "lacks": "; ".join(f"{need}: {reason}" for need, reason in adapter.lacks.items()) or "nothing",
    }
    if adapter.unverified:
        rows["not verified"] = adapter.unverified
    return [f"{adapter.id}  {adapter.title}", *(f"  {name:<{_TITLE_WIDTH}}{text}" for name, text in rows.items())]


def _version(facts: ProviderFacts) -> str:
    adapter = facts.adapter
    if facts.executable is None:
        return f"not installed: {adapter.install_hint}"
    if facts.problem is not None:
        return str(facts.problem)
    tested = ", ".join(adapter.tested_versions)
    return f"{facts.version or 'unknown'} ({f'tested with {tested}' if tested else 'any will do'})"


def _login(facts: ProviderFacts) -> str:
    """A login that the CLI has stored is its own affair, and not looked for."""
    are_set = [name for name, is_set in facts.credentials.items() if is_set]
    if are_set:
        return ", ".join(f"{name} is set" for name in are_set)
    if not facts.credentials:
        return "by no variable; by a login of the CLI's own, where it needs one"
    first, *others = facts.credentials
    none = f"none of {len(facts.credentials)} variables is set, such as {first}" if others else f"{first} is not set"
    return f"{none}; a login of the CLI's own may serve"


def _mcp_timeout(facts: ProviderFacts) -> str:
    setting = facts.mcp_timeout
    return f"{setting.setting}={setting.value} ({setting.unit})" if setting else "not set: the CLI is told none"


def _ceiling(adapter: Adapter) -> str:
    ceiling = adapter.client_ceiling
    if ceiling is None:
        return "none of its own"
    extends = "progress extends it" if ceiling.progress_extends == "verified" else "nothing is known to extend it"
    return f"{format_duration(ceiling.limit)} for each MCP call; {extends}"


def _warn(asked: Sequence[ProviderFacts]) -> None:
    for warning in (warning for facts in asked for warning in facts.warnings):
        typer.echo(f"warning: {warning}", err=True)
