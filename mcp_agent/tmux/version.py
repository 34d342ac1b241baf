"""Which tmux is installed, and whether it will do."""

import re
import shutil
import subprocess

from mcp_agent.errors import CannotRunHere, TmuxMissing, TmuxTooOld

OLDEST = (3, 2)
"""`new-session -e`, `-N` and control-mode subscriptions came with 3.2."""

_NUMBERS = re.compile(r"(?P<openbsd>openbsd-)?(?P<major>\d+)\.(?P<minor>\d+)")


def parse_version(output: str) -> tuple[str, tuple[int, int] | None]:
    """The version as tmux names it, and its numbers: None where they say nothing, as for OpenBSD's own count."""
    name = output.strip().removeprefix("tmux").strip()
    found = _NUMBERS.search(name)
    if not found or found["openbsd"]:
        return name, None
    return name, (int(found["major"]), int(found["minor"]))


def check_tmux() -> str:
    """The version of the tmux on PATH. Raises `TmuxMissing` or `TmuxTooOld`; a version without numbers is let pass."""
    executable = shutil.which("tmux")
    if executable is None:
        raise TmuxMissing
    try:
        ran = subprocess.run(
            [executable, "-V"], capture_output=True, text=True, errors="replace", timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CannotRunHere(f"`{executable} -V` gave no answer; is that tmux?") from problem
    if ran.returncode == 127:
        raise TmuxMissing
    name, numbers = parse_version(ran.stdout)
    if numbers is not None and numbers < OLDEST:
        raise TmuxTooOld(name, ".".join(map(str, OLDEST)))
    return name
