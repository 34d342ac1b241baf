"""How large a pane is while somebody is attached, and that it gets its own size back when they leave.

tmux itself sees to it, whoever attaches by whatever command and however they leave: no process of ours need live.
"""

from collections.abc import Sequence

from mcp_agent.tmux.protocol import join

Command = Sequence[str]

COLUMNS, ROWS = "@mcp_columns", "@mcp_rows"
"""Options of each window of ours: the size that it has without a client."""

_HOOKS = ("client-attached", "client-session-changed", "client-detached")
_INDEX = 36
"""Hooks are lists; this element is ours."""

_PINNED = f"resize-window -t #{{window_id}} -x #{{{COLUMNS}}} -y #{{{ROWS}}} ; set-option -t #{{session_id}} status off"
_FOLLOWING = "set-option -w -t #{window_id} window-size latest ; set-option -t #{session_id} status on"
_EACH_WINDOW = f"#{{W:#{{?#{{{COLUMNS}}},#{{?#{{==:#{{session_attached}},0}},{_PINNED},{_FOLLOWING}}} ; ,}}}}"
# Only sessions of ours have tags: the hub, which lists the same windows again, has none.
_SYNC = f"#{{S:#{{?#{{@mcp_tags}},{_EACH_WINDOW},}}}}set-option -g @mcp_sized 1"

_STATUS = (
    ("status-left-length", "80"),
    ("status-left", " #{?#{@mcp_name},#{@mcp_name} ,}#{@mcp_session} "),
    ("status-right", " leave with C-b d "),
)
_WINDOW_STATUS = ("window-status-format", "window-status-current-format")


def hold(target: str, *, size: tuple[int, int]) -> list[Command]:
    """Give a window this size, and note it as the one that the window gets back."""
    columns, rows = map(str, size)
    return [
        ["set-option", "-w", "-t", target, COLUMNS, columns],
        ["set-option", "-w", "-t", target, ROWS, rows],
        # Another client's size may have overruled -x and -y; this also makes the window's size manual.
        ["resize-window", "-t", target, "-x", columns, "-y", rows],
    ]


def follow_clients() -> list[Command]:
    """Have tmux fit windows to whoever attaches, tell them how to leave, and pin the windows again afterwards."""
    sync = join(["run-shell", "-C", _SYNC])
    return [
        *(["set-hook", "-g", f"{hook}[{_INDEX}]", sync] for hook in _HOOKS),
        *(["set-option", "-g", option, value] for option, value in _STATUS),
        *(["set-option", "-gw", option, ""] for option in _WINDOW_STATUS),
    ]
