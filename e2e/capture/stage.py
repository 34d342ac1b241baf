"""One CLI in a pane of a tmux server of its own, and what its screen shows."""

import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import anyio
import psutil

from e2e.capture.model import KEY, HeldModel
from mcp_agent.adapter import Adapter, Launch, LaunchRequest, ModelEndpoint, Screen
from mcp_agent.tmux.screen import read_screen

PROJECT = Path(__file__).parents[2]
BINARIES = PROJECT / ".toolchain/bin"
MCP_SERVER = PROJECT / "tests/adapters/stdio_mcp_server.py"
ROWS = 40
APPEARS_WITHIN = timedelta(seconds=30)
ENDS_WITHIN = timedelta(seconds=5)
SETTLED_AFTER_SECONDS = 0.5


class NeverShown(Exception):
    """A screen did not come; its last look is the message."""


@dataclass
class Stage:
    """The CLI's place: a home, a working directory and a socket below `root`, which nobody else uses."""

    root: Path
    adapter: Adapter
    model: HeldModel
    columns: int
    into: Path
    requests: int = 0
    """How many launches were asked for: each has a conversation's id of its own, the same in every run."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    def tmux(self, *words: str, given: str | None = None, environment: Mapping[str, str] | None = None) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", "-S", str(self.root / "tmux"), *words]
        done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    def request(self) -> LaunchRequest:
        """A first launch in a home of ours, in a directory that is trusted, with the tool allowed."""
        self.requests += 1
        log = self.root / "mcp.log"
        return LaunchRequest(
            session_id="s-capture",
            executable=BINARIES / self.adapter.executable,
            working_directory=self.home / "work",
            session_directory=self.root,
            home=self.home,
            home_is_ours=True,
            bridge_command=(sys.executable, "-I", str(MCP_SERVER), str(log)),
            event_command=("/bin/sh", "-c", 'tr -d "\\n" >>"$0"; echo >>"$0"', str(self.root / "events")),
            mcp_call=timedelta(minutes=90),
            native_session_id=str(uuid.UUID(int=self.requests, version=4)),
            resume=False,
            allow_tools=frozenset({"execute_shell_command"}),
            provider_shell=False,
            trust=True,
            endpoint=ModelEndpoint(self.model.url, KEY),
        )

    def launch(self, **changes: object) -> Launch:
        """The adapter's own launch, of the request with these changes, and its files written."""
        launch = self.adapter.launch(replace(self.request(), **changes))  # type: ignore[arg-type]
        for file in launch.files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_text(file.text)
        return launch

    def start(self, launch: Launch, **more: str) -> None:
        """The CLI as the pane's process, with no variable of the caller's; what ran there before is ended."""
        environment = {
            "PATH": f"{BINARIES}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **launch.environment,
            **more,
        }
        size = ("-x", str(self.columns), "-y", str(ROWS))
        self.end()
        self.tmux(
            *("set-option", "-g", "remain-on-exit", "on", ";"),
            *("new-session", "-d", "-s", "stage", *size, "-c", str(self.home / "work"), "--", *launch.argv),
            environment=environment,
        )

    def end(self) -> None:
        """End all that runs in the pane, and its tmux, and wait until it is gone."""
        socket = self.root / "tmux"
        if socket.exists():
            running = self._processes()
            self.tmux("kill-server")
            _, left = psutil.wait_procs(running, timeout=ENDS_WITHIN.total_seconds())
            for process in left:
                process.kill()
            psutil.wait_procs(left, timeout=ENDS_WITHIN.total_seconds())
            socket.unlink(missing_ok=True)
        (self.root / "mcp.log").unlink(missing_ok=True)

    def _processes(self) -> list[psutil.Process]:
        """The CLI and its descendants."""
        with suppress(psutil.NoSuchProcess):
            cli = psutil.Process(int(self.tmux("display-message", "-p", "-t", "stage", "#{pane_pid}")))
            return [cli, *cli.children(recursive=True)]
        return []

    def screen(self) -> Screen:
        lines, dim = read_screen(self._printed().split("\n"))
        title = self.tmux("display-message", "-p", "-t", "stage", "#{pane_title}").strip()
        return Screen(lines, title, dim)

    def _printed(self) -> str:
        return self.tmux("capture-pane", "-p", "-e", "-J", "-t", "stage")

    async def until(self, shows: str, *, within: timedelta = APPEARS_WITHIN, settled: bool = False) -> None:
        """Waits for this pattern anywhere on the screen, and with `settled` for nothing to move any more."""
        last, since = "", time.monotonic()
        with anyio.move_on_after(within.total_seconds()):
            while True:
                now = self.screen().text
                since = since if now == last else time.monotonic()
                last = now
                rested = time.monotonic() - since >= SETTLED_AFTER_SECONDS
                if re.search(shows, " ".join(now.split())) and (rested or not settled):
                    return
                await anyio.sleep(0.1)
        raise NeverShown(f"{shows!r} at {self.columns} columns:\n{last}")

    async def tools_listed(self) -> None:
        """Waits until the CLI has asked the MCP server for its tools."""
        log = self.root / "mcp.log"
        with anyio.fail_after(APPEARS_WITHIN.total_seconds()):
            while not log.exists() or '"tools/list"' not in log.read_text():  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(0.1)

    async def paste(self, text: str) -> None:
        self.tmux("load-buffer", "-b", "stage", "-", given=text)
        self.tmux("paste-buffer", "-d", "-p", "-r", "-b", "stage", "-t", "stage")
        await anyio.sleep(0.5)

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", "-t", "stage", key)
            await anyio.sleep(0.2)

    async def type(self, text: str) -> None:
        self.tmux("send-keys", "-t", "stage", "-l", text)
        await anyio.sleep(0.5)

    async def submit(self, text: str) -> None:
        await self.paste(text)
        await self.press("Enter")

    def keep(self, name: str) -> None:
        """The screen as `capture-pane` prints it, under its name and its width."""
        self.into.mkdir(parents=True, exist_ok=True)
        printed = self._printed()
        (self.into / f"{name}-{self.columns}.ansi.txt").write_text(printed, encoding="utf-8")


@asynccontextmanager
async def stage(root: Path, adapter: Adapter, model: HeldModel, *, columns: int, into: Path) -> AsyncIterator[Stage]:
    """Makes the place, and takes it away with all that runs there. `root` must not exist."""
    root.mkdir(mode=0o700)
    found = Stage(root, adapter, model, columns, into)
    try:
        (found.home / "work").mkdir(parents=True)
        (found.home / "tmp").mkdir()
        yield found
    finally:
        found.end()
        shutil.rmtree(root)
