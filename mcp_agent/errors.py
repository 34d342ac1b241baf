"""Every error this package raises on purpose.

    McpAgentError
    ├── UsageError                 exit 2: what was asked for cannot be asked for
    │   ├── UnknownAdapter
    │   ├── BadWorkingDirectory
    │   ├── BadConfiguration
    │   ├── BadSessionName
    │   ├── BadVariable
    │   ├── UnknownPermissionMode
    │   └── BadRequest
    ├── CredentialsMissing         exit 3
    ├── CannotRunHere              exit 4: something this machine needs is not there
    │   ├── CliNotInstalled
    │   ├── NothingToInstall       no package of it is published
    │   ├── InstallFailed
    │   ├── CliUnusable            it is installed and does not run
    │   ├── TmuxMissing
    │   ├── TmuxTooOld
    │   └── NoTerminal
    ├── LoginInvalid               exit 5
    ├── Limited                    exit 6: the provider's rate or usage limit, or its model is down
    ├── TmuxError
    │   ├── TmuxUnavailable        a call failed or was slow: says nothing about any pane
    │   ├── TmuxCommandFailed
    │   ├── PaneGone
    │   └── PaneDead
    ├── ProcessError
    │   └── SignalRefused
    ├── ServerError
    │   ├── ServerUnreachable
    │   ├── ServerStartFailed
    │   ├── ServerAlreadyRunning
    │   ├── CallNotTaken           the server stops: the call was not started
    │   ├── ServerStopped          a wait ended with the server; what it waited for goes on
    │   └── ServerStopping         the work of a call goes on without its server
    ├── SessionError
    │   ├── UnknownSession
    │   ├── SessionNameTaken
    │   ├── SessionEnded
    │   ├── NotResumable           exit 2: its conversation cannot be gone on with
    │   ├── ResumeFailed           the CLI did not take its conversation up; the session is as it was
    │   ├── ConversationInUse      exit 2: another session has this conversation
    │   ├── SessionBlocked         a dialog needs a person
    │   ├── PromptReadyTimedOut
    │   ├── SendRefused
    │   ├── KeyboardTaken          another process of ours types into the pane
    │   ├── CommandRefused         exit 2: not a command that this CLI could be given
    │   ├── UnknownMessage         exit 2
    │   ├── NotWithdrawn           the message waits no longer
    │   ├── Unconfirmed            a prompt may or may not have arrived
    │   ├── TurnFailed
    │   ├── TurnDeadlinePassed     the caller's own limit; the turn was interrupted
    │   └── AskWithdrawn           the caller's own limit; the prompt waited still and was withdrawn
    ├── ToolError
    │   ├── UnknownTool            exit 2
    │   ├── BadArguments           exit 2
    │   ├── ToolNotAllowed
    │   └── TurnAborted            the turn was interrupted: its calls are refused
    ├── LedgerError
    │   ├── LedgerUnusable         the ledger of calls cannot be read or written
    │   ├── DuplicateCall          a call id was used before
    │   └── UnknownCall
    ├── StoreError
    │   └── StoreUnusable          what is kept of sessions cannot be read or written
    ├── ExecutionError
    │   ├── UnknownExecution       exit 2
    │   ├── UnknownAgent           exit 2: no agent of this name is configured
    │   ├── WorktreeNotMade
    │   ├── BadDeadline            exit 2
    │   ├── IdempotencyKeyReused   exit 2: with other arguments
    │   ├── TooDeep                the chain of executions is as long as it may be
    │   ├── QueueFull
    │   ├── ExecutionsUnusable     what is kept of executions cannot be read or written
    │   │   ├── ExecutionUnreadable  what is kept of one of them cannot be read
    │   │   └── EndNotWritten      nothing of it runs any more, and that could not be written yet
    │   ├── EngineUnavailable      the database that drives executions does not answer
    │   │   └── EngineReplaced     its file was removed or replaced while it was open
    │   ├── ExecutionEnded         it is over, and did not succeed
    │   └── ExecutionGoesOn        exit 124: somebody stopped waiting, and it is not over
    ├── AccessDenied
    ├── SecretInReport
    ├── RemoteError                an error that the server reported, on the client's side
    └── Internal                   a fault of ours; the traceback is in the log

Errors carry fields and build their sentence from them, so that a caller can act on the fields and a person can read
the sentence: what happened, where, and what to do about it.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

_SHOWN = 60
"""How much of a text that somebody typed is repeated to them."""
AFTER_A_CHANGE = (
    "a running server keeps the configuration that it was started with: `mcp-agent server stop` after a change"
)


class McpAgentError(Exception):
    """The root: anything here is shown to a person as one line."""

    exit_code: ClassVar[int] = 1

    @property
    def kind(self) -> str:
        """The error's name, as it travels over HTTP and in `--json`."""
        return type(self).__name__


