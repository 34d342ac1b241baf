"""What a scenario is asked for, and who is told while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from mcp_agent.scenarios.results import ModelServer, ProbeResult


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What `mcp-agent test coding-agent-chat-e2e` was asked for."""

    provider: str
    model_server: ModelServer
    environment: Mapping[str, str] = field(repr=False)
    sleep: timedelta = timedelta(seconds=20)
    model: str | None = None
    parent: Path = Path("/tmp")
    """Where the temporary workspace is made; short, since sockets live in it."""
    keep: bool = False
    """The server's log is kept when a probe fails."""
    probes: tuple[str, ...] = ()
    """Those to ask, after the one that starts the session; none named: all."""
    timeout: timedelta | None = None
    """At most so long for all probes of one provider; None: as long as their own bounds allow."""
    keep_session: bool = False
    """The session and its server go on after the run."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told while it runs."""

    say: Callable[[str], None]
    probed: Callable[[ProbeResult], None]
    begins: Callable[[str], None] = lambda _: None
    """A probe of this name begins."""
    waits: Callable[[str, timedelta | None], None] = lambda _what, _limit: None
    """Something is waited for, at most so long; None: until it comes."""
