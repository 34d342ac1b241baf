"""`mcp-agent session`: one file per kind of command."""

import typer

from mcp_agent.cli.session.asking import ask
from mcp_agent.cli.session.attach import attach
from mcp_agent.cli.session.ending import stop
from mcp_agent.cli.session.events import events
from mcp_agent.cli.session.history import history
from mcp_agent.cli.session.input import command, interrupt, send
from mcp_agent.cli.session.looking import list_sessions, screen, show
from mcp_agent.cli.session.messages import messages, withdraw
from mcp_agent.cli.session.resuming import resume
from mcp_agent.cli.session.starting import start

EXIT_CODES = (
    "Exit codes: 0 done; 1 it did not work out, or nobody knows whether it did; 2 it cannot be meant: an option, a"
    " name, a session that is not there; 3 no credentials; 4 this machine lacks something: the CLI, tmux, a terminal;"
    " 5 the login is refused; 6 the provider limits or does not answer for now."
)

session_app = typer.Typer(help="Provider CLIs in persistent tmux panes.", epilog=EXIT_CODES, no_args_is_help=True)
session_app.command()(start)
session_app.command("list")(list_sessions)
session_app.command()(show)
session_app.command()(screen)
session_app.command()(attach)
session_app.command()(send)
session_app.command()(ask)
session_app.command()(command)
session_app.command()(interrupt)
session_app.command()(messages)
session_app.command()(withdraw)
session_app.command()(events)
session_app.command()(history)
session_app.command()(stop)
session_app.command()(resume)
