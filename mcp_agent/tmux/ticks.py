"""An idle clock that tmux keeps by itself: it counts on, and closes its pane in the end, with no process of ours alive.

A chain of timers inside tmux counts ticks in options of the pane, so the clock dies with the pane and with nothing
else. Timers run on the monotonic clock and each arms the next one: a step of the wall clock moves nothing, and after a
machine slept, or tmux was stopped, one tick at most is counted for that time.

Three ways of tmux 3.3a shape it. A timer is tied to some client that is attached, be it ours, and dropped with it: so
whenever a client leaves, a hook arms all chains again. What conditions, or commands in a string, have run is never
freed: so a tick is made of hooks, which are parsed once, and a format chooses which hook comes next. And a timer keeps
all of the session that it belongs to, after its end too: so timers belong to the hub.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from secrets import randbelow

from mcp_agent.tmux import hooks
from mcp_agent.tmux.connection import HUB
from mcp_agent.tmux.protocol import join, literal
from mcp_agent.tmux.terminal import ClockClosing, IdleClock, PaneRef

Command = Sequence[str]

TICKS, QUIET, UNSET, HELD = "@mcp_ticks", "@mcp_quiet", "@mcp_unset", "@mcp_held"
"""Ticks since the clock was set, the same since the program wrote something, and those that even a hold counts."""
SEEN = "@mcp_seen"
"""The mark of the output that the last tick knew of."""
CHAIN, ARM_AGAIN = "@mcp_chain", "@mcp_arm"
"""The number of the newest chain, and what begins another."""
EVERY = "@mcp_every"
"""How many seconds apart the ticks of the newest chain are."""
TICK, ARM, CLOSE = "after-lock-server", "after-unbind-key", "after-bind-key"
"""Hooks of the pane's own session; nothing that anybody does in one of ours makes tmux run them by itself."""
READING = f"[#{{{TICKS}}}] [#{{{HELD}}}] [#{{session_attached}}]"
"""What a listing says of a pane's clock: as a format."""

_HOOK = "client-detached[37]"
"""Hooks are lists; this element is ours."""
# Only sessions of ours have tags: the hub, which lists the same panes again, has none.
_EACH_PANE = f"#{{W:#{{P:#{{?#{{{ARM_AGAIN}}},#{{E:{ARM_AGAIN}}} ; ,}}}}}}"
_ARM_ALL = f"#{{S:#{{?#{{@mcp_tags}},{_EACH_PANE},}}}}set-option -g @mcp_armed 1"

_CLOSED = "@mcp_closed_"
_CLOSING = re.compile(r"(\d+) (\d+) (\d+(?:\.\d+)?)")
_NAME = re.compile(r"[A-Za-z0-9_-]+")


def check_clock(clock: IdleClock) -> None:
    """Raise `ValueError` for a clock that no terminal keeps."""
    if not _NAME.fullmatch(clock.name):
        raise ValueError("the name of a clock holds letters, digits, _ and - only")
    if clock.interval.total_seconds() <= 0 or clock.close_after < 1 or clock.abandon_after < 1 or clock.ticks < 0:
        raise ValueError("a clock ticks forwards, and closes after one tick at least")


def start(pane: PaneRef, clock: IdleClock) -> list[Command]:
    """Set a clock anew. The timer of an older chain finds that it is not the newest, and arms no other.

    That timer stays in memory until it is due. So a clock that is held goes on with the chain that there is: when its
    ticks come matters to none but a clock that counts.
    """
    target = _target(pane)
    begin = _begin(target, clock, str(randbelow(10**9)))
    another = f"#{{!=:#{{{EVERY}}},{_seconds(clock)}}}"
    return [
        hooks.define(_HOOK, join(["run-shell", "-C", _ARM_ALL])),
        _option(target, TICKS, str(clock.ticks)),
        _option(target, QUIET, str(clock.ticks)),
        _option(target, UNSET, "0"),
        _option(target, HELD, str(int(clock.held))),
        _option(target, SEEN, "#{window_activity}", expand=True),
        hooks.define(CLOSE, _joined(_close(pane, clock)), target=target),
        hooks.define(TICK, _joined(_tick(target, clock)), target=target),
        _option(target, ARM_AGAIN, _again(target, clock)),
        *(hooks.run_once(_joined(begin), target=target, condition=another) if clock.held else begin),
    ]


