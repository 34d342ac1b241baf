"""Hooks: commands of the user's and the project's `hooks.json`, each run to its end before the next."""

import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from e2e.cursor_emulator import jsonc
from e2e.cursor_emulator.places import Places

KNOWN = frozenset(
    {
        "sessionStart",
        "sessionEnd",
        "beforeSubmitPrompt",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "beforeShellExecution",
        "afterShellExecution",
        "beforeMCPExecution",
        "afterMCPExecution",
        "beforeReadFile",
        "afterFileEdit",
        "afterAgentResponse",
        "afterAgentThought",
        "preCompact",
        "subagentStart",
        "subagentStop",
        "stop",
    }
)
"""An unknown name voids its whole file."""

_LIMIT = timedelta(seconds=60)
_PASSED_ON = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")

Event = Mapping[str, object]


class Hooks:
    """Runs what is configured for an event in a thread of its own, in order."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._commands = {event: list(_commands(places, event)) for event in KNOWN}
        self._waiting: queue.SimpleQueue[Event | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run_all, name="hooks", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Returns at once."""
        self._waiting.put(event)

    def told(self) -> threading.Event:
        """Set once everything that was told before was run."""
        mark = threading.Event()
        self._waiting.put(mark)
        return mark

    def close(self, limit: timedelta) -> None:
        self._waiting.put(None)
        self._thread.join(limit.total_seconds())

    def _run_all(self) -> None:
        while (event := self._waiting.get()) is not None:
            if isinstance(event, threading.Event):
                event.set()
                continue
            for command in self._commands.get(str(event["hook_event_name"]), ()):
                self._run(command, json.dumps(event).encode())

    def _run(self, command: str, data: bytes) -> None:
        """Whatever becomes of it, the agent goes on."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        try:
            subprocess.run(
                command,
                shell=True,
                input=data,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._places.workspace,
                env=environment,
                timeout=_LIMIT.total_seconds(),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return


def _commands(places: Places, event: str) -> Iterator[str]:
    for path in places.configurations("hooks.json"):
        for entry in _entries(path, event):
            if isinstance(entry, dict) and isinstance(command := entry.get("command"), str):
                yield command


def _entries(path: Path, event: str) -> list[object]:
    hooks = jsonc.section(jsonc.load(path), "hooks")
    entries = hooks.get(event) if KNOWN.issuperset(hooks) else None
    return entries if isinstance(entries, list) else []
