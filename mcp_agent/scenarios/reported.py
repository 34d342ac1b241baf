"""The chat scenario over one provider or all of them, with a report of the whole."""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from mcp_agent import registry
from mcp_agent.errors import UsageError
from mcp_agent.scenarios.coding_agent_chat import run_chat
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import PROBES
from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.record import ProviderRun, Run
from mcp_agent.scenarios.report.recorder import Recorder
from mcp_agent.scenarios.report.slicing import limits_in_force, provider_run
from mcp_agent.scenarios.report.writing import write_report
from mcp_agent.scenarios.results import EXIT_FAILED, ScenarioReport
from mcp_agent.timeouts import Policy
from mcp_agent.timeouts_matrix import rows

ALL = "all"
SCENARIO = "coding-agent-chat-e2e"
ENDED_EARLY = "the run was ended from outside before it was over"


@dataclass(slots=True)
class ChatRun:
    """What one command ran: a report for each provider, and the page if one was written."""

    reports: list[ScenarioReport] = field(default_factory=list)
    page: Path | None = None
    run: Run | None = None

    @property
    def exit_code(self) -> int:
        return verdict.exit_code_of_all([(report.result, report.exit_code) for report in self.reports])

    def as_json(self) -> dict[str, object]:
        """One provider's report as it is; of several, what they come to and each of them."""
        if len(self.reports) == 1:
            return self.reports[0].as_json()
        result = verdict.worst([report.result for report in self.reports])
        told = [report.as_json() for report in self.reports]
        return {"result": result, "exit_code": self.exit_code, "providers": told}


async def run_all(options: ChatOptions, listener: Listener, directory: Path | None = None) -> ChatRun:
    """Run the provider of the options, or with `all` every provider with a CLI of its own, one after the other.

    With a directory a report is written there, of what was run so far too when it is ended early. Raises
    `UnknownAdapter`, and `UsageError` for a directory that cannot be written, before anything is started.
    """
    names = providers_of(options.provider)
    done = ChatRun()
    async with _reporting(done, options, directory) as recorders:
        for name in names:
            recorder = Recorder(looks=directory is not None)
            own = replace(options, provider=name)
            recorders.append((own, recorder))
            if len(names) > 1:
                listener.say(f"provider {name}")
            done.reports.append(await run_chat(own, listener, recorder))
            recorder.over()
    return done


def providers_of(asked: str) -> Sequence[str]:
    """Those that are asked for; `all` are those whose CLI is somebody else's program."""
    if asked != ALL:
        return (registry.load(asked).id,)
    found = [adapter.id for adapter in registry.load_all() if adapter.tested_versions or adapter.unverified]
    if not found:
        raise UsageError("--provider all: no provider with a CLI of its own is installed")
    return tuple(found)


_Recorders = list[tuple[ChatOptions, Recorder]]


@asynccontextmanager
async def _reporting(done: ChatRun, options: ChatOptions, directory: Path | None) -> AsyncGenerator[_Recorders]:
    """Write the report on leaving, however that is."""
    recorders: _Recorders = []
    began_at = datetime.now(UTC)
    if directory is not None:
        write_report(Run(SCENARIO, _command(), began_at, ()), directory, secrets=())
    why = ENDED_EARLY
    try:
        yield recorders
    except Exception as error:
        why = str(error)
        raise
    finally:
        if directory is not None:
            runs = [_provider_run(own, recorder, done, why) for own, recorder in recorders]
            done.run = Run(SCENARIO, _command(), began_at, tuple(runs))
            secrets = {secret for _, recorder in recorders for secret in recorder.secrets}
            done.page = write_report(done.run, directory, secrets=secrets)


def _provider_run(options: ChatOptions, recorder: Recorder, done: ChatRun, why: str) -> ProviderRun:
    report = next((report for report in done.reports if report.provider == options.provider), None)
    report = report or _ended_early(options, recorder, why)
    proves = {name: probe.proves for name, probe in PROBES.items()}
    adapter = registry.load(options.provider)
    limits = limits_in_force(rows(Policy.resolve(options.environment), [adapter]))
    return provider_run(report, recorder, proves=proves, limits=limits)


def _ended_early(options: ChatOptions, recorder: Recorder, why: str) -> ScenarioReport:
    """A run without an end is no pass, whatever passed before."""
    recorder.ended_early(why)
    probes = [window.result for window in recorder.windows]
    version = next((probe.evidence.get("provider_version") for probe in probes if probe.evidence), None)
    told = str(version) if version else None
    return ScenarioReport(options.provider, told, options.model_server, probes, reason=why, stopped_with=EXIT_FAILED)


def _command() -> str:
    return " ".join(["mcp-agent", *sys.argv[1:]])
