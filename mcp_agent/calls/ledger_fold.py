"""What a call's facts say together.

The first fact of its kind decides; later ones are kept beside it, and where they disagree that is said. Only a known
outcome outranks an earlier *unknown*: it adds what nobody knew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mcp_agent.calls.ledger_events import (
    DuplicateAllowed,
    Evidence,
    Gated,
    Happened,
    Intent,
    Offered,
    Outcome,
    Progress,
    Recorded,
    Resolved,
    Verdict,
    WaitEnded,
    WhyEnded,
)

FactT = TypeVar("FactT")


@dataclass(frozen=True, slots=True)
class NextLimit:
    """The limit that fires next, and when, as a wall-clock epoch."""

    layer: str
    at: float


@dataclass(frozen=True, slots=True)
class CallState:
    """One call as its facts tell it. Times are wall-clock epochs."""

    call_id: str
    intent: Intent
    started_at: float
    ended_at: float | None
    """When the wait ended first; None while the call is waited for."""
    last_progress_at: float | None
    ends: tuple[WaitEnded, ...]
    outcomes: tuple[Outcome, ...]
    evidence: tuple[Evidence, ...]
    resolutions: tuple[Resolved, ...]
    gated_by: str | None
    duplicate_of: tuple[str, ...]
    offered: bool
    answered: bool
    """A late outcome was told to whoever asked about this very call, or repeated it."""

    @property
    def session_id(self) -> str:
        return self.intent.session_id

    @property
    def tool(self) -> str:
        return self.intent.tool

    @property
    def category(self) -> str:
        return self.intent.category

    @property
    def arguments(self) -> Mapping[str, object]:
        return self.intent.arguments

    @property
    def digest(self) -> str:
        return self.intent.digest

    @property
    def turn_id(self) -> str | None:
        return self.intent.turn_id

    @property
    def why(self) -> WhyEnded | None:
        """Why the wait ended; None while the call is waited for."""
        return self.ends[0].why if self.ends else None

    @property
    def happened(self) -> Happened | None:
        """What was observed of the work; None while the call is waited for and nothing was."""
        outcome = self._outcome
        if outcome is not None:
            return outcome.happened
        return None if self.is_open else Happened.UNKNOWN

    @property
    def detail(self) -> str:
        return "" if self._outcome is None else self._outcome.detail

    @property
    def result_bytes(self) -> int | None:
        return None if self._outcome is None else self._outcome.result_bytes

    @property
    def late(self) -> bool:
        """Whether an outcome came after the wait had ended."""
        return any(outcome.late for outcome in self.outcomes)

    @property
    def verdict(self) -> Verdict:
        """What all evidence says together; when checks disagree they cannot tell."""
        return together(self.evidence)

    @property
    def resolution(self) -> Resolved | None:
        return self.resolutions[0] if self.resolutions else None

    @property
    def is_open(self) -> bool:
        """Whether the call is still waited for, as far as the ledger knows."""
        return not self.ends

    @property
    def is_unknown(self) -> bool:
        """Whether the wait has ended, and nothing observed, checked or decided says what happened."""
        told = self.resolution is not None or self.verdict is not Verdict.CANNOT_TELL
        return not self.is_open and self.happened is Happened.UNKNOWN and not told

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to wait for: the outcome is known, or the work was seen to be over."""
        return not self.is_open and (self.happened is not Happened.UNKNOWN or bool(self.resolutions))

    @property
    def is_over(self) -> bool:
        """Whether the work was seen to be over, by whoever waited for it or later; what it did may be unknown."""
        answered = self.why is WhyEnded.RESULT
        lost = self.why is WhyEnded.RUNTIME_LOST and bool(self.evidence)
        known = not self.is_open and self.happened is not Happened.UNKNOWN
        return known or answered or lost or self.late or bool(self.resolutions)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """One sentence for each way in which the facts disagree."""
        return tuple(_contradictions(self))

    def next_limit(self, now: float) -> NextLimit | None:
        """The limit that fires next; None when nothing is left to limit, or every limit has passed."""
        if self.is_over:
            return None
        wait = [NextLimit("tool_wait", self.started_at + self.intent.wait_limit_seconds)] if self.is_open else []
        work_limit_seconds = self.intent.work_limit_seconds
        work = [] if work_limit_seconds is None else [NextLimit("server_tool", self.started_at + work_limit_seconds)]
        return min((limit for limit in wait + work if limit.at > now), key=lambda limit: limit.at, default=None)

    @property
    def _outcome(self) -> Outcome | None:
        """The one that decides: the first that knows, or else the first."""
        known = [outcome for outcome in self.outcomes if outcome.happened is not Happened.UNKNOWN]
        return next(iter(known or self.outcomes), None)


