"""One provider: what it came to, its probes, and the limits that were in force."""

from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.html.probe import probe_details
from mcp_agent.scenarios.report.html.words import CLASSES, duration, tag, text
from mcp_agent.scenarios.report.record import Limit, Probe, ProviderRun
from mcp_agent.scenarios.results import Result


def provider_section(provider: ProviderRun, *, told: int) -> str:
    """The section, with the probes in the order in which they ran. What to do about exit code `told` stands above."""
    opened = _opened(provider)
    probes = "".join(probe_details(probe, opened=probe is opened) for probe in provider.probes)
    parts = [_heading(provider), _why(provider, told=told), tag("div", probes, class_="probes") if probes else ""]
    return tag("section", "".join(parts) + _limits(provider), id=provider.provider)


def _opened(provider: ProviderRun) -> Probe | None:
    """The one that decides: the first of the worst. What came after it may only be its consequence."""
    if provider.result is Result.PASSED:
        return None
    return next((probe for probe in provider.probes if probe.result is provider.result), None)


def _heading(provider: ProviderRun) -> str:
    version = tag("span", text(provider.provider_version), class_="version") if provider.provider_version else ""
    emulator = tag("span", "emulator", class_="tag") if provider.is_emulator else ""
    result = tag("span", text(provider.result), class_=f"result {CLASSES[provider.result]}")
    facts = [f"{provider.model_server} model", verdict.passed_of(provider)]
    if provider.elapsed_seconds:
        facts.append(duration(provider.elapsed_seconds))
    return tag("h2", text(provider.provider) + version + emulator + result) + tag(
        "p", "".join(tag("span", text(fact)) for fact in facts), class_="facts"
    )


def _why(provider: ProviderRun, *, told: int) -> str:
    """The reason of a run that was none, and what to do about it."""
    reason = tag("p", text(provider.reason), class_="reason") if provider.reason else ""
    if provider.exit_code in (0, told):
        return reason
    advice = f"{tag('b', 'What to do')}{text(verdict.advice(provider.exit_code, provider.probes))}"
    return reason + tag(
        "p", advice + tag("span", f" Exit code {provider.exit_code}.", class_="quiet"), class_="todo small"
    )


def _limits(provider: ProviderRun) -> str:
    if not provider.limits:
        return ""
    rows = "".join(map(_row, provider.limits))
    table = tag("table", tag("thead", "<tr><th>layer<th>limit<th>from</tr>") + tag("tbody", rows))
    return tag(
        "details", tag("summary", "Time limits in force") + tag("div", table, class_="body wide"), class_="limits"
    )


def _row(limit: Limit) -> str:
    told = "no limit" if limit.seconds is None else duration(limit.seconds)
    return tag("tr", tag("th", text(limit.layer), scope="row") + tag("td", text(told)) + tag("td", text(limit.note)))
