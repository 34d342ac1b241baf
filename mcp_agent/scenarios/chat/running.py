"""The probes of one run, one after the other: each within its bound, counted, audited, and told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import anyio

from mcp_agent.adapter import Adapter
from mcp_agent.durations import format_duration
from mcp_agent.errors import CannotRunHere, Limited, LoginInvalid, McpAgentError, RemoteError, SessionBlocked
from mcp_agent.scenarios.chat.auditing import Audit
from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.chat.probe import Probe
from mcp_agent.scenarios.chat.proving import Evidence, NotFollowed, ProbeFailed, counted, require
from mcp_agent.scenarios.chat.settling import settle
from mcp_agent.scenarios.failures import seen, told_by, with_log
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.report.recorder import Recorder
from mcp_agent.scenarios.report.verdict import TO_DO
from mcp_agent.scenarios.results import ProbeResult, Result
from mcp_agent.server.client import exit_code_of

STOPS_THE_RUN = (SessionBlocked, LoginInvalid, Limited)
"""After one of these no later probe can tell anything new."""

TELLING_EXITS = (CannotRunHere.exit_code, LoginInvalid.exit_code, Limited.exit_code)
"""What is not a fault of ours."""

REAL_MODEL_ATTEMPTS = 2
KEPT = "the session is kept (--keep-session)"
LONGER = "Run it again with a longer --timeout, or without it."


@dataclass(slots=True)
class Running:
    """One run: what was found so far, and what keeps later probes from being asked."""

    chat: Chat
    options: ChatOptions
    adapter: Adapter
    listener: Listener
    recorder: Recorder
    done: list[ProbeResult] = field(default_factory=list)
    why_not: str | None = None
    stopped_with: int | None = None
    """The exit code of what stopped the run; None when nothing did, or a fault of ours came before it."""
    _over: str | None = None
    """Why only the end of the session can be asked about."""
    _audit: Audit = field(default_factory=Audit)
    _began_seconds: float = field(default_factory=anyio.current_time)

    async def all(self, probes: Mapping[str, Probe]) -> None:
        """Every probe in order. One that needs what an earlier one failed to give is `not run`, never a pass."""
        for name, probe in probes.items():
            result = self._left_out(name, probe)
            if result is None:
                self.listener.begins(name)
                result = await self._asked(name, probe)
                await self.recorder.found(self.chat)
                await self._afterwards(result)
            self.listener.probed(result)
            self.done.append(result)

    def _left_out(self, name: str, probe: Probe) -> ProbeResult | None:
        """The result of a probe that is not asked."""
        if probe.needs is not None and probe.needs in self.adapter.lacks:
            return ProbeResult(name, Result.SKIPPED, f"{probe.needs}: {self.adapter.lacks[probe.needs]}", 0.0)
        reason, to_do = self.why_not or (None if probe.ends_session else self._over), ""
        if reason is None and probe.ends_session and self.options.keep_session:
            reason, to_do = KEPT, "Run it again without --keep-session: such a run is no pass."
        if reason is None and self.options.timeout is not None and self._left <= timedelta(0):
            reason, to_do = f"{_timeout(self.options.timeout)} was over before it", LONGER
        told = {TO_DO: to_do} if to_do else {}
        return None if reason is None else ProbeResult(name, Result.NOT_RUN, reason, 0.0, told)

    @property
    def _left(self) -> timedelta:
        if self.options.timeout is None:
            return timedelta.max
        return self.options.timeout - timedelta(seconds=anyio.current_time() - self._began_seconds)

    async def _asked(self, name: str, probe: Probe) -> ProbeResult:
        result, stopper = await self._result(name, probe)
        if result.result is not Result.PASSED:
            looked = await seen(self.chat, keep=self.options.keep)
            reason = with_log(result.reason or "", self.chat.space, keep=self.options.keep)
            result = replace(result, reason=reason, evidence={**looked, **result.evidence})
        our_fault = any(earlier.result is Result.FAILED for earlier in self.done)
        if stopper is not None and not our_fault and exit_code_of(stopper) in TELLING_EXITS:
            self.stopped_with = exit_code_of(stopper)
        if stopper is not None or not self.chat.session:
            self.why_not = f"{name} did not pass"
        return result

    async def _afterwards(self, result: ProbeResult) -> None:
        """The next probe begins with nothing of this one."""
        passed = result.result is Result.PASSED
        self.chat.discards_drafts = not passed
        if not passed and self.chat.session and self.why_not is None:
            self._over = await settle(self.chat, self._audit)
            await self.recorder.look(self.chat)

    async def _result(self, name: str, probe: Probe) -> tuple[ProbeResult, McpAgentError | None]:
        started = anyio.current_time()

        def found(result: Result, reason: str | None, evidence: Evidence | None = None) -> ProbeResult:
            return ProbeResult(name, result, reason, anyio.current_time() - started, evidence or {})

        real = self.options.model_server == "real"
        attempts = REAL_MODEL_ATTEMPTS if real else 1
        for attempt in range(attempts):
            bound = min(probe.bound(self.chat.sleep), max(self._left, timedelta(0)))
            try:
                with anyio.fail_after(bound.total_seconds()):
                    return found(Result.PASSED, None, await self._evidence(probe)), None
            except NotFollowed as error:
                if attempt + 1 == attempts:
                    return found(Result.INCONCLUSIVE if real else Result.FAILED, str(error), error.told), None
            except ProbeFailed as error:
                return found(Result.FAILED, str(error)), None
            except McpAgentError as error:
                return found(Result.FAILED, str(error), told_by(error)), error if stops_the_run(error) else None
            except TimeoutError:
                return found(Result.FAILED, *self._outlasted(probe, bound)), None
        raise AssertionError("every attempt returns")

    def _outlasted(self, probe: Probe, bound: timedelta) -> tuple[str, Evidence]:
        """Why a probe was given up after this time: its own bound, or the time of the whole run."""
        if self.options.timeout is not None and bound < probe.bound(self.chat.sleep):
            whole = _timeout(self.options.timeout)
            told = {"layer": whole, TO_DO: LONGER}
            return f"{whole} was over before it was; it had {bound.total_seconds():.1f} s of it", told
        own = format_duration(bound)
        return f"it was not over within {own}", {"layer": f"the probe's own bound, {own}"}

    async def _evidence(self, probe: Probe) -> Evidence:
        """What the probe saw, and how many things it checked: one that checks nothing proves nothing."""
        with counted() as checks:
            evidence = await probe.ask(self.chat)
        require(bool(checks.made) and bool(evidence), "the probe asserted nothing: it proves nothing")
        if not probe.ends_session:
            await self._audit.check(self.chat)
        return {**evidence, "checks": checks.made}


def _timeout(limit: timedelta) -> str:
    return f"--timeout {format_duration(limit)}"


def stops_the_run(error: McpAgentError) -> bool:
    """Whether no later probe can tell anything new after it."""
    return isinstance(error, STOPS_THE_RUN) or (isinstance(error, RemoteError) and exit_code_of(error) in TELLING_EXITS)