def fold(call_id: str, records: Sequence[Recorded]) -> CallState:
    """What these facts, in the order in which they were written, say of the call.

    Raises ValueError when its intent is not among them.
    """
    started_at, intent = next(_timed(records, Intent), (0.0, None))
    if intent is None:
        raise ValueError(f"call {call_id} has no intent that can be read")
    return CallState(
        call_id=call_id,
        intent=intent,
        started_at=started_at,
        ended_at=next((at for at, _ in _timed(records, WaitEnded)), None),
        last_progress_at=max((at for at, _ in _timed(records, Progress)), default=None),
        ends=_every(records, WaitEnded),
        outcomes=_every(records, Outcome),
        evidence=_every(records, Evidence),
        resolutions=_every(records, Resolved),
        gated_by=next((gate.by_call_id for gate in _every(records, Gated)), None),
        duplicate_of=tuple(allowed.of_call_id for allowed in _every(records, DuplicateAllowed)),
        offered=bool(_every(records, Offered)),
        answered=any(offered.asked for offered in _every(records, Offered)),
    )


def together(evidence: Iterable[Evidence]) -> Verdict:
    """The one thing that all checks say that could tell anything."""
    told = {found.verdict for found in evidence} - {Verdict.CANNOT_TELL}
    return told.pop() if len(told) == 1 else Verdict.CANNOT_TELL


def _timed(records: Sequence[Recorded], kind: type[FactT]) -> Iterator[tuple[float, FactT]]:
    return ((record.at, record.event) for record in records if isinstance(record.event, kind))


def _every(records: Sequence[Recorded], kind: type[FactT]) -> tuple[FactT, ...]:
    return tuple(fact for _, fact in _timed(records, kind))


def _contradictions(call: CallState) -> Iterator[str]:
    known = [outcome.happened for outcome in call.outcomes if outcome.happened is not Happened.UNKNOWN]
    told = [found.verdict for found in call.evidence if found.verdict is not Verdict.CANNOT_TELL]
    decided = ["it happened" if resolved.happened else "it did not happen" for resolved in call.resolutions]
    for what, said in (
        ("the wait ended by", [end.why for end in call.ends]),
        ("it was observed that it", known),
        ("checks said", told),
        ("people decided that", decided),
    ):
        if len(set(said)) > 1:
            yield f"{what} {' and then '.join(dict.fromkeys(said))}"
    yield from _across(call)


def _across(call: CallState) -> Iterator[str]:
    """Where a decision or a check says one thing and the observed outcome another."""
    ran = {Happened.SUCCEEDED: True, Happened.NOT_STARTED: False}.get(call.happened or Happened.UNKNOWN)
    if ran is None:
        return
    if call.resolution is not None and call.resolution.happened is not ran:
        yield f"the decision of the {call.resolution.by} and the observed outcome, {call.happened}, disagree"
    if call.verdict is not Verdict.CANNOT_TELL and (call.verdict is Verdict.HAPPENED) is not ran:
        yield f"the evidence, {call.verdict}, and the observed outcome, {call.happened}, disagree"
