"""`mcp-agent session ask`: one prompt to a session that stays, and its final answer."""

import time

import typer

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.one_turn import Wait, one_turn, turn_limit
from mcp_agent.cli.options import AsJson, Deadline
from mcp_agent.cli.session.input import Prompt, PromptFile, text_of
from mcp_agent.cli.session.named import SessionId

WAITS = (
    "the CLI waits for an answer ({what}); attach to the session and answer it, the turn goes on then: its answer will"
    " be in `mcp-agent session history`"
)


def ask(
    session: SessionId,
    prompt: Prompt = None,
    *,
    file: PromptFile = None,
    deadline: Deadline = None,
    as_json: AsJson = False,
) -> None:
    """Send a prompt to a session, wait for its turn, print the final answer.

    It is always a turn of its own: while something else runs or waits, the prompt waits for its turn.

    A deadline interrupts this turn and no other; a prompt that waits still is withdrawn. The session stays, unless it
    does not show its prompt again within ten seconds. Leaving the command leaves the turn running.
    """
    began_seconds = time.monotonic()
    text, limit = text_of(prompt, file), turn_limit(deadline)
    with client() as server:
        session_id = server.get(f"/sessions/{session}")["id"] if as_json else None

        def interrupt(turn_id: str) -> bool:
            return bool(server.post(f"/sessions/{session}/turns/{turn_id}/deadline", waits=True)["kept"])

        turn = one_turn(server, session, text, Wait(limit, interrupt, WAITS, stays=True, began_seconds=began_seconds))
    if as_json:
        print_json({"session_id": session_id, "turn": turn})
    else:
        typer.echo(str(turn["final_text"]))
