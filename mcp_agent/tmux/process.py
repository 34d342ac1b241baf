"""tmux commands run as processes of their own: for starting servers and for text that must come from stdin."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.abc

from mcp_agent.errors import TmuxCommandFailed, TmuxMissing, TmuxUnavailable

PATIENCE = timedelta(seconds=5)
"""How long a tmux server may take to answer."""

_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR")
_NO_ANSWER = (
    "no server running",
    "error connecting",
    "failed to connect",
    "lost server",
    "server exited",
    "server version is too old",
    "protocol version mismatch",
    "couldn't create socket",
    "can't use",
    "access not allowed",
    "can't change to",
)


def scrubbed_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """All that a tmux server, and so each of its panes, may inherit from whoever starts it."""
    kept = {name: value for name, value in caller.items() if name in _KEPT or name.startswith("LC_")}
    language = caller.get("LANG", "")
    utf8 = language.lower().endswith(("utf-8", "utf8"))
    return kept | {"LANG": language if utf8 else "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/sh"}


@dataclass(frozen=True, slots=True)
class Tmux:
    """One tmux server, by its socket: how its commands are run."""

    executable: str
    socket: Path
    patience: timedelta = PATIENCE

    @classmethod
    def at(cls, socket: Path, *, patience: timedelta = PATIENCE) -> "Tmux":
        """The tmux on PATH, with this socket. Raises `TmuxMissing`."""
        executable = shutil.which("tmux")
        if executable is None:
            raise TmuxMissing
        return cls(executable, socket, patience)

    def argv(self, *arguments: str) -> list[str]:
        """A command line that reads no user's configuration and speaks UTF-8."""
        return [self.executable, "-u", "-f", "/dev/null", "-S", str(self.socket), *arguments]

    async def open(self, *arguments: str, stdout: int = PIPE) -> anyio.abc.Process:
        """Start a tmux client with pipes and a scrubbed environment, out of reach of our terminal's Ctrl-C."""
        environment = scrubbed_environment(os.environ)
        # Cancelled in the middle, it would leave a client that nobody waits for.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                self.argv(*arguments), stdin=PIPE, stdout=stdout, stderr=PIPE, env=environment, start_new_session=True
            )
        return process  # noqa: RET504 - for mypy a scope may swallow what is returned in it

    async def run(self, *arguments: str, stdin: bytes = b"") -> str:
        """What the command printed. Raises `TmuxCommandFailed` for tmux's own refusal, `TmuxUnavailable` for no answer.

        Arguments are seen by every user of the machine: nothing secret may stand in them.
        """
        try:
            with anyio.fail_after(self.patience.total_seconds()):
                status, printed, problem = await self._finish(arguments, stdin)
        except TimeoutError as late:
            waited = self.patience.total_seconds()
            raise TmuxUnavailable(f"tmux {_verb(arguments)}: no answer within {waited:g} s") from late
        if status == 0:
            return printed
        if status != 1 or not problem or problem.startswith(_NO_ANSWER):
            raise TmuxUnavailable(f"tmux {_verb(arguments)}: {problem or f'exit status {status}'}")
        raise TmuxCommandFailed(_verb(arguments), problem)

    async def _finish(self, arguments: tuple[str, ...], stdin: bytes) -> tuple[int, str, str]:
        output: list[bytes] = []
        problem: list[bytes] = []
        try:
            process = await self.open(*arguments)
        except OSError as error:
            raise TmuxUnavailable(f"tmux could not be run: {error}") from error
        async with process, anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, process.stdout, output)
            tasks.start_soon(_collect, process.stderr, problem)
            await _supply(process.stdin, stdin)
            await process.wait()
        return process.returncode or 0, _decoded(output), _decoded(problem).strip()


async def _collect(stream: anyio.abc.ByteReceiveStream | None, into: list[bytes]) -> None:
    if stream is not None:
        async for part in stream:
            into.append(part)  # noqa: PERF401 -- what was read before a failure is kept


async def _supply(stream: anyio.abc.ByteSendStream | None, data: bytes) -> None:
    if stream is not None:
        with suppress(anyio.BrokenResourceError):
            await stream.send(data)
        with suppress(anyio.BrokenResourceError, OSError):
            await stream.aclose()


def _decoded(parts: list[bytes]) -> str:
    return b"".join(parts).decode("utf-8", "replace")


def _verb(arguments: tuple[str, ...]) -> str:
    return next((word for word in arguments if not word.startswith("-")), "")
