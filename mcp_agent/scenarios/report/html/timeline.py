"""What happened in a probe, in order: a strip to scale, and below it one line for each thing."""

from collections.abc import Iterator

from mcp_agent.scenarios.report.html.words import CLASSES, duration, tag, text
from mcp_agent.scenarios.report.record import Call, Event, Probe
from mcp_agent.scenarios.results import Result

_NARROWEST = 0.6
"""Percent: what began and ended at once is still seen."""


def timeline(probe: Probe) -> str:
    """Empty for a probe in which nothing happened."""
    happened = sorted([*probe.events, *_of_calls(probe)], key=lambda event: event.at_seconds)
    if not happened:
        return ""
    over = probe.began_seconds + probe.elapsed_seconds
    before = "".join(_line(event, probe) for event in happened if event.at_seconds <= over)
    after = "".join(_line(event, probe) for event in happened if event.at_seconds > over)
    lines = before + _end(probe) + after
    return tag("h4", "Timeline") + _strip(probe) + tag("ol", lines, class_="events")


def _of_calls(probe: Probe) -> Iterator[Event]:
    for call in probe.calls:
        yield Event(call.began_seconds, "call begins", call.tool)
        if call.ended_seconds is not None:
            yield Event(call.ended_seconds, "call ends", f"{call.ended_by or ''}: {call.happened or ''}".strip(": "))


def _line(event: Event, probe: Probe) -> str:
    at = tag("time", f"{max(0.0, event.at_seconds - probe.began_seconds):.1f} s")
    kind = tag("span", text(event.kind), class_="kind")
    return tag("li", at + kind + tag("span", text(event.text), class_="what"))


def _end(probe: Probe) -> str:
    at = tag("time", f"{probe.elapsed_seconds:.1f} s")
    what = tag("span", text(probe.reason or ""), class_="what") if probe.result is not Result.PASSED else ""
    kind = tag("span", text(probe.result), class_=f"kind {CLASSES[probe.result]}")
    return tag("li", at + kind + what)


def _strip(probe: Probe) -> str:
    """Calls as bars and events as ticks, over the length of the probe."""
    if not probe.elapsed_seconds:
        return ""
    bars = "".join(_bar(call, probe) for call in probe.calls)
    ticks = "".join(_tick(event, probe) for event in probe.events)
    scale = tag("span", "0 s") + tag("span", duration(probe.elapsed_seconds))
    return tag("div", tag("div", bars + ticks, class_="track") + tag("div", scale, class_="scale"), class_="strip")


def _bar(call: Call, probe: Probe) -> str:
    begin = _percent(call.began_seconds, probe)
    end = 100.0 if call.ended_seconds is None else _percent(call.ended_seconds, probe)
    width = min(100.0 - begin, max(_NARROWEST, end - begin))
    kind = "bar" if call.ended_by in (None, "result") else "bar limit"
    return tag("i", "", class_=kind, style=f"left:{begin:.2f}%;width:{width:.2f}%", title=f"{call.tool}")


def _tick(event: Event, probe: Probe) -> str:
    return tag("i", "", class_="tick", style=f"left:{_percent(event.at_seconds, probe):.2f}%")


def _percent(at_seconds: float, probe: Probe) -> float:
    share = (at_seconds - probe.began_seconds) / probe.elapsed_seconds
    return min(100.0 - _NARROWEST, max(0.0, share * 100.0))
