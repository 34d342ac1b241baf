"""The record of a run from what was heard and seen: each event, call and picture goes to the probe it fell into."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from mcp_agent.scenarios.report.record import Call, Frame, Limit, Probe, ProviderRun, Shot
from mcp_agent.scenarios.report.recorder import Recorder, Window
from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport
from mcp_agent.timeouts_matrix import LayerRow

MOST_SHOTS = 5
"""Pictures of one probe in the page; the recording has all."""

_LAYER = re.compile(r"\blayer=([a-z_]+)(?:[^\n]*?\blimit=(\S+))?")
_NO_LIMIT_ENDED_IT = frozenset({"result", "cancel"})


def provider_run(
    report: ScenarioReport, recorder: Recorder, *, proves: Mapping[str, str], limits: Sequence[Limit] = ()
) -> ProviderRun:
    """The record of one provider's run. `proves` says of each probe what it proves."""
    return ProviderRun(
        report.provider,
        report.provider_version,
        report.model_server,
        report.result,
        report.exit_code,
        tuple(_probe(window, recorder, proves.get(window.result.name, "")) for window in recorder.windows),
        report.reason,
        recorder.elapsed_seconds,
        tuple(recorder.frames),
        tuple(limits),
    )


def limits_in_force(rows: Sequence[LayerRow]) -> list[Limit]:
    """The layers of one provider; those that differ by class of tool are told apart."""
    return [
        Limit(
            f"{row.layer} ({row.tool_class})" if row.tool_class else str(row.layer),
            None if row.effective is None or row.off else row.effective.total_seconds(),
            "switched off" if row.off else str(row.source),
        )
        for row in rows
    ]


def _probe(window: Window, recorder: Recorder, proves: str) -> Probe:
    result, evidence = window.result, window.result.evidence
    calls = tuple(call for call in recorder.calls.values() if _within(window, call.began_seconds))
    events = (event for event in recorder.events if _within(window, event.at_seconds))
    return Probe(
        result.name,
        result.result,
        result.reason,
        window.began_seconds,
        result.elapsed_seconds,
        proves=proves,
        expected=_text(evidence.get("expected")),
        seen=_text(evidence.get("seen")),
        layer=_text(evidence.get("layer")) or _layer(result, calls),
        evidence=evidence,
        events=tuple(sorted(events, key=lambda event: event.at_seconds)),
        calls=calls,
        shots=tuple(_shots(window, recorder)),
    )


def _within(window: Window, at_seconds: float) -> bool:
    return window.began_seconds <= at_seconds < window.ended_seconds


def _layer(result: ProbeResult, calls: Sequence[Call]) -> str | None:
    """The layer that the reason names, or else one that ended the wait for a call of this probe."""
    if told := _LAYER.search(result.reason or ""):
        return f"{told[1]}, {told[2]}" if told[2] else told[1]
    for call in calls:
        if call.ended_by is not None and call.ended_by not in _NO_LIMIT_ENDED_IT:
            known = {limit.layer: limit.seconds for limit in call.limits}.get(call.ended_by)
            return call.ended_by if known is None else f"{call.ended_by}, {known:g} s"
    return None


def _shots(window: Window, recorder: Recorder) -> Iterator[Shot]:
    """What was on the screen before, during and after the probe; the last one is what it ended with."""
    if window.began_seconds == window.ended_seconds or not window.result.elapsed_seconds:
        return
    earlier = [frame for frame in recorder.frames if frame.at_seconds < window.began_seconds]
    during = [frame for frame in recorder.frames if window.began_seconds <= frame.at_seconds <= window.found_seconds]
    if not during and not earlier:
        yield from _told_shot(window)
        return
    for frame in _spread(during[:-1], MOST_SHOTS - 1):
        yield Shot("while it ran", frame)
    word = "when it ended" if window.result.result is Result.PASSED else f"when it {_verb(window.result.result)}"
    last = during[-1] if during else earlier[-1]
    yield Shot(word, replace(last, at_seconds=window.found_seconds))


def _verb(result: Result) -> str:
    return "failed" if result is Result.FAILED else "ended"


def _told_shot(window: Window) -> Iterator[Shot]:
    """The screen of a session that did not come up, which only the error holds."""
    lines = window.result.evidence.get("screen")
    if isinstance(lines, list) and lines:
        shown = tuple(str(line) for line in cast("list[object]", lines))
        width = max(80, *(len(line) for line in shown))
        yield Shot("when it failed", Frame(window.found_seconds, width, len(shown), shown))


def _spread(frames: Sequence[Frame], most: int) -> list[Frame]:
    """At most so many, evenly over time, the first one among them."""
    if len(frames) <= most:
        return list(frames)
    return [frames[number * len(frames) // most] for number in range(most)]


def _text(value: object) -> str | None:
    return None if value is None else str(value)
