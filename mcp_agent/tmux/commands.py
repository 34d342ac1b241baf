"""The command sequences that panes are driven by, and how their answers read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex

from mcp_agent.errors import PaneDead, PaneGone, TmuxCommandFailed
from mcp_agent.tmux import hooks, sizes, ticks
from mcp_agent.tmux.connection import HUB
from mcp_agent.tmux.holding import drop_input, take_input
from mcp_agent.tmux.protocol import join, literal, unescape
from mcp_agent.tmux.screen import read_screen
from mcp_agent.tmux.terminal import Capture, PaneInfo, PaneRef

Command = Sequence[str]

_REF = "#{pane_id} #{window_id} #{session_id} #{pane_pid}"
_TAGS = "#{?#{@mcp_pane},#{@mcp_tags},}"
_INFO = f"{_REF} #{{pane_dead}} [#{{pane_dead_status}}] [#{{pane_dead_signal}}] {ticks.READING} {_TAGS}"
_INFO_LINE = re.compile(r"(\S+) (\S+) (\S+) (\d+) (\d?)" + r" \[(\d*)\]" * 5 + " ?(.*)")
_SCREEN = "mcp-screen"
CANNOT_FIND = "can't find"
"""How tmux begins to say that a target is gone."""
DEATHS = "mcp_deaths"
"""The subscription that tells deaths once a second, where a pidfd does not tell them at once."""
TELL_DEATHS = ("refresh-client", "-B", f"{DEATHS}:%*:#{{pane_dead}}")

WITHOUT_TMUX = ("/usr/bin/env", "-u", "TMUX", "-u", "TMUX_PANE")
"""Becomes the program it is given, and makes any argv long enough for tmux to run it without a shell."""


def session_name(name: str) -> str:
    """A name for people in what tmux allows, made unique; never a way to find anything."""
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:40]}-{token_hex(4)}"


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
        # A person who is attached may make more panes and windows in the session: those are not ours.
        ["set-option", "-p", "-t", target, "@mcp_pane", "1"],
        *sizes.hold(target, size=size),
        link(target),
    ]


def link(window: str) -> Command:
    """Let the hub, and so our connection, hear a window."""
    return ["link-window", "-d", "-s", window, "-t", f"={HUB}:"]


def close(pane: PaneRef) -> list[Command]:
    """End the pane first, for the hub's link would keep it, and then whatever a person opened beside it."""
    return [["kill-window", "-t", pane.window_id], ["kill-session", "-t", pane.tmux_session_id]]


def identify(pane: PaneRef) -> Command:
    """Ask what is there now, for `check`; a pane that is gone has nothing to say."""
    return ["display-message", "-p", "-t", pane.pane_id, "#{pane_id} #{pane_pid} #{pane_dead}"]


def check(pane: PaneRef, printed: Sequence[str], *, alive: bool) -> None:
    """Raise `PaneGone` unless this pane was found, and with `alive` `PaneDead` if its program has ended."""
    # Ids begin anew in a new server, so the program's pid is asked for as well.
    same = f"{pane.pane_id} {pane.pid}"
    if list(printed) == [f"{same} 1"] and alive:
        raise PaneDead(pane.pane_id)
    if list(printed) not in ([f"{same} 0"], [f"{same} 1"]):
        raise PaneGone(pane.pane_id)


def capture(pane: PaneRef) -> list[Command]:
    """Prints what `read_capture` reads. By way of a buffer: tmux 3.3a never frees a screen that `-p` printed."""
    return [
        identify(pane),
        ["capture-pane", "-e", "-J", "-b", _SCREEN, "-t", pane.pane_id],
        ["show-buffer", "-b", _SCREEN],
        ["delete-buffer", "-b", _SCREEN],
        ["display-message", "-p", "-t", pane.pane_id, "#{pane_title}"],
    ]


def read_capture(pane: PaneRef, printed: Sequence[Sequence[str]], *, escaped: bool) -> Capture:
    """The screen. Raises `PaneGone` when it is not this pane's. `escaped` is what `are_escaped` said."""
    found, _, screen, _, title = printed
    check(pane, found, alive=False)
    # A buffer ends with a line end, and is printed with one more.
    printed_lines = tuple(unescape(line) if escaped else line for line in screen[:-1])
    return Capture(*read_screen(printed_lines), "\n".join(title), printed_lines)


def ask_for_escapes() -> list[Command]:
    """Prints what `are_escaped` reads."""
    return [["set-buffer", "-b", _SCREEN, "--", "\\"], ["show-buffer", "-b", _SCREEN], ["delete-buffer", "-b", _SCREEN]]


def are_escaped(printed: Sequence[Sequence[str]]) -> bool:
    """Whether this tmux escapes what it shows of a buffer: 3.3a does."""
    return printed[1] == ["\\\\"]


def paste(pane: PaneRef, buffer: str, *, held: bool, by_hook: bool) -> list[Command]:
    """Prints first what `check_paste` reads."""
    # tmux 3.3a dies of a paste into a dead pane: nothing may come between this look and the paste.
    alive = "#{==:#{pane_dead},0}"
    paste = join(["paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane.pane_id])
    by_condition = ["if-shell", "-F", "-t", pane.pane_id, alive, paste]
    commands = hooks.run_once(paste, target=pane.pane_id, condition=alive) if by_hook else [by_condition]
    find = ["list-buffers", "-f", f"#{{==:#{{buffer_name}},{buffer}}}", "-F", "#{buffer_name}"]
    return [find, *_typed(pane, *commands, held=held)]


def check_paste(printed: Sequence[Sequence[str]]) -> None:
    """Raise `TmuxCommandFailed` when there was no text to paste: somebody took the buffer away."""
    if not printed[0]:
        raise TmuxCommandFailed("paste-buffer", "no buffer")


def press(pane: PaneRef, keys: Sequence[str], *, held: bool) -> list[Command]:
    return _typed(pane, ["send-keys", "-t", pane.pane_id, "--", *keys], held=held)


def type_text(pane: PaneRef, text: str, *, held: bool) -> list[Command]:
    return _typed(pane, ["send-keys", "-l", "-t", pane.pane_id, "--", text], held=held)


def _typed(pane: PaneRef, *commands: Command, held: bool) -> list[Command]:
    """One input of ours, which a pane that is held takes too."""
    return [leave_mode(pane), take_input(pane), *commands, *([drop_input(pane)] if held else [])]


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
    pane_id, window_id, session_id, pid, dead, status, signal, counted, held, clients, tags = found.groups()
    pane = PaneRef(pane_id, window_id, session_id, int(pid))
    return PaneInfo(
        pane,
        _read_tags(tags),
        dead == "1",
        _number(status),
        _number(signal),
        ticks=_number(counted),
        held=held == "1",
        attached=bool(_number(clients)),
    )


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
