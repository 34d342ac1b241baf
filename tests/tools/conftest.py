"""A shell tool, calls to run it with, and the promise that no test leaves a process behind."""

import itertools
import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_agent.processes import SESSION_MARK, ProcessIdentity, identify, is_alive, marked
from mcp_agent.processes.reaping import reap
from mcp_agent.tools.shell import ExecuteShellCommand
from mcp_agent.tools.tool import CallContext

BOUND_SECONDS = 30.0
"""Far beyond what anything here takes: reached only when something hangs."""

GRACE = timedelta(milliseconds=300)


@dataclass
class Shell:
    """The tool, used the way the server does."""

    tool: ExecuteShellCommand
    session_id: str
    root: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def workspace(self) -> Path:
        return self.root / "work"

    def context(self, *, work_limit: timedelta | None = None, **environment: str) -> CallContext:
        call_id = f"call_{self.session_id}_{next(self.numbers)}"
        return CallContext(
            call_id=call_id,
            session_id=self.session_id,
            call_directory=self.root / call_id,
            working_directory=self.workspace,
            environment={"PATH": os.environ["PATH"], "HOME": str(self.root), **environment},
            work_limit=work_limit,
        )

    async def run(self, command: str, *, context: CallContext | None = None, **arguments: object) -> dict[str, Any]:
        """The structured answer, which is the text's too."""
        parsed = self.tool.validate({"command": command, **arguments})
        context = context or self.context()
        self.tool.announce(context)
        with anyio.fail_after(BOUND_SECONDS):
            result = await self.tool.run(context, parsed)
        assert result.structured == json.loads(result.text)
        return dict(result.structured or {})

    def processes(self) -> list[ProcessIdentity]:
        """Every living process of this shell's commands that kept its mark, supervisors included."""
        return marked(SESSION_MARK, self.session_id)


@dataclass
class Fifo:
    """Where a command tells that it got somewhere."""

    path: Path
    descriptor: int
    received: bytes = b""

    async def lines(self, count: int) -> list[str]:
        """Wait for that many lines."""
        with anyio.fail_after(BOUND_SECONDS):
            while self.received.count(b"\n") < count:
                await anyio.wait_readable(self.descriptor)
                self.received += os.read(self.descriptor, 4096)
        return self.received.decode().split()

    async def running(self, count: int) -> list[ProcessIdentity]:
        """Wait until that many processes have told their pids."""
        found = [identify(int(line)) for line in await self.lines(count)]
        assert all(found)
        return [process for process in found if process and is_alive(process)]


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    shell = Shell(ExecuteShellCommand(grace=GRACE), f"s-{secrets.token_hex(8)}", tmp_path)
    shell.workspace.mkdir()
    yield shell
    assert await reap(shell.processes, grace=timedelta(seconds=5)) == []


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Fifo]:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    # Open for writing too, so that no writer's end is the end of the stream.
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    yield Fifo(path, descriptor)
    os.close(descriptor)