class UsageError(McpAgentError):
    exit_code = 2


class UnknownAdapter(UsageError):
    def __init__(self, name: str, installed: Sequence[str]) -> None:
        self.name, self.installed = name, tuple(installed)
        super().__init__(f"unknown provider {name!r}; known: {', '.join(self.installed) or 'none'}")


class BadWorkingDirectory(UsageError):
    def __init__(self, path: Path | str, problem: str) -> None:
        self.path, self.problem = Path(path), problem
        super().__init__(f"working directory {path}: {problem}; name an existing directory that you may write to")


class BadConfiguration(UsageError):
    def __init__(self, path: Path | str, problem: str) -> None:
        self.path, self.problem = Path(path), problem
        super().__init__(f"{path}: {problem}")


class BadSessionName(UsageError):
    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name[:_SHOWN], problem
        super().__init__(f"session name {self.name!r} {problem}")


class BadVariable(UsageError):
    """A variable that no session can be given; its value is never told."""

    def __init__(self, variable: str, problem: str) -> None:
        self.variable, self.problem = variable[:_SHOWN], problem
        super().__init__(f"variable {self.variable!r} {problem}")


class UnknownPermissionMode(UsageError):
    def __init__(self, mode: str, provider: str, known: Sequence[str]) -> None:
        self.mode, self.provider, self.known = mode[:_SHOWN], provider, tuple(known)
        super().__init__(
            f"{provider} has no permission mode {self.mode!r}; it has: {', '.join(self.known) or 'only its own'}"
        )


class BadRequest(UsageError):
    """A request that the server cannot read; the message says why."""


class CredentialsMissing(McpAgentError):
    exit_code = 3


class CannotRunHere(McpAgentError):
    exit_code = 4


class CliNotInstalled(CannotRunHere):
    def __init__(self, title: str, executable: str, install_hint: str) -> None:
        self.title, self.executable, self.install_hint = title, executable, install_hint
        super().__init__(f"{title} is not installed (no `{executable}` on PATH); install it with: {install_hint}")


class NothingToInstall(CannotRunHere):
    def __init__(self, title: str, install_hint: str) -> None:
        self.title, self.install_hint = title, install_hint
        super().__init__(f"there is no package of {title} to install here; {install_hint}")


class InstallFailed(CannotRunHere):
    def __init__(self, title: str, problem: str) -> None:
        self.title, self.problem = title, problem
        super().__init__(f"{title} was not installed: {problem}")


class CliUnusable(CannotRunHere):
    def __init__(self, title: str, executable: Path, problem: str) -> None:
        self.title, self.executable, self.problem = title, executable, problem
        super().__init__(f"{title} cannot be used: `{executable} --version` {problem}; run it yourself to see why")


class TmuxMissing(CannotRunHere):
    def __init__(self) -> None:
        super().__init__("tmux is not installed; install it with: apt install tmux (or: brew install tmux)")


class TmuxTooOld(CannotRunHere):
    def __init__(self, found: str, needed: str) -> None:
        self.found, self.needed = found, needed
        super().__init__(f"tmux {found} is too old; version {needed} or newer is needed: upgrade tmux")


