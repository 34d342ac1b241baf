"""What can be wrong with the ledger of calls, or with what is asked of it.

McpAgentError
└── LedgerError
    ├── LedgerUnusable     the file cannot be read or written; nothing was started
    ├── DuplicateCall      a call id was used before
    └── UnknownCall
"""

from pathlib import Path

from mcp_agent.errors import McpAgentError


class LedgerError(McpAgentError):
    """Something about the ledger of calls."""


class LedgerUnusable(LedgerError):
    """The file is left as it is, whatever is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"the ledger of calls {path}: {problem}")


class DuplicateCall(LedgerError):
    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        super().__init__(f"call id {call_id} was used before; this call was not started")


class UnknownCall(LedgerError):
    exit_code = 2

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        super().__init__(f"no call {call_id}; see `mcp-agent calls list`")
