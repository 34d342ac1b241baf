"""JUnit XML: one suite for each provider, one case for each probe.

There is no official schema. The attributes and the order of elements are those that the published descriptions have in
common (Jenkins' `junit-10.xsd`, and the Ant format of `JUnit.xsd`): properties, cases, system-out, system-err.
"""

import re
from datetime import timedelta
from xml.etree.ElementTree import Element, SubElement, tostring

from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.record import Probe, ProviderRun, Run
from mcp_agent.scenarios.results import Result

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""

_ELEMENTS = {
    Result.FAILED: "failure",
    Result.INCONCLUSIVE: "error",
    Result.NOT_RUN: "skipped",
    Result.SKIPPED: "skipped",
}


def junit(run: Run) -> str:
    """The whole file."""
    suites = [_suite(run, provider) for provider in run.providers]
    root = Element("testsuites", name=run.scenario, time=f"{run.elapsed_seconds:.3f}")
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    root.extend(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(run: Run, provider: ProviderRun) -> Element:
    probes = provider.probes or (_nothing_ran(provider),)
    found = [_ELEMENTS.get(probe.result) for probe in probes]
    began = run.began_at + timedelta(seconds=_offset(run, provider))
    suite = Element("testsuite", name=f"{run.scenario}.{provider.provider}", hostname="localhost")
    suite.set("timestamp", began.strftime("%Y-%m-%dT%H:%M:%S"))
    suite.set("time", f"{provider.elapsed_seconds:.3f}")
    suite.set("tests", str(len(probes)))
    for count, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(found.count(element)))
    _properties(suite, provider)
    for probe in probes:
        suite.append(_case(run, provider, probe))
    SubElement(suite, "system-out").text = _clean(f"{provider.title}: {provider.result}, {verdict.passed_of(provider)}")
    SubElement(suite, "system-err").text = _clean(provider.reason or "")
    return suite


def _properties(suite: Element, provider: ProviderRun) -> None:
    properties = SubElement(suite, "properties")
    told = {
        "provider": provider.provider,
        "provider_version": provider.provider_version or "unknown",
        "emulator": str(provider.is_emulator).lower(),
        "model_server": provider.model_server,
        "result": provider.result,
        "exit_code": str(provider.exit_code),
    }
    for name, value in told.items():
        SubElement(properties, "property", name=name, value=_clean(value))


def _case(run: Run, provider: ProviderRun, probe: Probe) -> Element:
    case = Element("testcase", name=_clean(probe.name), classname=f"{run.scenario}.{provider.provider}")
    case.set("time", f"{probe.elapsed_seconds:.3f}")
    element = _ELEMENTS.get(probe.result)
    if element is not None:
        told = SubElement(case, element, type=str(probe.result), message=_clean(probe.reason or str(probe.result)))
        if element != "skipped":
            told.text = _clean(_told(provider, probe))
    return case


def _told(provider: ProviderRun, probe: Probe) -> str:
    """Enough to understand a failure without the other files."""
    screen = probe.shots[-1].frame if probe.shots else None
    lines = [
        f"expected: {verdict.expected(probe)}",
        f"seen:     {verdict.seen(probe)}",
        f"layer:    {verdict.layer(probe)}",
        f"to do:    {verdict.advice(provider.exit_code, provider.probes)}",
    ]
    if screen is not None:
        lines += ["screen:", *(f"| {line}" for line in plain(screen.lines))]
    return "\n".join(lines)


def plain(lines: tuple[str, ...]) -> list[str]:
    """The lines without their styles, and without the empty ones at the end."""
    shown = [re.sub("\x1b\\[[0-9;:]*m", "", line).rstrip() for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return shown


def _nothing_ran(provider: ProviderRun) -> Probe:
    """A suite without cases is no suite to some readers, and would hide that nothing ran."""
    return Probe("run", provider.result, provider.reason or "no probe ran", 0.0, 0.0)


def _offset(run: Run, provider: ProviderRun) -> float:
    """When this provider's turn came; they run one after the other."""
    earlier = run.providers[: run.providers.index(provider)]
    return sum(each.elapsed_seconds for each in earlier)


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
