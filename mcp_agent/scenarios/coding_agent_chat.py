"""The chat scenario: a real provider CLI, real tmux, the real bridge, driven through the public API only."""

import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent import registry
from mcp_agent.adapter import Adapter
from mcp_agent.errors import CannotRunHere, CliNotInstalled, Limited, LoginInvalid, McpAgentError, SessionBlocked
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.probes import PROBES, Chat, Evidence, NotFollowed, Probe, ProbeFailed
from mcp_agent.scenarios.prompts import SHELL_TOOL
from mcp_agent.scenarios.results import EXIT_NO_CREDENTIALS, ModelServer, ProbeResult, Result, ScenarioReport
from mcp_agent.scenarios.workspace import Workspace, workspace
from mcp_agent.server.client import Client
from mcp_agent.sessions.environment import named_by_adapter, shared
from mcp_agent.tmux.version import check_tmux

STOPS_THE_RUN = (SessionBlocked, LoginInvalid, Limited)
"""After one of these no later probe can tell anything new."""

REAL_MODEL_ATTEMPTS = 2


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


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told while it runs."""

    say: Callable[[str], None]
    probed: Callable[[ProbeResult], None]


async def run_chat(options: ChatOptions, listener: Listener) -> ScenarioReport:
    """Run every probe and leave nothing behind.

    Raises `UnknownAdapter` and `CannotRunHere` before anything is started.
    """
    adapter = registry.load(options.provider)
    check_tmux()
    if shutil.which(adapter.executable, path=options.environment.get("PATH")) is None:
        raise CliNotInstalled(adapter.title, adapter.executable, adapter.install_hint)
    if options.model_server == "real" and not _has_credentials(adapter, options.environment):
        return _not_run(options, f"no credentials: none of {', '.join(adapter.credential_names) or 'any'} is set")
    async with _chat(options, adapter, listener) as chat:
        probes, stopped_with = await _probe_all(chat, options, listener)
    version = next((probe.evidence.get("provider_version") for probe in probes), None)
    return ScenarioReport(
        options.provider,
        str(version) if version else None,
        options.model_server,
        probes,
        stopped_with=stopped_with,
    )


@asynccontextmanager
async def _chat(options: ChatOptions, adapter: Adapter, listener: Listener) -> AsyncGenerator[Chat]:
    with workspace(options.parent) as space:
        environment = space.environment(options.environment)
        client = await anyio.to_thread.run_sync(lambda: Client.connect(space.state, environ=environment))
        async with _model_server(options) as model, _closing(client):
            yield Chat(
                driver=Driver(client),
                space=space,
                start_body=_start_body(options, adapter, space=space, model=model),
                sleep=options.sleep,
                say=listener.say,
            )


@asynccontextmanager
async def _model_server(options: ChatOptions) -> AsyncGenerator[ScriptedModel | None]:
    if options.model_server == "real":
        yield None
        return
    async with ScriptedModel.serve() as model:
        yield model


@asynccontextmanager
async def _closing(client: Client) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        client.close()


def _start_body(
    options: ChatOptions, adapter: Adapter, *, space: Workspace, model: ScriptedModel | None
) -> dict[str, object]:
    environment = {
        **shared(options.environment, home=space.home),
        **named_by_adapter(options.environment, adapter.environment_names),
    }
    endpoint = {"base_url": model.base_url, "api_key": model.api_key} if model else None
    return {
        "provider": options.provider,
        "working_directory": str(space.working_directory),
        "home": str(space.home),
        "environment": environment,
        "allow_tools": [SHELL_TOOL],
        "provider_shell": False,
        "trust": True,
        "model": options.model,
        "endpoint": endpoint,
    }


async def _probe_all(chat: Chat, options: ChatOptions, listener: Listener) -> tuple[list[ProbeResult], int | None]:
    """Every probe in order. One that needs what an earlier one failed to give is `not run`, never a pass."""
    done: list[ProbeResult] = []
    why_not: str | None = None
    stopped_with: int | None = None
    for name, probe in PROBES.items():
        if why_not is not None:
            result = ProbeResult(name, Result.NOT_RUN, why_not, 0.0)
        else:
            result, stopper = await _probe(name, probe, chat=chat, options=options)
            if isinstance(stopper, LoginInvalid | Limited):
                stopped_with = stopper.exit_code
            if stopper is not None or not chat.session:
                why_not = f"{name} did not pass"
        listener.probed(result)
        done.append(result)
    return done, stopped_with


async def _probe(
    name: str, probe: Probe, *, chat: Chat, options: ChatOptions
) -> tuple[ProbeResult, McpAgentError | None]:
    started = anyio.current_time()

    def found(result: Result, reason: str | None, evidence: Evidence | None = None) -> ProbeResult:
        return ProbeResult(name, result, reason, anyio.current_time() - started, evidence or {})

    attempts = REAL_MODEL_ATTEMPTS if options.model_server == "real" else 1
    for attempt in range(attempts):
        try:
            return found(Result.PASSED, None, await probe(chat)), None
        except NotFollowed as error:
            if attempt + 1 == attempts:
                verdict = Result.INCONCLUSIVE if options.model_server == "real" else Result.FAILED
                return found(verdict, str(error)), None
        except ProbeFailed as error:
            return found(Result.FAILED, str(error)), None
        except CannotRunHere:
            raise
        except McpAgentError as error:
            stopper = error if isinstance(error, STOPS_THE_RUN) else None
            return found(Result.FAILED, str(error)), stopper
    raise AssertionError("every attempt returns")


def _has_credentials(adapter: Adapter, environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in adapter.credential_names)


def _not_run(options: ChatOptions, reason: str) -> ScenarioReport:
    return ScenarioReport(
        options.provider, None, options.model_server, (), reason=reason, stopped_with=EXIT_NO_CREDENTIALS
    )
