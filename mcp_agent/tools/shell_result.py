"""What a model is told of a shell command: the facts on record, and as much output as it should read."""

from mcp_agent.calls.ledger_events import Happened
from mcp_agent.calls.outcomes import Cancelled, seconds_text
from mcp_agent.tools import call_files
from mcp_agent.tools.call_files import ExitRecord
from mcp_agent.tools.clipping import Stream, clip_pair
from mcp_agent.tools.tool import CallContext

UNKNOWN = "unknown"

LOST = (
    "The supervisor of this command was killed, and what was found of the command was ended; something of it may still"
    " run. Whether the command did its work is unknown: check for its effect before running it again, and tell the"
    " owner."
)


def shell_result(
    record: ExitRecord | None, context: CallContext, *, timeout_seconds: float | None, budget_bytes: int
) -> dict[str, object]:
    """The answer of one call; without a record the supervisor was killed, and the outcome is unknown."""
    directory = context.call_directory
    stdout, stderr = clip_pair(
        Stream(directory / call_files.STDOUT, record and record.stdout_bytes),
        Stream(directory / call_files.STDERR, record and record.stderr_bytes),
        budget_bytes=budget_bytes,
    )
    told = {
        "exit_status": record and record.exit_status,
        "signal": record and record.signal,
        "ended": UNKNOWN if record is None else record.ended,
        "stdout": stdout.text,
        "stderr": stderr.text,
        "elapsed_seconds": record and round(record.elapsed_seconds, 3),
    }
    remarks = {
        "stdout_omitted_bytes": stdout.omitted_bytes,
        "stderr_omitted_bytes": stderr.omitted_bytes,
        "call_id": (stdout.omitted_bytes or stderr.omitted_bytes) and context.call_id,
        "binary": stdout.binary or stderr.binary,
        "capture_error": record and record.capture_error,
        "survivors": record and record.survivors,
        "error": record and record.error,
        "message": _message(record, context, timeout_seconds),
    }
    return told | {name: remark for name, remark in remarks.items() if remark}


def happened(record: ExitRecord | None) -> Happened:
    """What the record says of the work."""
    match record:
        case None:
            return Happened.UNKNOWN
        case ExitRecord(ended=call_files.KILLED_WORK_LIMIT | call_files.CANCELLED):
            return Happened.CANCELLED
        case ExitRecord(ended=call_files.NOT_STARTED):
            return Happened.NOT_STARTED
        case ExitRecord(exit_status=0):
            return Happened.SUCCEEDED
        case _:
            return Happened.FAILED


def _message(record: ExitRecord | None, context: CallContext, timeout_seconds: float | None) -> str | None:
    if record is None:
        return LOST
    match record.ended:
        case call_files.KILLED_TIMEOUT if timeout_seconds is not None:
            return (
                f"The command was killed: it still ran after timeout_seconds={seconds_text(timeout_seconds)[:-1]}."
                " What it did before that stays done."
            )
        case call_files.KILLED_WORK_LIMIT:
            return _work_limit_message(record, context)
        case _:
            return None


def _work_limit_message(record: ExitRecord, context: CallContext) -> str:
    return Cancelled(
        call_id=context.call_id,
        tool="execute_shell_command",
        session_id=context.session_id,
        layer="server_tool",
        owner="supervisor",
        elapsed_seconds=record.elapsed_seconds,
        limit_seconds=None if context.work_limit is None else context.work_limit.total_seconds(),
    ).text()
