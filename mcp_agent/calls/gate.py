"""Whether a call may run, when nobody knows what became of an identical one.

Only a call whose wait has ended and whose outcome is unknown to its caller stands in the way: one that is still waited
for was sent in parallel by choice, and one that is known may be done again by choice. An outcome that came late is not
known to a caller who never asked: its repetition was perhaps on its way before the news.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from mcp_agent.calls.ledger_events import Evidence, Happened, Verdict
from mcp_agent.calls.ledger_fold import CallState, together
from mcp_agent.durations import format_duration

ALLOW_DUPLICATE = "allow_duplicate"
"""The argument by which an agent says that a second run is what it wants."""

Check = Callable[[CallState], Evidence | None]
"""Looks at the world for a call's effect; None when there is nothing to look at. It may say `did_not_happen` only when
the work cannot happen any more either."""

_ENDED = {
    Happened.SUCCEEDED: "succeeded, so its effect is there",
    Happened.FAILED: "failed, and may have had a part of its effect",
    Happened.CANCELLED: "was cancelled, and may have had a part of its effect",
}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What a tool says of itself. Either makes a second run harmless."""

    read_only: bool
    idempotent: bool


class Because(StrEnum):
    """Why a call may run."""

    NOTHING_IN_THE_WAY = "nothing_in_the_way"
    HARMLESS = "harmless"
    ALLOWED = "allowed"
    DID_NOT_HAPPEN = "did_not_happen"


@dataclass(frozen=True, slots=True)
class Run:
    """The call may run."""

    because: Because
    duplicate_of: tuple[str, ...] = ()
    """The calls that it may repeat, because somebody said so: each is recorded as allowed."""
    evidence: tuple[tuple[str, Evidence], ...] = ()
    """What was found of earlier calls, to be recorded with them."""


@dataclass(frozen=True, slots=True)
class AnswerWith:
    """The call is not run; this record of an earlier one is its answer."""

    earlier: CallState
    others: tuple[str, ...] = ()
    """More identical calls that stand in the way, older than this one."""
    evidence: tuple[tuple[str, Evidence], ...] = ()

    def text(self, now: float) -> str:
        """What the model reads."""
        call_id = self.earlier.call_id
        return (
            f"This call was NOT run. An identical call of {self.earlier.tool}, {call_id}, was started"
            f" {self._age(now)} ago, and {self._what_is_known(call_id)} To run it a second time all the same,"
            f" repeat the call with {ALLOW_DUPLICATE}: true."
        )

    def structured(self, now: float) -> dict[str, object]:
        return {
            "outcome": self.earlier.happened,
            "gated": True,
            "call_id": self.earlier.call_id,
            "tool": self.earlier.tool,
            "why_wait_ended": self.earlier.why,
            "age_seconds": round(max(now - self.earlier.started_at, 0.0), 3),
            "evidence": self._verdict(),
            "other_call_ids": list(self.others),
            "message": self.text(now),
        }

    def _what_is_known(self, call_id: str) -> str:
        if not _outcome_unknown(self.earlier):
            others = f" Look up {', '.join(self.others)} too." if self.others else ""
            ended = _ENDED.get(self.earlier.happened or Happened.UNKNOWN, "ended")
            return f"nobody waited for its end: it {ended}. Its record: get_tool_call(call_id={call_id!r}).{others}"
        return (
            f"its outcome is unknown: it may have taken effect{self._perhaps()}, or"
            f" it may not have happened at all.{self._more()} Look it up with get_tool_call(call_id={call_id!r}), wait"
            f" for it with wait_tool_call(call_id={call_id!r}), or check for its effect."
        )

    def _perhaps(self) -> str:
        return ", in part or whole" if self.earlier.is_over else ", it may still be running"

    def _age(self, now: float) -> str:
        return format_duration(timedelta(seconds=max(round(now - self.earlier.started_at), 0)))

    def _verdict(self) -> Verdict | None:
        found = [*self.earlier.evidence, *_found_of(self.earlier.call_id, self.evidence)]
        return together(found) if found else None

    def _more(self) -> str:
        seen = {
            Verdict.HAPPENED: " A check found signs that it took effect.",
            Verdict.CANNOT_TELL: " A check could not tell.",
        }
        others = f" So are the outcomes of {', '.join(self.others)}." if self.others else ""
        verdict = self._verdict()
        return others + ("" if verdict is None else seen.get(verdict, ""))


def decide(
    tool: ToolFacts, earlier: Sequence[CallState], *, allow_duplicate: bool = False, check: Check | None = None
) -> Run | AnswerWith:
    """Whether a call may run, given the earlier identical ones of its session, newest first.

    The check is asked only for calls that stand in the way of one that nothing else lets through. It runs in here, so
    a slow one belongs before: record what it finds of `in_the_way`, read the calls again, and decide then.
    """
    standing = in_the_way(earlier)
    if not standing:
        return Run(Because.NOTHING_IN_THE_WAY)
    if tool.read_only or tool.idempotent:
        return Run(Because.HARMLESS)
    if allow_duplicate:
        return Run(Because.ALLOWED, duplicate_of=tuple(call.call_id for call in standing))
    evidence = tuple(_look(standing, check)) if check is not None else ()
    left = [call for call in standing if not _ruled_out(call, evidence)]
    if not left:
        return Run(Because.DID_NOT_HAPPEN, evidence=evidence)
    newest, *others = left
    return AnswerWith(newest, tuple(call.call_id for call in others), evidence)


def in_the_way(earlier: Iterable[CallState]) -> list[CallState]:
    """Those of the calls whose wait has ended and whose caller does not know whether they happened, or how they ended.

    Evidence that one took place leaves it here: its outcome is not known, and a blind repetition would double it.
    """
    return [call for call in earlier if _may_have_happened(call) or _ended_unseen(call)]


def _may_have_happened(call: CallState) -> bool:
    return _outcome_unknown(call) and call.verdict is not Verdict.DID_NOT_HAPPEN


def _ended_unseen(call: CallState) -> bool:
    """It had an effect, perhaps, and ended when nobody waited; its caller was not told when it asked."""
    seen = call.answered or call.resolution is not None
    return call.late and not seen and call.happened not in {Happened.UNKNOWN, Happened.NOT_STARTED}


def _outcome_unknown(call: CallState) -> bool:
    return not call.is_open and call.happened is Happened.UNKNOWN and call.resolution is None


def _look(calls: Iterable[CallState], check: Check) -> Iterable[tuple[str, Evidence]]:
    for call in filter(_outcome_unknown, calls):
        try:
            found = check(call)
        except Exception:  # a tool's own check may raise anything; then it could not tell
            log.exception("the check of %s raised on %s", call.tool, call.call_id)
            found = Evidence(Verdict.CANNOT_TELL, "the check raised")
        if found is not None:
            yield call.call_id, found


def _ruled_out(call: CallState, evidence: Sequence[tuple[str, Evidence]]) -> bool:
    seen = together([*call.evidence, *_found_of(call.call_id, evidence)])
    return _outcome_unknown(call) and seen is Verdict.DID_NOT_HAPPEN


def _found_of(call_id: str, evidence: Sequence[tuple[str, Evidence]]) -> list[Evidence]:
    return [found for of, found in evidence if of == call_id]
