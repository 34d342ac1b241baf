"""A server that writes nothing down, to see what writing costs: `python -m benchmarks.no_ledger`.

Nobody should run one: calls that a crash cuts off are forgotten, and no retry is held back.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Event, Intent
from mcp_agent.calls.ledger_file import LEDGER
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.server import runtime
from mcp_agent.server.serving import main


@dataclass(slots=True, eq=False)
class NoLedger(Ledger):
    """Takes every fact, and keeps none."""

    @classmethod
    def open(cls, path: Path, **_: object) -> Self:
        return cls(path, LEDGER.open_for_reading(path))

    def intent(self, call_id: str, intent: Intent) -> None:
        pass

    def append(self, call_id: str, *events: Event) -> None:
        pass

    def similar(self, session: str, tool: str, *, digest: str) -> tuple[CallState, ...]:
        return ()

    def late_unoffered(self, session: str) -> tuple[CallState, ...]:
        return ()


if __name__ == "__main__":
    vars(runtime)["Ledger"] = NoLedger
    sys.exit(main(os.environ))
