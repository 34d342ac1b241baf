"""Holding a pane for a moment: what anybody types into it is dropped, and tmux itself lets it go when we cannot.

A timer of tmux ends a hold that we do not end. Timers are tied to an attached client, be it ours, and dropped with it:
so whenever a client leaves, a hook lets every pane go.
"""

from collections.abc import Sequence
from datetime import timedelta

from mcp_agent.tmux import hooks
from mcp_agent.tmux.connection import HUB
from mcp_agent.tmux.protocol import join
from mcp_agent.tmux.terminal import PaneRef

Command = Sequence[str]

LONGEST_HOLD = timedelta(seconds=5)
"""So long a pane takes no keys of people at most, whatever becomes of us meanwhile."""

_HOOK = "client-detached[38]"
"""Hooks are lists; this element is ours."""
# Only sessions of ours have tags: the hub, which lists the same panes again, has none.
_EACH_PANE = "#{W:#{P:#{?#{pane_input_off},select-pane -e -t #{pane_id} ; ,}}}"
_RELEASE_ALL = f"#{{S:#{{?#{{@mcp_tags}},{_EACH_PANE},}}}}set-option -g @mcp_released 1"


def hold(pane: PaneRef, *, by_hook: bool) -> list[Command]:
    """Drop what anybody types. Prints for `is_attended`."""
    return [
        *_end_in_time(pane, by_hook=by_hook),
        drop_input(pane),
        ["display-message", "-p", "-t", pane.pane_id, "#{window_active_clients}"],
    ]


def is_attended(printed: Sequence[Sequence[str]]) -> bool:
    """Whether somebody sees a pane that was just held."""
    return printed[-1] != ["0"]


def release(pane: PaneRef) -> list[Command]:
    return [take_input(pane)]


def release_when_somebody_leaves() -> list[Command]:
    """Have tmux let every pane go when a client is gone: it may have been the one that held it."""
    return [["set-hook", "-g", _HOOK, join(["run-shell", "-C", _RELEASE_ALL])]]


def _end_in_time(pane: PaneRef, *, by_hook: bool) -> list[Command]:
    """A timer keeps the session that it belongs to in memory: so it belongs to the hub."""
    timer = ["run-shell", "-b", "-d", f"{LONGEST_HOLD.total_seconds():g}", "-t", f"={HUB}:", "-C"]
    if not by_hook:
        return [[*timer, join(take_input(pane))]]
    return hooks.run_once(f"{join(timer)} {hooks.block(take_input(pane))}", target=pane.pane_id)


def drop_input(pane: PaneRef) -> Command:
    return ["select-pane", "-d", "-t", pane.pane_id]


def take_input(pane: PaneRef) -> Command:
    return ["select-pane", "-e", "-t", pane.pane_id]
