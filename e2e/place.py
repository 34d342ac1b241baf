"""One user's machine as a command sees it, and a search for anything that a command left behind."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import psutil

ROOT = Path(__file__).parent.parent
BINARIES = (ROOT / ".toolchain/bin", ROOT / "e2e/cursor_emulator/bin", Path(sys.executable).parent)
KEY = "sk-test-loopback"

LONGEST_COMMAND_SECONDS = 600


@dataclass(frozen=True)
class Done:
    """One finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        return cast("dict[str, object]", json.loads(self.out))

    def list_of(self, name: str) -> list[dict[str, object]]:
        """The objects that the printed one holds under this name."""
        return cast("list[dict[str, object]]", self.json[name])


@dataclass(frozen=True)
class Place:
    """One user's machine, as far as a command can see it."""

    root: Path
    environment: Mapping[str, str]

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def run(self, *arguments: str, **variables: str) -> Done:
        """Run `mcp-agent` to its end. A traceback never reaches a person."""
        done = subprocess.run(
            ["mcp-agent", *arguments],
            cwd=self.work,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_COMMAND_SECONDS,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def processes(self) -> Sequence[str]:
        """Every process that knows of this place by its environment, arguments or directory, but for ourselves."""
        return [_describe(process) for process in psutil.process_iter() if _knows(process, str(self.root))]

    def files(self) -> Sequence[str]:
        """Sockets, tokens and temporary files: what must not outlive a session and its server."""
        secret_or_passing = {"bridge.json", "mcp.json", "settings.json", "server.json"}
        return [
            str(path.relative_to(self.root))
            for path in self.root.rglob("*")
            if path.is_socket() or path.name in secret_or_passing or (path.is_file() and "tmp" in path.parts[-2:-1])
        ]


def _knows(process: psutil.Process, root: str) -> bool:
    try:
        seen = [*process.cmdline(), *process.environ().values(), process.cwd()]
    except psutil.Error:
        return False
    return process.pid != os.getpid() and any(root in text for text in seen)


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())}"
    except psutil.Error:
        return str(process.pid)