def stop(pane: PaneRef) -> list[Command]:
    """Take the clock away; what its last timer finds is that there is none."""
    target = _target(pane)
    return [
        *(["set-option", "-p", "-u", "-t", target, option] for option in (CHAIN, EVERY, ARM_AGAIN, TICKS, HELD)),
        *(hooks.forget(hook, target=target) for hook in (TICK, ARM, CLOSE)),
    ]


def closings() -> Command:
    """Everything that clocks have closed in this server."""
    return ["show-options", "-s"]


def read_closing(lines: Iterable[str], name: str) -> ClockClosing | None:
    """What a listing of `closings` says of one clock."""
    for line in lines:
        option, _, value = line.partition(" ")
        if option == f"{_CLOSED}{name}" and (found := _CLOSING.fullmatch(value.strip('"'))):
            return ClockClosing(int(found[1]), int(found[2]), float(found[3]))
    return None


def forget_closing(name: str) -> Command:
    return ["set-option", "-s", "-q", "-u", f"{_CLOSED}{name}"]


def _begin(target: str, clock: IdleClock, chain: str) -> list[Command]:
    """Arm the first timer of a chain. Each one runs a tick only if its chain is still the newest."""
    tick = f"#{{?#{{==:#{{{CHAIN}}},{chain}}},{TICK},{hooks.NOTHING}}}"
    timer = ["run-shell", "-b", "-d", _seconds(clock), "-t", f"={HUB}:", "-C"]
    arm = f"{join(timer)} {hooks.block(hooks.run(tick, target=target))}"
    return [
        _option(target, CHAIN, chain),
        _option(target, EVERY, _seconds(clock)),
        hooks.define(ARM, arm, target=target),
        hooks.run(ARM, target=target),
    ]


def _seconds(clock: IdleClock) -> str:
    return f"{clock.interval.total_seconds():g}"


def _again(target: str, clock: IdleClock) -> str:
    """The next chain, as a format: its number is the newest one's and one more."""
    placeholder = "(next)"
    return literal(_joined(_begin(target, clock, placeholder))).replace(placeholder, f"#{{e|+|:#{{{CHAIN}}},1}}")


def _tick(target: str, clock: IdleClock) -> list[Command]:
    """Count, then close the pane or arm the next timer."""
    due = f"#{{||:#{{e|>=|:#{{{QUIET}}},{clock.close_after}}},#{{e|>=|:#{{{UNSET}}},{clock.abandon_after}}}}}"
    return [
        _option(target, TICKS, _counted(TICKS), expand=True),
        _option(target, QUIET, f"#{{?#{{!=:#{{{SEEN}}},#{{window_activity}}}},0,{_counted(QUIET)}}}", expand=True),
        _option(target, UNSET, f"#{{?#{{session_attached}},0,#{{e|+|:#{{{UNSET}}},1}}}}", expand=True),
        _option(target, SEEN, "#{window_activity}", expand=True),
        hooks.run(f"#{{?{due},{CLOSE},{ARM}}}", target=target),
    ]


def _counted(option: str) -> str:
    """One more; none while the clock is held, and from the beginning while somebody is attached."""
    return f"#{{?#{{session_attached}},0,#{{?#{{{HELD}}},#{{{option}}},#{{e|+|:#{{{option}}},1}}}}}}"


def _close(pane: PaneRef, clock: IdleClock) -> list[Command]:
    """Leave word, close the window wherever it is linked, and run what ends the rest of the tree.

    That program is without any say: the pane is closed before it starts, and neither its output nor its failure, which
    tmux would show in somebody's pane, goes anywhere.
    """
    word = f"#{{{QUIET}}} #{{{UNSET}}} {clock.interval.total_seconds():g}"
    closing: list[Command] = [
        ["set-option", "-s", "-F", "-t", _target(pane), f"{_CLOSED}{clock.name}", word],
        ["kill-window", "-t", pane.window_id],
    ]
    if clock.then:
        program = literal(shlex.join(clock.then))
        closing.append(["run-shell", "-b", f"{program} </dev/null >/dev/null 2>&1 || :"])
    return closing


def _option(target: str, name: str, value: str, *, expand: bool = False) -> Command:
    return ["set-option", "-p", *(["-F"] if expand else []), "-t", target, name, value]


def _target(pane: PaneRef) -> str:
    """The pane in its own session: the hub holds the same window, and has no clients that count."""
    return f"{pane.tmux_session_id}:{pane.window_id}.{pane.pane_id}"


def _joined(commands: Iterable[Command]) -> str:
    return " ; ".join(map(join, commands))
