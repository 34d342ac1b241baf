"""What no report may show: keys of the caller and of the model, the owner's token and those of sessions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress

from mcp_agent.adapter import Adapter
from mcp_agent.sessions.starting.launching import BRIDGE_FILE
from mcp_agent.state import StateDirectory


def of_caller(adapter: Adapter, environment: Mapping[str, str]) -> Iterator[str]:
    """The credentials that the caller's environment holds for this provider."""
    yield from (environment[name] for name in adapter.credential_names if environment.get(name))


def of_endpoint(start_body: Mapping[str, object]) -> Iterator[str]:
    """The key of the model on loopback."""
    endpoint = start_body.get("endpoint")
    if isinstance(endpoint, Mapping) and isinstance(key := endpoint.get("api_key"), str):
        yield key


def of_state(state: StateDirectory) -> Iterator[str]:
    """The tokens of a state directory as they are now: those of sessions go with their sessions."""
    with suppress(OSError):
        yield state.owner_token.read_text(encoding="utf-8").strip()
    for file in state.sessions.glob(f"*/{BRIDGE_FILE}"):
        with suppress(OSError, ValueError, KeyError):
            yield str(json.loads(file.read_text(encoding="utf-8"))["token"])
