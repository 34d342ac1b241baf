"""What the outcome of a call means: for the model, for the ledger, and for the log."""

import logging

from mcp_agent.calls import ledger_events as facts
from mcp_agent.calls.ledger_events import Happened, WhyEnded
from mcp_agent.calls.outcomes import Answered, Cancelled, Outcome, Raised, StoppedWaiting, seconds_text
from mcp_agent.errors import ToolError
from mcp_agent.tools.custom_errors import ToolRefused, WorkAbandoned
from mcp_agent.tools.tool import CallContext, ToolResult

log = logging.getLogger(__name__)

LONGEST_DETAIL = 2000


def answer(outcome: Outcome[ToolResult], context: CallContext, *, tool: str) -> ToolResult:
    """What the model reads. Raises the refusal of a tool that started nothing."""
    match outcome:
        case Answered(result=result):
            return result
        case Raised(error=ToolError() as error):
            raise error
        case Raised(error=error):
            return ToolResult(
                f"ERROR: layer=server_tool owner=server tool={tool} session={context.session_id}"
                f" call_id={context.call_id} outcome=unknown: {type(error).__name__}: {error}\n"
                "It may have done a part of its work: check for its effect before doing it again."
            )
        case StoppedWaiting() | Cancelled():
            return ToolResult(outcome.text(), outcome.structured())


def why(outcome: Outcome[ToolResult]) -> WhyEnded:
    """Why the wait ended."""
    match outcome:
        case Answered(result=result):
            return result.why
        case StoppedWaiting():
            return WhyEnded.TOOL_WAIT
        case Cancelled(layer="server_tool"):
            return WhyEnded.SERVER_TOOL
        case Cancelled():
            return WhyEnded.CANCEL
        case Raised():
            return WhyEnded.RESULT


def observed(outcome: Outcome[ToolResult], *, late: bool = False) -> facts.Outcome:
    """The fact that the ledger keeps of it."""
    return facts.Outcome(_happened(outcome), detail=_detail(outcome), result_bytes=_size(outcome), late=late)


def log_unusual(outcome: Outcome[ToolResult], *, call_id: str, session_id: str) -> None:
    """Log what is no plain answer."""
    match outcome:
        case StoppedWaiting() | Cancelled():
            log.warning("%s", outcome.text().partition("\n")[0])
        case Raised(error=error) if not isinstance(error, ToolError):
            log.error("%s of %s: its tool raised", call_id, session_id, exc_info=error)
        case _:
            pass


def _happened(outcome: Outcome[ToolResult]) -> Happened:
    """What raised may have done a part of it; work that could not be stopped may yet do all of it."""
    match outcome:
        case Answered(result=result):
            return result.happened
        case Raised(error=ToolRefused()):
            return Happened.FAILED
        case Raised(error=ToolError()):
            return Happened.NOT_STARTED
        case Cancelled(cleanup_error=WorkAbandoned()):
            return Happened.UNKNOWN
        case Cancelled():
            return Happened.CANCELLED
        case _:
            return Happened.UNKNOWN


def _detail(outcome: Outcome[ToolResult]) -> str:
    match outcome:
        case Answered(result=result):
            return result.text[:LONGEST_DETAIL]
        case Raised(error=error):
            return f"{type(error).__name__}: {error}"[:LONGEST_DETAIL]
        case StoppedWaiting(limit_seconds=limit_seconds):
            return f"waited for {seconds_text(limit_seconds)}"
        case Cancelled(cleanup_error=error):
            return "" if error is None else f"its clean-up raised {type(error).__name__}: {error}"[:LONGEST_DETAIL]


def _size(outcome: Outcome[ToolResult]) -> int | None:
    return len(outcome.result.text.encode("utf-8", "replace")) if isinstance(outcome, Answered) else None
