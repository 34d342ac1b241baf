"""`mcp-agent session send|interrupt`: what goes into a session."""

from typing import Annotated

import typer

from mcp_agent.cli.context import client, print_json, prompt_text, told_as_well
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.errors import Unconfirmed


def send(
    session: SessionId,
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    *,
    clear_draft: Annotated[
        bool, typer.Option("--clear-draft", help="Discard what somebody left in the composer first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send a prompt, and say what became of it."""
    text = prompt_text(prompt)
    with client() as server:
        sent = server.post(f"/sessions/{session}/send", {"text": text, "clear_draft": clear_draft}, waits=True)
    if as_json:
        print_json(sent)
    else:
        typer.echo(f"{sent['outcome']} {sent['turn_id'] or ''}".rstrip())
    if sent["turn_id"] is None:
        told_as_well(Unconfirmed(session))


def interrupt(session: SessionId, *, as_json: AsJson = False) -> None:
    """Interrupt the running turn and keep the session."""
    with client() as server:
        done = server.post(f"/sessions/{session}/interrupt", waits=True)
    if as_json:
        print_json(done)
    else:
        typer.echo("interrupted" if done["interrupted"] else "no turn was interrupted")