class NoTerminal(CannotRunHere):
    def __init__(self, problem: str, session_id: str) -> None:
        self.problem, self.session_id = problem, session_id
        super().__init__(
            f"attaching needs a terminal: {problem}; `mcp-agent session screen {session_id}` prints the screen instead"
        )


class LoginInvalid(McpAgentError):
    exit_code = 5


class Limited(McpAgentError):
    exit_code = 6


class TmuxError(McpAgentError):
    """Something about tmux; the leaves tell a fact from a failure to find out."""


class TmuxUnavailable(TmuxError):
    """The server did not answer. Never evidence that a pane is gone."""


class TmuxCommandFailed(TmuxError):
    def __init__(self, command: str, problem: str) -> None:
        self.command, self.problem = command, problem
        super().__init__(f"tmux {command}: {problem}")


class PaneGone(TmuxError):
    def __init__(self, pane_id: str) -> None:
        self.pane_id = pane_id
        super().__init__(f"pane {pane_id} does not exist any more")


class PaneDead(TmuxError):
    def __init__(self, pane_id: str) -> None:
        self.pane_id = pane_id
        super().__init__(f"the program in pane {pane_id} has exited; nothing was sent to it")


class ProcessError(McpAgentError):
    """Something about a process of this machine."""


class SignalRefused(ProcessError):
    def __init__(self, pid: int, reason: str) -> None:
        self.pid, self.reason = pid, reason
        super().__init__(f"pid {pid} was not signalled: {reason}")


class ServerError(McpAgentError):
    """Something about the tool server."""


class ServerUnreachable(ServerError):
    def __init__(self, socket: Path | str, problem: str, *, asked: bool = False) -> None:
        """`asked`: the connection was lost after it was made, so what was asked for may have been done."""
        self.socket, self.problem, self.asked = Path(socket), problem, asked
        super().__init__(f"no answer from the server at {socket}: {problem}")


class ServerStartFailed(ServerError):
    def __init__(self, problem: str, log: Path | str) -> None:
        self.problem, self.log = problem, Path(log)
        super().__init__(f"the server did not start: {problem}; its log: {log}")


class ServerAlreadyRunning(ServerError):
    def __init__(self, home: Path | str) -> None:
        self.home = Path(home)
        super().__init__(f"a server already runs for {home}; see `mcp-agent server status`")


class CallNotTaken(ServerError):
    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(
            f"outcome=not_started: the server is stopping and did not start {tool}; the next one takes calls in a"
            " moment, and it is safe to call again then"
        )


class ServerStopped(ServerError):
    def __init__(self) -> None:
        super().__init__("the server was stopped; its sessions live on, and the next command finds them again")


class ServerStopping(ServerError):
    def __init__(self, call_id: str, tool: str) -> None:
        self.call_id, self.tool = call_id, tool
        super().__init__(
            f"outcome=unknown call_id={call_id}: the server stops while {tool} runs; work that can outlive it goes on."
            " Before doing it again, look it up with get_tool_call: the next server finds out what became of it"
        )


class SessionError(McpAgentError):
    """Something about one session."""


class UnknownSession(SessionError):
    exit_code = 2

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"no session {session_id}; see `mcp-agent session list`")


class SessionNameTaken(SessionError):
    def __init__(self, name: str, session_id: str) -> None:
        self.name, self.session_id = name, session_id
        super().__init__(f"session {session_id} is called {name} already; stop it, or choose another name")


class SessionEnded(SessionError):
    def __init__(self, session_id: str, how: str) -> None:
        self.session_id, self.how = session_id, how
        super().__init__(f"session {session_id} is over: {how}")


class NotResumable(SessionError):
    exit_code = 2

    def __init__(self, session_id: str, problem: str) -> None:
        self.session_id, self.problem = session_id, problem
        super().__init__(f"session {session_id} cannot be resumed: {problem}")


class ResumeFailed(SessionError):
    """The session is left as it was before."""

    def __init__(self, session_id: str, reason: str, screen: str) -> None:
        self.session_id, self.reason, self.screen = session_id, reason, screen
        super().__init__(f"session {session_id} was not resumed and is left as it was: {reason}")


