"""The chat scenario: a real provider CLI, real tmux, the real bridge, driven through the public API only."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from mcp_agent import registry
from mcp_agent.adapter import Adapter
from mcp_agent.errors import (
    CannotRunHere,
    CredentialsMissing,
    McpAgentError,
)
from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.chat.choosing import chosen
from mcp_agent.scenarios.chat.running import Running
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.failures import connected
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import PROBES
from mcp_agent.scenarios.prompts import SHELL_TOOL
from mcp_agent.scenarios.report.masking import masked
from mcp_agent.scenarios.report.recorder import Recorder
from mcp_agent.scenarios.report.secrets import of_caller
from mcp_agent.scenarios.results import ScenarioReport
from mcp_agent.scenarios.workspace import Workspace, workspace
from mcp_agent.server.client import Client, limit_warnings
from mcp_agent.sessions.environment import named_by_adapter, shared
from mcp_agent.sessions.starting.launching import find_executable
from mcp_agent.state import HOME_VARIABLE
from mcp_agent.timeouts import Policy, ToolClass
from mcp_agent.tmux.version import check_tmux


async def run_chat(options: ChatOptions, listener: Listener, recorder: Recorder | None = None) -> ScenarioReport:
    """Run every probe and leave nothing behind.

    What cannot be run here is reported as `not run`; `UnknownAdapter`, and `UsageError` for a probe that there is not,
    are raised before anything is started.
    """
    adapter = registry.load(options.provider)
    probes = chosen(PROBES, options.probes)
    recorder = recorder or Recorder()
    recorder.secrets.update(of_caller(adapter, options.environment))
    listener = recorder.hears(listener)
    reason = why_not(options, adapter)
    if reason is not None:
        return _not_run(options, reason)
    try:
        async with _chat(options, adapter, listener) as chat, recorder.watching(chat):
            running = Running(chat, options, adapter, listener, recorder)
            await running.all(probes)
    except CannotRunHere as error:
        return _not_run(options, error)
    version = chat.session.get("provider_version")
    report = ScenarioReport(
        options.provider,
        str(version) if version else None,
        options.model_server,
        running.done,
        stopped_with=running.stopped_with,
    )
    return masked(report, recorder.secrets)


def why_not(options: ChatOptions, adapter: Adapter) -> McpAgentError | None:
    """What this machine, or this user, lacks for the run."""
    try:
        check_tmux()
        find_executable(adapter, options.environment)
    except CannotRunHere as error:
        return error
    if options.model_server == "real" and not _has_credentials(adapter, options.environment):
        return CredentialsMissing(_no_credentials(adapter))
    return None


@asynccontextmanager
async def _chat(options: ChatOptions, adapter: Adapter, listener: Listener) -> AsyncGenerator[Chat]:
    async with workspace(options.parent, keep=options.keep_session) as space:
        environment = space.environment(options.environment)
        client = await connected(space, environment, keep=options.keep)
        for warning in limit_warnings(client.server):
            listener.say(f"warning: {warning}")
        async with _model_server(options) as model, closing(client):
            yield Chat(
                driver=Driver(client, listener.waits),
                space=space,
                start_body=start_body(options, adapter, space=space, model=model),
                sleep=options.sleep,
                say=listener.say,
                live_input=adapter.live_input,
                waits_for=_waits_for(adapter, options.environment),
                adapter=adapter,
            )
            if options.keep_session:
                listener.say(f"kept    {HOME_VARIABLE}={space.state.root} mcp-agent server stop --now  (ends it)")


@asynccontextmanager
async def _model_server(options: ChatOptions) -> AsyncGenerator[ScriptedModel | None]:
    if options.model_server == "real":
        yield None
        return
    async with ScriptedModel.serve() as model:
        yield model


@asynccontextmanager
async def closing(client: Client) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        client.close()


def _waits_for(adapter: Adapter, environment: Mapping[str, str]) -> timedelta | None:
    """How long a silent call is waited for where the CLI itself would give up on it; None where it would not."""
    if adapter.client_ceiling is None:
        return None
    policy = Policy.resolve(environment)
    return policy.tool_wait(ToolClass.LONG_RUNNING, ceiling=adapter.client_ceiling, cli_has_limit=False)


def start_body(
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


def _no_credentials(adapter: Adapter) -> str:
    scripted = "--model-server scripted needs none"
    if not adapter.credential_names:
        return f"no credentials: {adapter.title} takes none from the environment; {scripted}"
    return f"no credentials: set {' or '.join(adapter.credential_names)}; {scripted}"


def _has_credentials(adapter: Adapter, environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in adapter.credential_names)


def _not_run(options: ChatOptions, reason: McpAgentError) -> ScenarioReport:
    return ScenarioReport(
        options.provider, None, options.model_server, (), reason=str(reason), stopped_with=reason.exit_code
    )
