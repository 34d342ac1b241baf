"""`mcp-agent session history`: the turns of a session."""

import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast

import typer
from rich.console import Console
from rich.text import Text

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.durations import format_duration
from mcp_agent.server.client import Json

_STYLES = {"completed": "green", "failed": "red", "interrupted": "yellow", "running": "cyan"}


def history(session: SessionId, *, as_json: AsJson = False) -> None:
    """Show the turns of a session: prompts, times, how each ended, and its final answer."""
    with client() as server:
        found = server.get(f"/sessions/{session}/turns")
    if as_json:
        print_json(found)
        return
    turns = cast("list[Json]", found["turns"])
    if not turns:
        typer.echo("no turn has begun yet")
        return
    print_turns(turns)


def print_turns(turns: Sequence[Json]) -> None:
    """Print turns as people read them."""
    console = Console(highlight=False)
    for turn in turns:
        for part in _shown(turn):
            console.print(part, soft_wrap=True)


def _shown(turn: Json) -> list[Text]:
    parts = [_headline(turn), _said("› ", str(turn["prompt"]))]
    parts += [_said("+ ", text) for text in cast("list[str]", turn["live_inputs"])]
    if turn["error"]:
        parts.append(_said("! ", str(turn["error"])))
    if turn["final_text"]:
        parts.append(_said("", str(turn["final_text"])))
    return [*parts, Text()]


def _headline(turn: Json) -> Text:
    outcome = str(turn["outcome"] or "running")
    began = datetime.fromtimestamp(cast("float", turn["started_at"])).astimezone()
    line = Text(f"{turn['id']}  {began:%Y-%m-%d %H:%M:%S}  ")
    line.append(f"{outcome} ({turn['reason']})" if turn["reason"] else outcome, style=_STYLES.get(outcome, ""))
    if turn["ended_at"] is not None:
        seconds = cast("float", turn["ended_at"]) - cast("float", turn["started_at"])
        line.append(f" after {format_duration(timedelta(seconds=max(0.0, round(seconds, 1))))}")
    told = usage_told(cast("Json | None", turn["usage"]))
    line.append(f"  ({told})" if told else "")
    return line


def usage_told(usage: Json | None) -> str:
    """What something cost, as far as its provider tells."""
    if usage is None:
        return ""
    tokens = [f"{usage[name]} {word}" for name, word in (("input_tokens", "in"), ("output_tokens", "out"))]
    known = [text for text in tokens if not text.startswith("None")]
    money = [] if usage["cost_usd"] is None else [f"${usage['cost_usd']:.4f}"]
    return ", ".join([*known, *money])


def harmless(text: str) -> str:
    """Control characters as they are written in Python, so that no answer acts on the reader's terminal."""
    return "".join(
        repr(char)[1:-1] if unicodedata.category(char) == "Cc" and char not in "\n\t" else char for char in text
    )


def _said(mark: str, text: str) -> Text:
    first, *rest = harmless(text).split("\n")
    lines = [f"  {mark}{first}", *(f"  {' ' * len(mark)}{line}" for line in rest)]
    return Text("\n".join(lines))
