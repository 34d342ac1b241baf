"""`mcp-agent`: the commands, and how every error reaches a person: one line and an exit code."""

import logging
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from types import FrameType
from typing import NoReturn

import typer

from mcp_agent import __version__
from mcp_agent.cli.ask import ask
from mcp_agent.cli.serve import serve, server_app
from mcp_agent.cli.sessions import session_app
from mcp_agent.cli.test import test_app
from mcp_agent.cli.timeouts import timeouts
from mcp_agent.errors import Internal, McpAgentError
from mcp_agent.state import StateDirectory

INTERRUPTED_EXIT = 130

app = typer.Typer(
    name="mcp-agent",
    help="Run coding-agent CLIs unattended: sessions in tmux, tools through one bridge, honest timeouts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(ask)
app.command()(serve)
app.command()(timeouts)
app.add_typer(server_app, name="server")
app.add_typer(session_app, name="session")
app.add_typer(test_app, name="test")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    *, version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version.")
) -> None:
    """Kept for its option."""


def run() -> NoReturn:
    """The console script. No traceback reaches a person: it goes to a log whose path is told."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    try:
        app()
    except McpAgentError as error:
        typer.echo(f"mcp-agent: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("mcp-agent: interrupted", err=True)
        sys.exit(INTERRUPTED_EXIT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception:  # noqa: BLE001 - the last line of defence: what nobody foresaw is written down and told
        internal = Internal(_write_down(os.environ))
        typer.echo(f"mcp-agent: {internal}", err=True)
        sys.exit(internal.exit_code)
    sys.exit(0)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    """Leave by an exception, so that everything started is stopped on the way out."""
    raise SystemExit(128 + number)


def _write_down(environ: Mapping[str, str]) -> str:
    path = StateDirectory.from_environment(environ).root / "cli.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            traceback.print_exc(file=file)
    except OSError:
        logging.getLogger(__name__).exception("cannot write %s", path)
    return str(path)
