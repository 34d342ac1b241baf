"""`mcp-agent`: the commands, and how every error reaches a person: one line and an exit code."""

import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import NoReturn

import typer

from mcp_agent import __version__
from mcp_agent.cli.ask import ask
from mcp_agent.cli.calls import calls_app
from mcp_agent.cli.context import error_facts
from mcp_agent.cli.executions import executions_app
from mcp_agent.cli.providers import providers_app
from mcp_agent.cli.serve import serve, server_app
from mcp_agent.cli.session import session_app
from mcp_agent.cli.stopping import Left, leave_on_signals
from mcp_agent.cli.test import test_app
from mcp_agent.cli.timeouts import timeouts
from mcp_agent.cli.tools import tools_app
from mcp_agent.cli.usage import CLICK_USAGE, is_help, usage_sentence
from mcp_agent.disk import disk_trouble
from mcp_agent.errors import Internal, McpAgentError, UsageError
from mcp_agent.server.client import exit_code_of
from mcp_agent.state import StateDirectory

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
app.add_typer(executions_app, name="executions")
app.add_typer(calls_app, name="calls")
app.add_typer(tools_app, name="tools")
app.add_typer(providers_app, name="providers")
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
    leave_on_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_exit_code())


def _exit_code() -> int | str | None:
    try:
        code = app(standalone_mode=False)
    except Left as left:
        _tell("interrupted" if left.number == signal.SIGINT else f"ended by {signal.Signals(left.number).name}")
        return left.code
    except SystemExit as done:
        return done.code
    except McpAgentError as error:
        _tell(str(error))
        _tell_programs(error)
        return exit_code_of(error)
    except CLICK_USAGE as error:
        return _refused(error)
    except Exception as error:  # noqa: BLE001 - the last line of defence: what nobody foresaw is written down and told
        return _unforeseen(error)
    return code if isinstance(code, int) else 0


def _unforeseen(error: Exception) -> int:
    """A disk that is full is nobody's fault here; everything else is ours."""
    with suppress(McpAgentError):
        trouble = disk_trouble(error, StateDirectory.from_environment(os.environ).root)
        if trouble is not None:
            _tell(str(trouble))
            _tell_programs(trouble)
            return trouble.exit_code
    _tell(_write_down(os.environ))
    return Internal.exit_code


def _refused(error: Exception) -> int:
    """A command line that cannot be read; of one without anything on it the help was printed."""
    if not is_help(error):
        refusal = UsageError(usage_sentence(error))
        _tell(str(refusal))
        _tell_programs(refusal)
    return UsageError.exit_code


def _tell(sentence: str) -> None:
    """One line, whatever stands in the sentence. A terminal that is gone is no trouble."""
    with suppress(OSError, ValueError):
        typer.echo(f"mcp-agent: {' '.join(sentence.split())}", err=True)


def _tell_programs(error: McpAgentError) -> None:
    """Whoever asked for JSON reads the error there too."""
    if "--json" in sys.argv[1:]:
        with suppress(OSError):
            typer.echo(json.dumps({"error": error_facts(error)}, ensure_ascii=False))


def _write_down(environ: Mapping[str, str]) -> str:
    """Write the traceback to a log; what a person is told."""
    problem = sys.exception()
    try:
        path = StateDirectory.from_environment(environ).root / "cli.log"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            traceback.print_exc(file=file)
    except (OSError, McpAgentError):
        return f"something went wrong in mcp-agent itself: {type(problem).__name__}: {problem}"
    return str(Internal(path))
