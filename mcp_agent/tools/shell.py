"""`execute_shell_command`: one shell command of a session, supervised until nothing of it is left."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from mcp_agent.calls.ledger_events import WhyEnded
from mcp_agent.processes import CALL_MARK, SESSION_MARK
from mcp_agent.tools import call_files, shell_evidence
from mcp_agent.tools.arguments import parse, schema_of_model
from mcp_agent.tools.bounds import SHOWN_BYTES
from mcp_agent.tools.call_files import ExitRecord, Spec
from mcp_agent.tools.shell_result import happened, shell_result
from mcp_agent.tools.supervision import Supervision
from mcp_agent.tools.tool import CallContext, Category, ToolResult, Verdict

GRACE = timedelta(seconds=2)
"""Between TERM and KILL."""

WAIT_BEYOND_TIMEOUT = timedelta(seconds=30)
"""What is waited beyond a command's own timeout, so that the answer says what the timeout did."""

LONGEST_TIMEOUT = timedelta(hours=24)

CAPTURE_BYTES = 64 << 20
"""What is kept of each output stream."""

NOT_INTERACTIVE = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "TERM": "dumb",
}
"""Nobody is there to answer a question, leave an editor or turn a page."""

DESCRIPTION = """\
Run a shell command (bash) and wait until it ends. Answers a JSON object: exit_status (null when a signal ended it), \
signal, ended, stdout, stderr and elapsed_seconds. Long output is shown as its beginning and its end; \
get_tool_output reads all of it by the call_id that is then told.
`ended` is exited, killed_timeout (it ran into timeout_seconds and was killed with everything it started), \
killed_work_limit, not_started (see error) or unknown.
stdin is empty and there is no terminal: programs that ask questions fail instead of waiting.
The answer comes when the command itself ends. What it left in the background (`server &`) runs on until the session \
stops: `survivors` has the pids. Redirect its output to a file: what it writes later is lost otherwise."""


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


Text = Annotated[str, AfterValidator(_no_nul), AfterValidator(_not_blank)]


class ShellArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Annotated[Text, Field(description="The command line, run by `bash -c`.")]
    working_directory: Annotated[
        Text | None,
        Field(description="Where to run it: an absolute path, or one relative to the session's working directory."),
    ] = None
    timeout_seconds: Annotated[
        float | None,
        Field(
            gt=0,
            le=LONGEST_TIMEOUT.total_seconds(),
            allow_inf_nan=False,
            description="Kill the command, and everything it started, after this many seconds.",
        ),
    ] = None


class ExecuteShellCommand:
    """The tool. One instance serves any number of calls at a time."""

    name = "execute_shell_command"
    description = DESCRIPTION
    category: Category = "virtual"
    long_running = True
    read_only = False
    idempotent = False

    def __init__(
        self, *, grace: timedelta = GRACE, capture_bytes: int = CAPTURE_BYTES, shown_bytes: int = SHOWN_BYTES
    ) -> None:
        self._grace = grace
        self._capture_bytes = capture_bytes
        self._shown_bytes = shown_bytes
        self._staying: list[Supervision] = []
        """Supervisors that stay with what their commands left running."""

    @property
    def input_schema(self) -> Mapping[str, object]:
        return schema_of_model(ShellArguments)

    @property
    def annotations(self) -> Mapping[str, object]:
        return {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}

    def validate(self, arguments: Mapping[str, object]) -> ShellArguments:
        return parse(ShellArguments, arguments, tool=self.name)

    def wait_limit(self, arguments: ShellArguments) -> timedelta | None:
        if arguments.timeout_seconds is None:
            return None
        return timedelta(seconds=arguments.timeout_seconds) + WAIT_BEYOND_TIMEOUT

    def announce(self, context: CallContext) -> None:
        call_files.announce(context.call_directory)

    def withdraw(self, context: CallContext) -> None:
        call_files.withdraw(context.call_directory)

    async def run(self, context: CallContext, arguments: ShellArguments) -> ToolResult:
        """Run the command to its end. A cancellation ends everything it started before it goes on."""
        await checkpoint_if_cancelled()
        self._collect()
        supervision = self._start(context, arguments)
        try:
            await supervision.finished()
            record = call_files.read_exit(context.call_directory)
            if record is None:
                await supervision.end_unsupervised()
            elif not record.survivors:
                await supervision.left()
        except anyio.get_cancelled_exc_class():
            if not context.server_stops():
                with anyio.CancelScope(shield=True):
                    await supervision.end(grace=self._grace)
            raise
        finally:
            supervision.close()
            self._staying.append(supervision)
            self._collect()
        return self._result(record, context, timeout_seconds=arguments.timeout_seconds)

    async def check(self, call_id: str, context: CallContext, arguments: ShellArguments) -> Verdict:
        """From the supervisor's files and the process table: cheap, and read-only."""
        return await anyio.to_thread.run_sync(shell_evidence.look, call_id, context.call_directory)

    async def recover(self, context: CallContext) -> ToolResult | None:
        """Wait for a command that another server's supervisor runs; None when nothing tells of it any more."""
        try:
            record = await shell_evidence.wait(context.call_id, context.call_directory)
        except anyio.get_cancelled_exc_class():
            if not context.server_stops():
                with anyio.CancelScope(shield=True):
                    await shell_evidence.end(context.call_id, context.call_directory, grace=self._grace)
            raise
        if record is None:
            return None
        timeout_seconds = call_files.read_spec(context.call_directory).timeout_seconds
        return self._result(record, context, timeout_seconds=timeout_seconds)

    def _result(self, record: ExitRecord | None, context: CallContext, *, timeout_seconds: float | None) -> ToolResult:
        structured = shell_result(record, context, timeout_seconds=timeout_seconds, budget_bytes=self._shown_bytes)
        killed_by_limit = record is not None and record.ended == call_files.KILLED_WORK_LIMIT
        return ToolResult(
            json.dumps(structured, ensure_ascii=False),
            structured,
            happened=happened(record),
            why=WhyEnded.SERVER_TOOL if killed_by_limit else WhyEnded.RESULT,
        )

    def _start(self, context: CallContext, arguments: ShellArguments) -> Supervision:
        marks = {SESSION_MARK: context.session_id, CALL_MARK: context.call_id}
        directory = context.call_directory
        call_files.write_spec(directory, self._spec(context, arguments, marks))
        return Supervision.start(directory, call_id=context.call_id, marks=marks)

    def _spec(self, context: CallContext, arguments: ShellArguments, marks: Mapping[str, str]) -> Spec:
        return Spec(
            command=arguments.command,
            working_directory=os.fspath(context.working_directory / Path(arguments.working_directory or ".")),
            environment={**context.environment, **NOT_INTERACTIVE, **marks},
            timeout_seconds=arguments.timeout_seconds,
            work_limit_seconds=None if context.work_limit is None else context.work_limit.total_seconds(),
            grace_seconds=self._grace.total_seconds(),
            max_output_bytes=self._capture_bytes,
        )

    def _collect(self) -> None:
        self._staying = [supervision for supervision in self._staying if not supervision.collect()]
