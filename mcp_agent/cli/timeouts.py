"""`mcp-agent timeouts`: every limit in force, where it came from, and what cannot be configured."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mcp_agent.adapter import Adapter
from mcp_agent.config import load_config
from mcp_agent.durations import format_duration
from mcp_agent.registry import load, load_all
from mcp_agent.timeouts import LAYERS, Layer, Policy
from mcp_agent.timeouts_matrix import LayerRow, rows

_PIPED_WIDTH = 120


def timeouts(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    provider: Annotated[str | None, typer.Option(help="Only this provider.", metavar="ID")] = None,
) -> None:
    """Show every timeout layer: the limits in force, where each came from, and who acts when it fires."""
    if as_json and markdown:
        raise typer.BadParameter("choose one of --json and --markdown")
    adapters = load_all() if provider is None else (load(provider),)
    policy = Policy.resolve(os.environ, load_config().file_timeouts())
    for warning in policy.warnings:
        typer.echo(f"warning: {warning}", err=True)
    matrix = rows(policy, adapters)
    if as_json:
        typer.echo(json.dumps({"layers": [row.as_json() for row in matrix]}, indent=2, ensure_ascii=False))
    elif markdown:
        typer.echo(_markdown(matrix, adapters))
    else:
        _print(matrix, adapters)


def _print(matrix: Sequence[LayerRow], adapters: Sequence[Adapter]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
    cells = [_cells(layer, matrix, adapters) for layer in Layer]
    limits = [[f"{layer}\n  {owner}", *own, source] for layer, owner, *own, _, source, _ in cells]
    _print_table(console, ["layer, owner", *(adapter.title for adapter in adapters), "source"], limits)
    _print_table(console, ["layer", "setting", "when it fires"], [[row[0], row[-3], row[-1]] for row in cells])
    for note in _notes(matrix):
        console.print(Text(note))


def _print_table(console: Console, header: Sequence[str], cells: Iterable[Sequence[str]]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for title in header:
        table.add_column(title, overflow="fold", no_wrap=title == "setting")
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _markdown(matrix: Sequence[LayerRow], adapters: Sequence[Adapter]) -> str:
    header = _header(adapters)
    lines = [_markdown_row(header), _markdown_row("---" for _ in header)]
    lines += [_markdown_row(_cells(layer, matrix, adapters)) for layer in Layer]
    return "\n".join([*lines, "", *(f"- {note}" for note in _notes(matrix))])


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_markdown_cell(cell) for cell in cells)} |"


def _markdown_cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", "<br>")


def _header(adapters: Sequence[Adapter]) -> list[str]:
    return ["layer", "owner", *(adapter.title for adapter in adapters), "setting", "source", "when it fires"]


def _cells(layer: Layer, matrix: Sequence[LayerRow], adapters: Sequence[Adapter]) -> list[str]:
    """One layer over all providers."""
    here = [row for row in matrix if row.layer is layer]
    limits = ["\n".join(_limit(row) for row in here if row.provider == adapter.id) for adapter in adapters]
    settings = _distinct(part for row in here for part in (row.setting or "not set").split(", "))
    return [layer, LAYERS[layer].owner, *limits, settings, _distinct(row.source for row in here), LAYERS[layer].on_fire]


def _limit(row: LayerRow) -> str:
    """What bounds it, and what was chosen where a layer around it ends earlier."""
    prefix = f"{row.tool_class.replace('_', '-')}: " if row.tool_class else ""
    if row.effective is None:
        return prefix + ("off" if row.off else "none" if row.configurable else "not set")
    own = "" if row.configured in {None, row.effective} else f" (of {_text(row.configured)})"
    return f"{prefix}{_text(row.effective)}{own}"


def _text(limit: timedelta | None) -> str:
    return "none" if limit is None else format_duration(limit)


def _notes(matrix: Sequence[LayerRow]) -> list[str]:
    """What the table has no room for, each said once; with the provider where only one of them is meant."""
    providers = {row.provider for row in matrix}
    said: dict[tuple[str, str], set[str]] = {}
    for row in matrix:
        if row.note:
            said.setdefault((row.layer, row.note), set()).add(row.provider)
    return [f"{layer}{_whose(whose, everyone=providers)}: {note}" for (layer, note), whose in said.items()]


def _whose(providers: set[str], *, everyone: set[str]) -> str:
    return "" if providers == everyone and len(everyone) > 1 else f" ({', '.join(sorted(providers))})"


def _distinct(values: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(values))
