"""Commands that tmux runs by way of a hook. What a hook runs is parsed once, and freed with the hook.

What conditions, timers and commands in a string have run is never freed by tmux 3.3a: 0.4 to 0.8 KB with each use.
"""

from collections.abc import Sequence

from mcp_agent.tmux.protocol import join

Command = Sequence[str]

ONCE = "after-queue"
"""Ours for the length of one sequence. No command is called `queue`, so tmux never runs this hook by itself."""
NOTHING = "@mcp_nothing"
"""The hook to name where none shall run."""
_RAN = "@mcp_ran"


def define(hook: str, commands: str, *, target: str | None = None) -> Command:
    """Have a hook run these commands: the one of the target's session, or everybody's."""
    return ["set-hook", *_scope(target), hook, commands]


def forget(hook: str, *, target: str | None = None) -> Command:
    return ["set-hook", "-u", *_scope(target), hook]


def run(hook: str, *, target: str) -> Command:
    """Run a hook at a target. It may be named by a format. What it prints, failures too, is no answer to us."""
    return ["set-hook", "-R", "-t", target, hook]


def run_once(commands: str, *, target: str, condition: str | None = None) -> list[Command]:
    """Run commands once, if a condition, as a format, holds at the target. What tmux does as one sequence."""
    hook = ONCE if condition is None else f"#{{?{condition},{ONCE},{NOTHING}}}"
    return [define(ONCE, commands), run(hook, target=target), forget(ONCE)]


def block(command: Command) -> str:
    """A command as another's argument that is parsed together with it, instead of each time that it is run."""
    return f"{{ {join(command)} }}"


def ask_whether_they_run(target: str) -> list[Command]:
    """Prints what `do_run` reads."""
    ran = join(["set-option", "-g", _RAN, "1"])
    return [
        ["set-option", "-g", _RAN, "0"],
        *run_once(ran, target=target),
        ["display-message", "-p", "-t", target, f"#{{{_RAN}}}"],
    ]


def do_run(printed: Sequence[Sequence[str]]) -> bool:
    """Whether this tmux runs hooks when it is told to."""
    return printed[-1] == ["1"]


def _scope(target: str | None) -> list[str]:
    return ["-g"] if target is None else ["-t", target]
