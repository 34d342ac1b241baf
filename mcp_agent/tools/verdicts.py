"""What the outcome of a call means: for the model, for the call's record, and for the log."""

import logging

from mcp_agent.calls.log import CallRecord, Happened, WhyEnded
from mcp_agent.calls.outcomes import Answered, Cancelled, Outcome, Raised, StoppedWaiting
from mcp_agent.errors import ToolError
from mcp_agent.tools import call_files, shell_result
from mcp_agent.tools.tool import ToolResult

log = logging.getLogger(__name__)


def answer(record: CallRecord, outcome: Outcome[ToolResult]) -> ToolResult:
    """What the model reads. Raises the refusal of a tool that started nothing."""
    match outcome:
        case Answered(result=result):
            return result
        case Raised(error=ToolError() as error):
            raise error
        case Raised(error=error):
            return ToolResult(
                f"ERROR: layer=server_tool owner=server tool={record.tool} session={record.session_id}"
                f" call_id={record.call_id} outcome=unknown: {type(error).__name__}: {error}\n"
                "It may have done a part of its work: check for its effect before doing it again."
            )
        case StoppedWaiting() | Cancelled():
            return ToolResult(outcome.text(), outcome.structured())


def why(outcome: Outcome[ToolResult]) -> WhyEnded:
    """Why the wait ended."""
    match outcome:
        case StoppedWaiting():
            return WhyEnded.TOOL_WAIT
        case Cancelled(layer="server_tool"):
            return WhyEnded.SERVER_TOOL
        case Answered(result=ToolResult(structured={"ended": call_files.KILLED_WORK_LIMIT})):
            return WhyEnded.SERVER_TOOL
        case Cancelled():
            return WhyEnded.CANCEL
        case _:
            return WhyEnded.RESULT


def happened(outcome: Outcome[ToolResult]) -> Happened:
    """What happened to the work. What raised may have done a part of it."""
    match outcome:
        case Answered(result=result):
            return _by_exit(result)
        case Raised(error=ToolError()):
            return Happened.NOT_STARTED
        case Cancelled():
            return Happened.CANCELLED
        case _:
            return Happened.UNKNOWN


def note(record: CallRecord, outcome: Outcome[ToolResult]) -> None:
    """Log what is no plain answer."""
    match outcome:
        case StoppedWaiting() | Cancelled():
            log.warning("%s", outcome.text().partition("\n")[0])
        case Raised(error=error) if not isinstance(error, ToolError):
            log.error("%s of %s: %s raised", record.call_id, record.session_id, record.tool, exc_info=error)
        case _:
            pass


def _by_exit(result: ToolResult) -> Happened:
    """A result is a success, but for what its own facts say of the work."""
    facts = result.structured or {}
    match facts.get("ended"):
        case call_files.KILLED_WORK_LIMIT | call_files.CANCELLED:
            return Happened.CANCELLED
        case call_files.NOT_STARTED:
            return Happened.NOT_STARTED
        case shell_result.UNKNOWN:
            return Happened.UNKNOWN
    failed = facts.get("exit_status") not in {0, None} or facts.get("signal") is not None
    return Happened.FAILED if failed else Happened.SUCCEEDED
