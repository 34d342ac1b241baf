"""The chat scenario: a real provider CLI, real tmux, the real bridge, driven through the public API only."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import anyio

from mcp_agent import registry
from mcp_agent.adapter import Adapter
from mcp_agent.errors import (
    CannotRunHere,
    CredentialsMissing,
    Limited,
    LoginInvalid,
    McpAgentError,
    RemoteError,
    SessionBlocked,
)
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.failures import seen, told_by
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import PROBES, Chat, Evidence, NotFollowed, Probe, ProbeFailed
from mcp_agent.scenarios.prompts import SHELL_TOOL
from mcp_agent.scenarios.report.masking import masked
from mcp_agent.scenarios.report.recorder import Recorder
from mcp_agent.scenarios.report.secrets import of_caller
from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport
from mcp_agent.scenarios.workspace import Workspace, workspace
from mcp_agent.server.client import Client, exit_code_of, limit_warnings
from mcp_agent.sessions.environment import named_by_adapter, shared
from mcp_agent.sessions.starting.launching import find_executable
from mcp_agent.timeouts import Policy, ToolClass
from mcp_agent.tmux.version import check_tmux

STOPS_THE_RUN = (SessionBlocked, LoginInvalid, Limited)
"""After one of these no later probe can tell anything new."""

TELLING_EXITS = (CannotRunHere.exit_code, LoginInvalid.exit_code, Limited.exit_code)
"""What is not a fault of ours."""

REAL_MODEL_ATTEMPTS = 2


async def run_chat(options: ChatOptions, listener: Listener, recorder: Recorder | None = None) -> ScenarioReport:
    """Run every probe and leave nothing behind.

    What cannot be run here is reported as `not run`; `UnknownAdapter` is raised before anything is started.
    """
    adapter = registry.load(options.provider)
    recorder = recorder or Recorder()
    recorder.secrets.update(of_caller(adapter, options.environment))
    listener = recorder.hears(listener)
    reason = why_not(options, adapter)
    if reason is not None:
        return _not_run(options, reason)
    try:
        async with _chat(options, adapter, listener) as chat, recorder.watching(chat):
            probes, stopped_with = await _probe_all(chat, options, listener, recorder)
    except CannotRunHere as error:
        return _not_run(options, error)
    version = next((probe.evidence.get("provider_version") for probe in probes), None)
    report = ScenarioReport(
        options.provider,
        str(version) if version else None,
        options.model_server,
        probes,
        stopped_with=stopped_with,
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
        return CredentialsMissing(f"no credentials: none of {', '.join(adapter.credential_names) or 'any'} is set")
    return None


@asynccontextmanager
async def _chat(options: ChatOptions, adapter: Adapter, listener: Listener) -> AsyncGenerator[Chat]:
    async with workspace(options.parent) as space:
        environment = space.environment(options.environment)
        client = await anyio.to_thread.run_sync(lambda: Client.connect(space.state, environ=environment))
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
            )


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


async def _probe_all(
    chat: Chat, options: ChatOptions, listener: Listener, recorder: Recorder
) -> tuple[list[ProbeResult], int | None]:
    """Every probe in order. One that needs what an earlier one failed to give is `not run`, never a pass."""
    done: list[ProbeResult] = []
    why_not: str | None = None
    stopped_with: int | None = None
    for name, probe in PROBES.items():
        if why_not is not None:
            result = ProbeResult(name, Result.NOT_RUN, why_not, 0.0)
        else:
            listener.begins(name)
            result, stopper = await _probe(name, probe, chat=chat, options=options)
            if result.result is not Result.PASSED:
                result = replace(result, evidence={**await seen(chat, keep=options.keep), **result.evidence})
            our_fault = any(earlier.result is Result.FAILED for earlier in done)
            if stopper is not None and not our_fault and exit_code_of(stopper) in TELLING_EXITS:
                stopped_with = exit_code_of(stopper)
            if stopper is not None or not chat.session:
                why_not = f"{name} did not pass"
            await recorder.look(chat)
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
                return found(verdict, str(error), error.told), None
        except ProbeFailed as error:
            return found(Result.FAILED, str(error)), None
        except McpAgentError as error:
            return found(Result.FAILED, str(error), told_by(error)), error if stops_the_run(error) else None
    raise AssertionError("every attempt returns")


def stops_the_run(error: McpAgentError) -> bool:
    return isinstance(error, STOPS_THE_RUN) or (isinstance(error, RemoteError) and exit_code_of(error) in TELLING_EXITS)


def _has_credentials(adapter: Adapter, environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in adapter.credential_names)


def _not_run(options: ChatOptions, reason: McpAgentError) -> ScenarioReport:
    return ScenarioReport(
        options.provider, None, options.model_server, (), reason=str(reason), stopped_with=reason.exit_code
    )
