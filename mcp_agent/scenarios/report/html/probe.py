"""One probe: folded when it passed; otherwise first what was seen and expected, the layer, and the screen."""

import json

from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.html.timeline import timeline
from mcp_agent.scenarios.report.html.words import CLASSES, duration, sign, tag, text
from mcp_agent.scenarios.report.record import Call, Limit, Probe, Shot
from mcp_agent.scenarios.report.svg import svg
from mcp_agent.scenarios.results import Result

_SHOWN_ELSEWHERE = frozenset({"screen", "expected", "seen", "layer", verdict.TO_DO})


def probe_details(probe: Probe, *, opened: bool) -> str:
    """The probe; `opened` shows its inside at once."""
    took = duration(probe.elapsed_seconds) if probe.elapsed_seconds else ""
    line = sign(probe.result) + tag("span", text(probe.name), class_="name") + tag("span", took, class_="took")
    opening = '<details class="probe" open>' if opened else '<details class="probe">'
    return f"{opening}{tag('summary', line)}{tag('div', _inside(probe), class_='body')}</details>"


def _inside(probe: Probe) -> str:
    proves = tag("p", text(probe.proves), class_="proves") if probe.proves else ""
    if probe.result in (Result.PASSED, Result.SKIPPED):
        why = tag("p", text(probe.reason)) if probe.reason else ""
        return proves + why + timeline(probe) + _calls(probe) + _shots(probe, probe.shots) + _evidence(probe)
    last, earlier = probe.shots[-1:], probe.shots[:-1]
    screens = (
        "".join(_figure(shot, probe) for shot in last)
        + timeline(probe)
        + _calls(probe)
        + _shots(probe, earlier, word="earlier screen")
    )
    return _finding(probe) + screens + _evidence(probe)


def _finding(probe: Probe) -> str:
    """What an engineer on call reads first."""
    told = [("Seen", verdict.seen(probe)), ("Expected", verdict.expected(probe)), ("Layer", verdict.layer(probe))]
    if probe.proves and probe.proves != verdict.expected(probe):
        told.append(("Proves", probe.proves))
    rows = "".join(tag("dt", name) + tag("dd", text(value)) for name, value in told)
    return tag("dl", rows, class_=f"finding {CLASSES[probe.result]}")


def _calls(probe: Probe) -> str:
    if not probe.calls:
        return ""
    return tag("h4", "Tool calls") + "".join(map(_call, probe.calls))


def _call(call: Call) -> str:
    waited = call.waited_seconds
    told = [
        ("arguments", tag("code", text(call.arguments))),
        ("waited", text("its end was not looked at any more" if waited is None else duration(waited))),
        ("wait ended by", text(call.ended_by or "not looked at any more")),
        ("the work", text(call.happened or "not known")),
        ("limits", _limits(call.limits)),
    ]
    if call.detail:
        told.append(("detail", text(call.detail)))
    rows = "".join(tag("dt", name) + tag("dd", value) for name, value in told)
    name = tag("b", text(call.tool)) + tag("code", text(call.call_id), class_="quiet")
    return tag("div", tag("p", name) + tag("dl", rows), class_="call")


def _limits(limits: tuple[Limit, ...]) -> str:
    told = [f"{limit.layer} {'none' if limit.seconds is None else duration(limit.seconds)}" for limit in limits]
    return text(", ".join(told) or "not seen while it ran")


def _shots(probe: Probe, shots: tuple[Shot, ...], *, word: str = "screen") -> str:
    """Screens that are looked at on demand."""
    if not shots:
        return ""
    count = f"{len(shots)} {word}{'' if len(shots) == 1 else 's'}"
    return tag("details", tag("summary", count) + "".join(_figure(shot, probe) for shot in shots), class_="more")


def _figure(shot: Shot, probe: Probe) -> str:
    frame = shot.frame
    picture = svg(frame, label=f"The screen: {shot.caption}")
    size = f"{frame.columns}×{frame.rows}"
    at = duration(max(0.0, frame.at_seconds - probe.began_seconds))
    caption = f"{text(shot.caption)}, at {at} {tag('span', size, class_='quiet')}"
    return tag("figure", tag("div", picture, class_="screen", tabindex="0") + tag("figcaption", caption))


def _evidence(probe: Probe) -> str:
    """Whatever else the probe noted."""
    kept = {key: value for key, value in (probe.evidence or {}).items() if key not in _SHOWN_ELSEWHERE}
    if not kept:
        return ""
    told = json.dumps(kept, indent=1, ensure_ascii=False, default=str)
    return tag("details", tag("summary", "Evidence") + tag("pre", text(told)), class_="more")