class ConversationInUse(SessionError):
    exit_code = 2

    def __init__(self, conversation: str, session_id: str) -> None:
        self.conversation, self.session_id = conversation, session_id
        super().__init__(f"conversation {conversation} is open in session {session_id}; stop that one first")


class SessionBlocked(SessionError):
    """A dialog is open that is not ours to answer."""

    def __init__(self, session_id: str, dialog: str, advice: str, screen: str) -> None:
        self.session_id, self.dialog, self.advice, self.screen = session_id, dialog, advice, screen
        super().__init__(f"session {session_id} is blocked by a dialog ({dialog}): {advice}")


class PromptReadyTimedOut(SessionError):
    def __init__(self, session_id: str, limit: timedelta, which: str, screen: str) -> None:
        self.session_id, self.limit, self.which, self.screen = session_id, limit, which, screen
        super().__init__(
            f"TIMEOUT: layer=prompt_ready owner=adapter session={session_id} timeout={limit.total_seconds():g}s"
            f" ({which}): the CLI never showed its prompt; its screen is in the server's log"
        )


class SendRefused(SessionError):
    def __init__(self, session_id: str, reason: str) -> None:
        self.session_id, self.reason = session_id, reason
        super().__init__(f"session {session_id} did not take the prompt: {reason}; nothing was sent")


class KeyboardTaken(SessionError):
    def __init__(self, session_id: str, limit: timedelta) -> None:
        self.session_id, self.limit = session_id, limit
        super().__init__(
            f"session {session_id}: another process has been typing into it for {limit.total_seconds():g}s;"
            " nothing was sent: try again"
        )


class CommandRefused(SessionError):
    exit_code = 2

    def __init__(self, session_id: str, reason: str) -> None:
        self.session_id, self.reason = session_id, reason
        super().__init__(f"session {session_id}: {reason}; nothing was typed")


class UnknownMessage(SessionError):
    exit_code = 2

    def __init__(self, session_id: str, message_id: str) -> None:
        self.session_id, self.message_id = session_id, message_id[:_SHOWN]
        super().__init__(
            f"session {session_id} has no message {self.message_id}; see `mcp-agent session messages {session_id}`"
        )


class NotWithdrawn(SessionError):
    def __init__(self, session_id: str, message_id: str, state: str) -> None:
        self.session_id, self.message_id, self.state = session_id, message_id, state
        why = {
            "withdrawn": "it was withdrawn before",
            "sending": "it is being sent at this moment",
            "delivered": "it was delivered, and a turn began with it",
            "queued": "the CLI holds it for its running turn",
            "unconfirmed": "it was sent, and nobody knows whether it arrived",
            "refused": "it was refused, and goes to nobody",
        }
        super().__init__(f"message {message_id} of session {session_id} was not withdrawn: {why.get(state, state)}")


class Unconfirmed(SessionError):
    def __init__(self, session_id: str, reason: str = "") -> None:
        self.session_id, self.reason = session_id, reason
        why = f" ({reason})" if reason else ""
        super().__init__(
            f"session {session_id}: nobody knows whether the prompt arrived{why}; before you send it again, look with"
            f" `mcp-agent session messages {session_id}` and `mcp-agent session show {session_id}`"
        )


class TurnFailed(SessionError):
    def __init__(self, session_id: str, reason: str) -> None:
        self.session_id, self.reason = session_id, reason
        super().__init__(f"session {session_id}: the turn did not complete: {reason}")


