"""One launch of a CLI: its files and the record first, then the pane."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from mcp_agent.adapter import Adapter, Launch
from mcp_agent.sessions.environment import SESSION_MARK, for_session
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.names import tags_of
from mcp_agent.sessions.record import SessionOptions, SessionRecord, save_record
from mcp_agent.sessions.shared_files import holding
from mcp_agent.sessions.starting import launching, preparing
from mcp_agent.sessions.starting.conversations import transcript_of
from mcp_agent.sessions.starting.kept_secrets import Secrets, keep_secrets, without_secrets
from mcp_agent.sessions.starting.launching import ServerCommand
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import Policy
from mcp_agent.tmux.terminal import DEFAULT_SIZE, PaneRef, Terminal


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch whose files are written and whose record is on disk; nothing runs yet."""

    record: SessionRecord
    launch: Launch
    own_environment: dict[str, str] = field(repr=False)
    token: str = field(repr=False)
    spool: EventSpool
    tail: TranscriptTail
    """What a resumed conversation held before is told already."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """What every launch of a server has in common."""

    state: StateDirectory
    policy: Policy
    server_command: ServerCommand
    size: tuple[int, int] = DEFAULT_SIZE

    def prepare(
        self, options: SessionOptions, record: SessionRecord, *, adapter: Adapter, executable: Path, resume: bool
    ) -> Prepared:
        """Write all that the CLI and its bridge read. `resume` goes on with the record's native conversation."""
        directory = self.state.make_session(record.id)
        own = launching.own_environment(options, adapter)
        request = launching.launch_request(
            options, record, executable=executable, directory=directory, policy=self.policy, resume=resume
        )
        launch = adapter.launch(replace(request, own_environment=own))
        launching.write_launch_files(launch)
        holding.hold(self.state, record.id, launch.shared)
        keep_secrets(self.state, record.id, Secrets(own, options.endpoint.api_key if options.endpoint else None))
        token = launching.write_bridge_file(
            self.state, record, adapter=adapter, policy=self.policy, server=self.server_command
        )
        spool = EventSpool(directory / "events")
        spool.directory.mkdir(mode=0o700, exist_ok=True)
        record = replace(
            record,
            native_session_id=launch.native_session_id or record.native_session_id,
            options=without_secrets(options),
            needs_secrets=bool(own or options.endpoint),
            shell_environment=for_session(options.environment, named=options.named_variables, home=options.home),
            launched_at=time.time(),
            bridge_up=False,
            came_up=False,
            stopped=False,
            closed=None,
            limited=None,
        )
        save_record(self.state, record)
        tail = TranscriptTail.from_end_of(transcript_of(adapter, record) if resume else None)
        return Prepared(record, launch, own, token, spool, tail)

    async def spawn(self, terminal: Terminal, prepared: Prepared) -> PaneRef:
        """Start the CLI as the process of a new pane. What it sees: the shared variables, its own, and the mark."""
        record = prepared.record
        environment = {
            **record.shell_environment,
            **prepared.own_environment,
            **prepared.launch.environment,
            SESSION_MARK: record.id,
        }
        await preparing.run_all(prepared.launch.before, environment=environment, directory=record.working_directory)
        return await terminal.spawn(
            name=record.id,
            argv=prepared.launch.argv,
            cwd=record.working_directory,
            environment=environment,
            tags=tags_of(record),
            size=(record.options and record.options.size) or self.size,
        )
