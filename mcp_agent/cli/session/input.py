"""`mcp-agent session send|command|interrupt`: what goes into a session."""

from pathlib import Path
from typing import Annotated

import typer

from mcp_agent.cli.context import client, print_json, prompt_text, told_as_well
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.cli.submitting import submit
from mcp_agent.errors import Unconfirmed, UsageError

Prompt = Annotated[str | None, typer.Argument(help="The prompt; - reads it from standard input.")]
PromptFile = Annotated[Path | None, typer.Option("--file", "-F", metavar="FILE", help="Read the prompt from a file.")]


def send(
    session: SessionId,
    prompt: Prompt = None,
    *,
    file: PromptFile = None,
    steer: Annotated[bool, typer.Option("--steer", help="Only into the turn that runs.")] = False,
    queue: Annotated[
        bool, typer.Option("--queue", help="Keep it, and deliver it as a turn of its own when the session is free.")
    ] = False,
    clear_draft: Annotated[
        bool, typer.Option("--clear-draft", help="Discard what somebody left in the composer first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send a prompt, and say what became of it.

    Without an option it is delivered now: while a turn runs it is live input. Exit code 1: it was refused, or nobody
    knows whether it arrived.
    """
    if queue and (steer or clear_draft):
        raise UsageError("--queue waits for its turn: it goes with neither --steer nor --clear-draft")
    mode = "steer" if steer else "queue" if queue else "now"
    body = {"text": text_of(prompt, file), "mode": mode, "clear_draft": clear_draft}
    with client() as server:
        sent = submit(server, session, body)
    if as_json:
        print_json(sent)
    else:
        known_by = sent["message_id"] if sent["outcome"] == "waiting" else sent["turn_id"]
        typer.echo(f"{sent['outcome']} {known_by or ''}".rstrip())
    if sent["outcome"] == "unconfirmed":
        told_as_well(Unconfirmed(session, str(sent["reason"] or "")))


def command(
    session: SessionId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The command, such as /compact.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Give the CLI one of its own commands: typed as a person would, and run once."""
    with client() as server:
        done = server.post(f"/sessions/{session}/command", {"text": prompt_text(text)}, waits=True)
    if as_json:
        print_json(done)
    else:
        typer.echo(done["outcome"])
    if done["outcome"] == "unconfirmed":
        told_as_well(Unconfirmed(session, "the command may stand in the composer still"))


def interrupt(session: SessionId, *, as_json: AsJson = False) -> None:
    """Interrupt the running turn and keep the session."""
    with client() as server:
        done = server.post(f"/sessions/{session}/interrupt", waits=True)
    if as_json:
        print_json(done)
    else:
        typer.echo("interrupted" if done["interrupted"] else "no turn was interrupted")


def text_of(prompt: str | None, file: Path | None) -> str:
    """The prompt, from wherever it comes, byte for byte. Raises `UsageError`."""
    if (prompt is None) == (file is None):
        raise UsageError("give the prompt as an argument, as - for standard input, or by --file: one of them")
    if file is None:
        return prompt_text(prompt or "")
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: the prompt is not valid UTF-8: {error.reason}") from error
    if not text.strip():
        raise UsageError(f"{file}: the prompt is empty")
    return text