class TurnDeadlinePassed(SessionError):
    """The limit that the caller of a turn set; no layer of ours has one."""

    def __init__(
        self,
        session_id: str,
        limit: timedelta,
        elapsed_seconds: float,
        *,
        kept: bool | None = None,
        waited_for: str | None = None,
    ) -> None:
        """`kept`: whether the session can be used on; None where that is not the question."""
        self.session_id, self.limit, self.elapsed_seconds, self.kept = session_id, limit, elapsed_seconds, kept
        self.waited_for = waited_for
        why = f"{waited_for} when the time was over; " if waited_for else ""
        after = {True: "; the session shows its prompt again", False: "; the session did not come back and was stopped"}
        ended = "the turn was interrupted and does not go on"
        super().__init__(
            f"TIMEOUT: layer=turn_deadline owner=caller session={session_id} timeout={limit.total_seconds():g}s"
            f" elapsed={elapsed_seconds:.1f}s: {why}{ended}{after[kept] if kept is not None else ''};"
            f" what its tools did stays done: see `mcp-agent calls list --session {session_id}`"
        )


class AskWithdrawn(SessionError):
    """The caller's limit passed while the prompt still waited for a turn of its own."""

    def __init__(self, session_id: str, limit: timedelta, elapsed_seconds: float, *, waited_for: str | None) -> None:
        self.session_id, self.limit, self.elapsed_seconds = session_id, limit, elapsed_seconds
        self.waited_for = waited_for
        why = f" ({waited_for})" if waited_for else ""
        super().__init__(
            f"TIMEOUT: layer=turn_deadline owner=caller session={session_id} timeout={limit.total_seconds():g}s"
            f" elapsed={elapsed_seconds:.1f}s: the prompt still waited for its turn{why} and was withdrawn: it was not"
            " run and will not be"
        )


class ToolError(McpAgentError):
    """Something about a tool, before any of its work began."""


class UnknownTool(ToolError):
    exit_code = 2

    def __init__(self, tool: str, known: Sequence[str], *, of: str = "this session") -> None:
        self.tool, self.known = tool, tuple(known)
        super().__init__(f"unknown tool {tool!r}; {of} has: {', '.join(self.known) or 'none'}")


class BadArguments(ToolError):
    exit_code = 2

    def __init__(self, tool: str, problems: Sequence[str]) -> None:
        self.tool, self.problems = tool, tuple(problems)
        super().__init__(f"arguments of {tool}: {'; '.join(self.problems)}; the call was not started")


class ToolNotAllowed(ToolError):
    def __init__(self, tool: str, session_id: str) -> None:
        self.tool, self.session_id = tool, session_id
        super().__init__(f"tool {tool!r} is not allowed in session {session_id}; the call was not started")


class TurnAborted(ToolError):
    def __init__(self, tool: str, session_id: str) -> None:
        self.tool, self.session_id = tool, session_id
        super().__init__(
            f"{tool} was not started: the turn of session {session_id} was interrupted; calls are taken again with the"
            " next prompt"
        )


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


class StoreError(McpAgentError):
    """Something about the store of sessions."""


class StoreUnusable(StoreError):
    """The file is left as it is, whatever is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"the store of sessions {path}: {problem}")


class ExecutionError(McpAgentError):
    """Something about durable executions."""


class UnknownExecution(ExecutionError):
    exit_code = 2

    def __init__(self, execution_id: str) -> None:
        self.execution_id = execution_id[:_SHOWN]
        super().__init__(f"no execution {self.execution_id}; see `mcp-agent executions list`")


class UnknownAgent(ExecutionError):
    exit_code = 2

    def __init__(self, name: str, configured: Sequence[str]) -> None:
        self.name, self.configured = name[:_SHOWN], tuple(configured)
        known = ", ".join(self.configured) or "none"
        super().__init__(
            f"no agent {self.name!r} is configured; configured: {known} (see [agents.<name>]); {AFTER_A_CHANGE}"
        )


class WorktreeNotMade(ExecutionError):
    def __init__(self, source: Path, problem: str) -> None:
        self.source, self.problem = source, problem
        super().__init__(
            f"no git worktree of {source} was made: {problem}; an agent with `worktree` works in a git repository that"
            " has a commit: name another directory, or leave `worktree` out of its configuration"
        )


class BadDeadline(ExecutionError):
    exit_code = 2

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(f"the deadline {problem}; nothing was started")


class IdempotencyKeyReused(ExecutionError):
    exit_code = 2

    def __init__(self, key: str, execution_id: str) -> None:
        self.key, self.execution_id = key[:_SHOWN], execution_id
        super().__init__(
            f"idempotency key {self.key!r} belongs to execution {execution_id}, which was started with other arguments;"
            " nothing was started: choose another key"
        )


class TooDeep(ExecutionError):
    def __init__(self, depth: int, most: int) -> None:
        self.depth, self.most = depth, most
        super().__init__(
            f"an execution of depth {depth} was not started: {most} is the most ([executions] depth); do the work"
            " without another agent"
        )


class QueueFull(ExecutionError):
    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(
            f"{most} executions wait or run already, which is the most ([executions] most_unfinished); nothing was"
            " started: try again when one has ended"
        )


class ExecutionsUnusable(ExecutionError):
    """The file is left as it is, whatever is wrong with it."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"the record of executions {path}: {problem}")


