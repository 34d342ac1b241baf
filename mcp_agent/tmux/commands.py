"""The command sequences that panes are driven by, and how their answers read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex

from mcp_agent.tmux.connection import HUB
from mcp_agent.tmux.protocol import join
from mcp_agent.tmux.terminal import PaneInfo, PaneRef

Command = Sequence[str]

_REF = "#{pane_id} #{window_id} #{session_id} #{pane_pid}"
_INFO = f"{_REF} #{{pane_dead}} [#{{pane_dead_status}}] [#{{pane_dead_signal}}] #{{@mcp_tags}}"
_INFO_LINE = re.compile(r"(\S+) (\S+) (\S+) (\d+) (\d?) \[(\d*)\] \[(\d*)\] ?(.*)")
HERE = "here"
DEATHS = "mcp_deaths"
"""The subscription that tells deaths once a second, where a pidfd does not tell them at once."""

WITHOUT_TMUX = ("/usr/bin/env", "-u", "TMUX", "-u", "TMUX_PANE")
"""Becomes the program it is given, and makes any argv long enough for tmux to run it without a shell."""


def session_name(name: str) -> str:
    """A name for people in what tmux allows, made unique; never a way to find anything."""
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:40]}-{token_hex(4)}"


def literal(text: str) -> str:
    """Text that comes out of tmux's format expansion as it went in."""
    return re.sub(r"#+(?!\[|#)", lambda run: run[0] * 2, text)


def spawn(
    name: str,
    *,
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    tags: Mapping[str, str],
    size: tuple[int, int],
) -> list[Command]:
    """A new session with one window, tagged, held to its size and linked into the hub; prints the pane's ids first."""
    columns, rows = map(str, size)
    variables = [word for key, value in environment.items() for word in ("-e", f"{key}={value}")]
    target, directory = f"={name}:", literal(str(cwd))
    create = ["new-session", "-d", "-P", "-F", _REF, "-s", name, "-n", name, "-x", columns, "-y", rows, "-c", directory]
    marks = {"tags": json.dumps(dict(tags)), **tags}
    return [
        [*create, *variables, "--", *WITHOUT_TMUX, *argv],
        *(["set-option", "-t", target, f"@mcp_{key}", value] for key, value in marks.items()),
        # Another client's size may have overruled -x and -y; this also makes the window's size manual.
        ["resize-window", "-t", target, "-x", columns, "-y", rows],
        link(target),
    ]


def link(window: str) -> Command:
    """Let the hub, and so our connection, hear a window."""
    return ["link-window", "-d", "-s", window, "-t", f"={HUB}:"]


def guarded(pane: PaneRef, commands: Iterable[Command], *, alive: bool) -> Command:
    """Commands that run only if the pane is there, is the same one and, with `alive`, not dead, in one sequence.

    The first thing printed is `HERE`, or else what there is instead, for `is_dead`.
    """
    # Ids begin anew in a new server, so the program's pid is asked for as well.
    same = f"#{{==:#{{pane_id}} #{{pane_pid}},{pane.pane_id} {pane.pid}}}"
    condition = f"#{{&&:{same},#{{==:#{{pane_dead}},0}}}}" if alive else same
    then = " ; ".join(join(command) for command in (["display-message", "-p", HERE], *commands))
    instead = join(["display-message", "-p", "-t", pane.pane_id, "#{pane_id} #{pane_pid} #{pane_dead}"])
    return ["if-shell", "-F", "-t", pane.pane_id, condition, then, instead]


def is_dead(pane: PaneRef, printed: Sequence[str]) -> bool:
    """Whether a guard that refused found the pane dead; otherwise it found none."""
    return list(printed) == [f"{pane.pane_id} {pane.pid} 1"]


def capture(pane: PaneRef) -> list[Command]:
    return [
        ["capture-pane", "-p", "-e", "-J", "-t", pane.pane_id],
        ["display-message", "-p", "-t", pane.pane_id, "#{pane_title}"],
    ]


def paste(pane: PaneRef, buffer: str) -> list[Command]:
    return [leave_mode(pane), ["paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane.pane_id]]


def press(pane: PaneRef, keys: Sequence[str]) -> list[Command]:
    return [leave_mode(pane), ["send-keys", "-t", pane.pane_id, "--", *keys]]


def leave_mode(pane: PaneRef) -> Command:
    """Copy mode or any other that a person left the pane in; none is fine."""
    return ["copy-mode", "-q", "-t", pane.pane_id]


def list_panes(pane: PaneRef | None = None) -> Command:
    only = ["-f", f"#{{==:#{{pane_id}},{pane.pane_id}}}"] if pane else []
    return ["list-panes", "-a", *only, "-F", _INFO]


def read_panes(lines: Iterable[str]) -> list[PaneInfo]:
    """The panes of a listing that carry our tags. The hub lists them again, without any."""
    return [pane for line in lines if (pane := _read_pane(line)) and pane.tags]


def _read_pane(line: str) -> PaneInfo | None:
    found = _INFO_LINE.fullmatch(line)
    if not found:
        return None
    pane_id, window_id, session_id, pid, dead, status, signal, tags = found.groups()
    pane = PaneRef(pane_id, window_id, session_id, int(pid))
    return PaneInfo(pane, _read_tags(tags), dead == "1", _number(status), _number(signal))


def read_ref(line: str) -> PaneRef:
    pane_id, window_id, session_id, pid = line.split(" ")
    return PaneRef(pane_id, window_id, session_id, int(pid))


def _read_tags(text: str) -> dict[str, str]:
    try:
        tags = json.loads(text or "{}")
    except ValueError:
        return {}
    return tags if isinstance(tags, dict) else {}


def _number(text: str) -> int | None:
    return int(text) if text else None
