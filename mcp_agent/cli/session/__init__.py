"""`mcp-agent session`: one file per kind of command."""

import typer

from mcp_agent.cli.session.ending import stop
from mcp_agent.cli.session.input import interrupt, send
from mcp_agent.cli.session.looking import list_sessions, show
from mcp_agent.cli.session.starting import start

session_app = typer.Typer(help="Provider CLIs in persistent tmux panes.", no_args_is_help=True)
session_app.command()(start)
session_app.command("list")(list_sessions)
session_app.command()(show)
session_app.command()(send)
session_app.command()(interrupt)
session_app.command()(stop)
