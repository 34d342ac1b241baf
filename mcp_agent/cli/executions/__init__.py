"""`mcp-agent executions`: one file per kind of command."""

import typer

from mcp_agent.cli.executions.ending import cancel
from mcp_agent.cli.executions.listing import list_agents, list_executions
from mcp_agent.cli.executions.showing import logs, show
from mcp_agent.cli.executions.starting import start
from mcp_agent.cli.executions.waiting import wait

EXIT_CODES = (
    "Exit codes of wait, and of start --wait: 0 it succeeded; 1 it failed, was cancelled, overran its deadline or was"
    " lost; 5 the login is refused; 6 the provider limits or does not answer for now; 124 the time to wait passed"
    " first, and it goes on. Of every command: 0 done; 1 it did not work out; 2 it cannot be meant: an option, an"
    " agent, an execution that is not there; 4 this machine lacks something: the CLI, tmux."
)

executions_app = typer.Typer(
    help="Durable work by agents: it outlives commands, sessions and servers.", epilog=EXIT_CODES, no_args_is_help=True
)
executions_app.command()(start)
executions_app.command("list")(list_executions)
executions_app.command()(show)
executions_app.command()(wait)
executions_app.command()(cancel)
executions_app.command()(logs)
executions_app.command("agents")(list_agents)
