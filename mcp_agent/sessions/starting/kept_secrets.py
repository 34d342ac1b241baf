"""What a session was launched with that nobody else may read, kept so that it can be launched again.

One file of the session, 0600, taken away when the session is stopped: from then on whoever resumes it brings its
credentials along.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from mcp_agent.errors import NotResumable
from mcp_agent.sessions.record import SessionOptions, SessionRecord
from mcp_agent.state import StateDirectory, write_private

SECRETS_FILE = "secrets.json"


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must not stand in a record."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The variables that only the CLI sees, credentials among them."""
    api_key: str | None = field(default=None, repr=False)
    """The key of the session's own model endpoint."""


_SECRETS = TypeAdapter(Secrets)


def without_secrets(options: SessionOptions) -> SessionOptions:
    """The options as a record may hold them."""
    endpoint = options.endpoint and replace(options.endpoint, api_key="")
    return replace(options, environment={}, endpoint=endpoint)


def keep_secrets(state: StateDirectory, session_id: str, secrets: Secrets) -> None:
    write_private(state.session(session_id) / SECRETS_FILE, _SECRETS.dump_json(secrets).decode())


def options_again(state: StateDirectory, record: SessionRecord, *, given: Secrets) -> SessionOptions:
    """The options of an earlier launch, with what was kept; `given` takes its place once the session was stopped.

    Raises `NotResumable` when something is missing.
    """
    if record.options is None:
        raise NotResumable(record.id, "its record does not say how it was launched")
    secrets = _kept(state, record.id) or given
    options = replace(record.options, environment={**record.shell_environment, **secrets.environment})
    if missing := options.named_variables - options.environment.keys():
        raise NotResumable(record.id, f"the value of {', '.join(sorted(missing))} is not kept: give it again (--env)")
    if options.endpoint is None:
        return options
    if not secrets.api_key:
        raise NotResumable(
            record.id, "the key of its model endpoint is not kept: name a variable that holds it (--model-key-variable)"
        )
    return replace(options, endpoint=replace(options.endpoint, api_key=secrets.api_key))


def _kept(state: StateDirectory, session_id: str) -> Secrets | None:
    try:
        return _SECRETS.validate_json((state.session(session_id) / SECRETS_FILE).read_bytes())
    except (ValidationError, OSError):
        return None