class ExecutionUnreadable(ExecutionsUnusable):
    """The row is left as it is, and the others are not concerned."""

    def __init__(self, path: Path, execution_id: str) -> None:
        self.execution_id = execution_id[:_SHOWN]
        super().__init__(path, f"execution {self.execution_id} cannot be read, and was left as it is")


class EndNotWritten(ExecutionsUnusable):
    """For whoever waits for an end that has come, and is not on record yet."""

    def __init__(self, execution_id: str, path: Path, problem: str) -> None:
        self.execution_id = execution_id
        ended = f"nothing of execution {execution_id} runs any more, and that is written as soon as it can be"
        super().__init__(path, f"{problem}; {ended}")


class EngineUnavailable(ExecutionError):
    """What was acknowledged is kept, and handed over when the database answers."""

    def __init__(self, database: str, problem: str) -> None:
        self.database, self.problem = database, problem
        super().__init__(f"the database of executions ({database}) does not answer: {problem}")


class EngineReplaced(EngineUnavailable):
    """What is open is not what stands there: it must be opened anew."""

    def __init__(self, database: str) -> None:
        super().__init__(database, "its file was removed or replaced; it is opened again")


class ExecutionEnded(ExecutionError):
    """For whoever waited for its answer."""

    def __init__(self, execution_id: str, state: str, reason: str) -> None:
        self.execution_id, self.state, self.reason = execution_id, state, reason
        super().__init__(f"execution {execution_id}: {state}: {reason}")


class ExecutionGoesOn(ExecutionError):
    """Nothing was decided about the execution: only this wait is over. The exit code is that of `timeout`."""

    exit_code = 124

    def __init__(self, execution_id: str, limit: timedelta, *, state: str, detail: str) -> None:
        self.execution_id, self.limit, self.state, self.detail = execution_id, limit, state, detail
        super().__init__(
            f"stopped waiting after {limit.total_seconds():g}s: execution {execution_id} goes on ({state}: {detail});"
            f" `mcp-agent executions wait {execution_id}` waits again"
        )


class AccessDenied(McpAgentError):
    """Deliberately says nothing about what would have been right."""

    def __init__(self) -> None:
        super().__init__("access denied")


class SecretInReport(McpAgentError):
    def __init__(self, files: Sequence[str]) -> None:
        self.files = tuple(files)
        super().__init__(
            f"a secret would stand in {', '.join(self.files)} of the report, so that none of it was written;"
            " what leaves it unmasked is ours to mend"
        )


class Internal(McpAgentError):
    def __init__(self, log: Path | str) -> None:
        self.log = Path(log)
        super().__init__(f"something went wrong in mcp-agent itself; the details are in {log}")


class RemoteError(McpAgentError):
    """An error that the server reported; `kind` and `fields` are the server's."""

    def __init__(
        self, kind: str, message: str, *, exit_code: int = 1, fields: Mapping[str, object] | None = None
    ) -> None:
        self.remote_kind, self.remote_exit_code, self.fields = kind, exit_code, dict(fields or {})
        super().__init__(message)

    @property
    def kind(self) -> str:
        return self.remote_kind
