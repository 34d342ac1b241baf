"""Waiting for an execution that may need somebody's answer meanwhile."""

from datetime import timedelta

import anyio

from mcp_agent.executions.records import ExecutionRecord
from mcp_agent.executions.service import Executions
from mcp_agent.executions.views import needs_person

LOOK_AGAIN_AFTER = timedelta(seconds=1)


async def ended_or_changed(
    executions: Executions, execution_id: str, *, limit: timedelta, needed_person: bool | None
) -> ExecutionRecord:
    """The execution once it has ended, or needs somebody and did not, or the reverse; as it is after the limit.

    None: only its end is waited for. Raises as `Executions.get` does.
    """
    if needed_person is None:
        return await executions.wait(execution_id, limit=limit)
    with anyio.move_on_after(limit.total_seconds()):
        while True:
            record = await executions.wait(execution_id, limit=LOOK_AGAIN_AFTER)
            if record.is_finished or needs_person(record, executions) != needed_person:
                return record
    return executions.get(execution_id)
