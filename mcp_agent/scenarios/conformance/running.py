"""The suite against one adapter: its own answers first, then its CLI with the scripted model."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import anyio

from mcp_agent import registry
from mcp_agent.adapter import Adapter, Capability
from mcp_agent.errors import CannotRunHere, McpAgentError
from mcp_agent.scenarios.chat.running import stops_the_run
from mcp_agent.scenarios.coding_agent_chat import closing, start_body, why_not
from mcp_agent.scenarios.conformance.capabilities import lacking
from mcp_agent.scenarios.conformance.case import Case, NotReached
from mcp_agent.scenarios.conformance.question import Asks, AskT, Describes, Question
from mcp_agent.scenarios.conformance.questions import ASKED, DESCRIBED
from mcp_agent.scenarios.conformance.results import Answer, ConformanceReport
from mcp_agent.scenarios.conformance.user_files import plant
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.failures import connected, seen, told_by, with_log
from mcp_agent.scenarios.model.server import ScriptedModel
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import Evidence, NotFollowed, ProbeFailed
from mcp_agent.scenarios.results import Result, ScenarioReport
from mcp_agent.scenarios.workspace import workspace
from mcp_agent.server.client import exit_code_of

ANSWERED_WITHIN = timedelta(minutes=3)
"""A question that takes longer has no answer."""


async def run_conformance(options: ChatOptions, listener: Listener) -> ConformanceReport:
    """Ask every question and leave nothing behind. `UnknownAdapter` is raised before anything is started."""
    adapter = registry.load(options.provider)
    run = _Run(adapter, options, listener)
    described = [run.describe(question) for question in DESCRIBED]
    reason = why_not(options, adapter)
    try:
        asked = run.not_asked(str(reason)) if reason else await _ask_all(run)
    except CannotRunHere as error:
        reason, asked = error, run.not_asked(str(error))
    return _report(run, [*described, *asked], reason)


def _report(run: "_Run", answers: Sequence[Answer], reason: McpAgentError | None) -> ConformanceReport:
    version = next((answer.evidence.get("provider_version") for answer in answers if answer.evidence), None)
    failed = any(answer.result is Result.FAILED for answer in answers)
    stopped_with = reason.exit_code if reason and not failed else run.stopped_with
    scenario = ScenarioReport(
        run.adapter.id,
        str(version) if version else None,
        run.options.model_server,
        answers,
        reason=str(reason) if reason else None,
        stopped_with=stopped_with,
    )
    return ConformanceReport(scenario, answers)


async def _ask_all(run: "_Run") -> list[Answer]:
    async with _case(run) as case:
        return [await run.ask(question, case) for question in ASKED]


@asynccontextmanager
async def _case(run: "_Run") -> AsyncGenerator[Case]:
    options = run.options
    async with workspace(options.parent) as space:
        environment = space.environment(options.environment)
        client = await connected(space, environment, keep=options.keep)
        async with ScriptedModel.serve() as model, closing(client):
            body = start_body(options, run.adapter, space=space, model=model)
            case = Case(run.adapter, Driver(client), space, model, body, run.listener.say)
            case.planted = plant(run.adapter, home=space.home, directories=case.working_directories)
            yield case


class _Run:
    """One run: what is lacking, what stopped it, and who is told."""

    def __init__(self, adapter: Adapter, options: ChatOptions, listener: Listener) -> None:
        self.adapter, self.options, self.listener = adapter, options, listener
        self.lacking = lacking(adapter)
        self.stopped_with: int | None = None

    def describe(self, question: Question[Describes]) -> Answer:
        """One question to the adapter itself."""
        skipped = self._skipped(question)
        if skipped is not None:
            return self._told(skipped)
        try:
            question.ask(self.adapter)
        except ProbeFailed as error:
            return self._told(_answer(question, Result.FAILED, str(error)))
        except Exception as error:  # noqa: BLE001 - an adapter is foreign code, and what it raises is its answer
            return self._told(_answer(question, Result.FAILED, _raised(error)))
        return self._told(_answer(question, Result.PASSED))

    async def ask(self, question: Question[Asks], case: Case) -> Answer:
        """One question to the running CLI."""
        skipped = self._skipped(question)
        if skipped is not None:
            return self._told(skipped)
        if self.stopped_with is not None:
            return self._told(_answer(question, Result.NOT_RUN, "the run was stopped before"))
        self.listener.begins(question.name)
        started = anyio.current_time()
        answer = await self._answer(question, case)
        case.is_troubled = answer.result is Result.FAILED
        answer = replace(answer, elapsed_seconds=anyio.current_time() - started)
        if answer.result is Result.FAILED and case.seen is not None:
            looked = await seen(case.seen, keep=self.options.keep)
            reason = with_log(answer.reason or "", case.space, keep=self.options.keep)
            answer = replace(answer, reason=reason, evidence={**looked, **answer.evidence})
        return self._told(answer)

    def not_asked(self, reason: str) -> list[Answer]:
        """Every question to the running CLI, where none can be asked."""
        return [self._told(self._skipped(question) or _answer(question, Result.NOT_RUN, reason)) for question in ASKED]

    async def _answer(self, question: Question[Asks], case: Case) -> Answer:
        try:
            with anyio.fail_after(ANSWERED_WITHIN.total_seconds()):
                return _answer(question, Result.PASSED, evidence=await question.ask(case))
        except NotReached as error:
            return _answer(question, Result.NOT_RUN, str(error))
        except (ProbeFailed, NotFollowed) as error:
            return _answer(question, Result.FAILED, str(error))
        except TimeoutError:
            return _answer(question, Result.FAILED, f"no answer within {ANSWERED_WITHIN}")
        except McpAgentError as error:
            if stops_the_run(error):
                self.stopped_with = exit_code_of(error)
            return _answer(question, Result.FAILED, str(error), told_by(error))
        except Exception as error:  # noqa: BLE001 - what an adapter raises is its answer
            return _answer(question, Result.FAILED, _raised(error))

    def _skipped(self, question: Question[AskT]) -> Answer | None:
        need = question.needs or (Capability.MODEL_ENDPOINT if question in ASKED else None)
        if need is None or need not in self.lacking:
            return None
        return replace(_answer(question, Result.SKIPPED, f"{need}: {self.lacking[need]}"), lacks=need)

    def _told(self, answer: Answer) -> Answer:
        self.listener.probed(answer)
        return answer


def _raised(error: Exception) -> str:
    return f"it raised {type(error).__name__}: {error}"


def _answer(
    question: Question[AskT], result: Result, reason: str | None = None, evidence: Evidence | None = None
) -> Answer:
    return Answer(question.name, result, reason, 0.0, evidence or {}, proves=question.proves)
