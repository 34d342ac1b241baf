"""Everything between a person's wish and a running CLI: the launch request, its files, the bridge's file, the pane."""

import json
import os
import secrets
import shutil
import stat
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent.adapter import Adapter, Launch, LaunchRequest
from mcp_agent.bridge import BRIDGE_PROGRAM, EVENT_PROGRAM
from mcp_agent.errors import BadWorkingDirectory, CliNotInstalled
from mcp_agent.sessions.environment import named_by_adapter
from mcp_agent.sessions.record import SessionOptions, SessionRecord, load_record
from mcp_agent.sessions.shared_files import holding
from mcp_agent.state import StateDirectory, write_private
from mcp_agent.timeouts import Policy, ToolClass, progress_interval

BRIDGE_FILE = "bridge.json"


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How a bridge starts the server when none answers."""

    argv: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)


def find_executable(adapter: Adapter, environment: Mapping[str, str]) -> Path:
    """The CLI's program on the session's PATH. Raises `CliNotInstalled`, which says how to install it."""
    found = shutil.which(adapter.executable, path=environment.get("PATH", os.defpath))
    if found is None:
        raise CliNotInstalled(adapter.title, adapter.executable, adapter.install_hint)
    return Path(found).absolute()


def check_working_directory(path: Path) -> None:
    """Raises `BadWorkingDirectory` unless the CLI could work there."""
    if not path.is_absolute():
        raise BadWorkingDirectory(path, "is not an absolute path")
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise BadWorkingDirectory(path, "does not exist") from None
    except (OSError, ValueError) as error:
        raise BadWorkingDirectory(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISDIR(mode):
        raise BadWorkingDirectory(path, "is not a directory")
    if not os.access(path, os.W_OK | os.X_OK):
        raise BadWorkingDirectory(path, "is not writable")


def launch_request(
    options: SessionOptions,
    record: SessionRecord,
    *,
    executable: Path,
    directory: Path,
    policy: Policy,
    resume: bool = False,
) -> LaunchRequest:
    """What the adapter is told. The bridge's token stands in none of it, only the path of the file that holds it."""
    bridge_file = str(directory / BRIDGE_FILE)
    return LaunchRequest(
        session_id=record.id,
        executable=executable,
        working_directory=record.working_directory,
        session_directory=directory,
        home=record.home,
        home_is_ours=options.home is not None,
        bridge_command=(sys.executable, "-I", str(BRIDGE_PROGRAM), bridge_file),
        event_command=(sys.executable, "-I", str(EVENT_PROGRAM), bridge_file),
        mcp_call=policy.mcp_call,
        native_session_id=record.native_session_id or str(uuid.uuid4()),
        resume=resume,
        allow_tools=options.allow_tools,
        provider_shell=options.provider_shell,
        trust=options.trust,
        permission_mode=options.permission_mode,
        model=options.model,
        endpoint=options.endpoint,
    )


def write_launch_files(launch: Launch) -> None:
    for file in launch.files:
        file.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(file.path, file.text)


def write_bridge_file(
    state: StateDirectory,
    record: SessionRecord,
    *,
    adapter: Adapter,
    policy: Policy,
    server: ServerCommand,
) -> str:
    """Write what the session's bridge needs, and return the token that it will show."""
    token = secrets.token_urlsafe(32)
    cli_has_limit = adapter.mcp_timeout(policy.mcp_call) is not None
    progress = progress_interval(adapter.client_ceiling)
    facts = {
        "session": record.id,
        "token": token,
        "socket": str(state.server_socket),
        "start_server": list(server.argv),
        "start_environment": dict(server.environment),
        "limits": {
            "ordinary_seconds": policy.bridge_http(ToolClass.ORDINARY, cli_has_limit=cli_has_limit).total_seconds(),
            "long_running_seconds": policy.bridge_http(
                ToolClass.LONG_RUNNING, cli_has_limit=cli_has_limit
            ).total_seconds(),
        },
        "progress_seconds": progress.total_seconds() if progress else None,
    }
    write_private(state.session(record.id) / BRIDGE_FILE, json.dumps(facts, indent=1))
    return token


def read_token(state: StateDirectory, session_id: str) -> str | None:
    """The token of a session that was launched before this server started; None when it was taken away."""
    try:
        facts = json.loads((state.session(session_id) / BRIDGE_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    token = facts.get("token") if isinstance(facts, dict) else None
    return token if isinstance(token, str) else None


def was_launched(state: StateDirectory, session_id: str) -> bool:
    """Whether the session came to its launch, and all that it needs was not taken away since."""
    return (state.session(session_id) / BRIDGE_FILE).exists() and load_record(state, session_id) is not None


def own_environment(options: SessionOptions, adapter: Adapter) -> dict[str, str]:
    """What is named for the CLI alone, or for this session, of the caller's variables; credentials among it."""
    replaced = adapter.credential_names if options.endpoint else ()
    names = [*adapter.environment_names, *options.named_variables]
    return named_by_adapter(options.environment, names, without=replaced)


def remove_launch_files(state: StateDirectory, session_id: str) -> None:
    """Take away all that only a running session needs: token, configuration, spooled events, additions to files."""
    holding.release(state, session_id)
    directory = state.session(session_id)
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name == "session.json":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def forget_session(state: StateDirectory, session_id: str) -> None:
    """Take away all that is on disk of a session that nobody will ask for again."""
    holding.release(state, session_id)
    shutil.rmtree(state.session(session_id), ignore_errors=True)
