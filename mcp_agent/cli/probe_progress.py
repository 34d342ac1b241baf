"""What people see while probes run: what began, what is being waited for and since when, and what each probe found."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import cast

from rich.console import Console
from rich.status import Status
from rich.text import Text

from mcp_agent.durations import format_duration
from mcp_agent.scenarios.options import Listener
from mcp_agent.scenarios.results import MARKS, ProbeResult

_INDENT = " " * 12


@dataclass(slots=True)
class Waiting:
    """The line at the bottom of a terminal; it counts by itself."""

    probe: str = ""
    what: str = ""
    limit: timedelta | None = None
    began: float = field(default_factory=monotonic)

    def __rich__(self) -> Text:
        waited = int(monotonic() - self.began)
        told = f"{self.probe}: waits for {self.what}{_at_most(self.limit)}" if self.what else self.probe
        return Text(f"{told}  {waited} s", style="dim")


class ProbeProgress:
    """A listener for people. On a terminal its last line says what is waited for; elsewhere each wait is a line."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._waiting = Waiting("set-up", "a server of its own")
        self._status = Status(Text(), console=console)
        self._status.update(cast("str", self._waiting))

    def shown(self) -> AbstractContextManager[object]:
        """Keep the last line while the body runs."""
        return self._status if self._console.is_terminal else nullcontext()

    def listener(self) -> Listener:
        return Listener(say=self._say, probed=self._probed, begins=self._begins, waits=self._waits)

    def _say(self, text: str) -> None:
        self._console.print(Text(f"  {text}", style="dim"))

    def _begins(self, name: str) -> None:
        self._now(Waiting(name))
        if not self._console.is_terminal:
            self._console.print(Text(f"{'begins':12}{name}"))

    def _waits(self, what: str, limit: timedelta | None) -> None:
        self._now(Waiting(self._waiting.probe, what, limit))
        if not self._console.is_terminal:
            self._console.print(Text(f"  waits   for {what}{_at_most(limit)}", style="dim"))

    def _now(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._status.update(cast("str", waiting))

    def _probed(self, probe: ProbeResult) -> None:
        line = Text.assemble((f"{probe.result:12}", MARKS[probe.result]), f"{probe.name}  ")
        line.append(f"{probe.elapsed_seconds:.1f} s", style="dim")
        self._console.print(line)
        if probe.reason:
            self._console.print(Text(f"{_INDENT}{probe.reason}"))
        for shown in cast("list[str]", probe.evidence.get("screen", [])):
            self._console.print(Text(f"{_INDENT}| {shown}", style="dim"))
        if "server_log" in probe.evidence:
            self._console.print(Text(f"{_INDENT}the server's log: {probe.evidence['server_log']}"))


def _at_most(limit: timedelta | None) -> str:
    return "" if limit is None else f", at most {format_duration(limit)}"
