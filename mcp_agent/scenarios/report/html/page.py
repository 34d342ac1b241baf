"""The whole page: what it came to, what to do, and then each provider, the worst first."""

from importlib.resources import files

from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.html.provider import provider_section
from mcp_agent.scenarios.report.html.words import CLASSES, duration, sign, tag, text
from mcp_agent.scenarios.report.record import ProviderRun, Run
from mcp_agent.scenarios.results import Result

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The browser itself refuses to load anything."""


def page(run: Run) -> str:
    """The file."""
    result = verdict.result_of(run)
    title = f"{str(result).capitalize()}: {run.scenario}"
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="data:,">'
        f"<title>{text(title)}</title><style>{_style()}</style>"
    )
    body = _header(run, result) + _main(run) + _footer(run)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _style() -> str:
    return (files(__package__) / "style.css").read_text(encoding="utf-8")


def _header(run: Run, result: Result) -> str:
    code = verdict.exit_code_of(run)
    began = run.began_at.strftime("%d %b %Y, %H:%M %Z").strip()
    parts = [
        tag("p", text(run.scenario), class_="scenario"),
        tag("h1", text(str(result).capitalize()), class_=CLASSES[result]),
        tag("p", text(_summary(run)), class_="lead"),
    ]
    if code != 0:
        parts.append(tag("p", tag("b", "What to do") + text(verdict.of_all(run)), class_="todo"))
    facts = [began, f"took {duration(run.elapsed_seconds)}", f"exit code {code}"]
    parts.append(tag("p", "".join(tag("span", text(fact)) for fact in facts), class_="facts"))
    if len(run.providers) > 1:
        parts.append(tag("nav", "".join(map(_link, verdict.by_urgency(run))), aria_label="Providers"))
    return tag("header", "".join(parts))


def _summary(run: Run) -> str:
    """One sentence about what did not pass, or that all did."""
    if not run.providers:
        return "No provider was run."
    bad = [provider for provider in run.providers if provider.result is not Result.PASSED]
    if not bad:
        probes = sum(len(provider.probes) for provider in run.providers)
        names = ", ".join(provider.provider for provider in run.providers)
        return f"All {probes} probes passed: {names}."
    told = "; ".join(f"{provider.provider} {_came_to(provider)}" for provider in bad)
    return f"{told}." if len(run.providers) == 1 else f"{len(bad)} of {len(run.providers)} providers: {told}."


def _came_to(provider: ProviderRun) -> str:
    if not provider.probes:
        return "was not run"
    first = next((probe.name for probe in provider.probes if probe.result is provider.result), None)
    return f"{provider.result} at “{first}”"


def _link(provider: ProviderRun) -> str:
    name = sign(provider.result) + tag("span", text(provider.provider), class_="name")
    told = tag("span", text(verdict.passed_of(provider).removesuffix(" probes passed")), class_="count")
    return tag("a", name + told, href=f"#{provider.provider}")


def _main(run: Run) -> str:
    told = verdict.exit_code_of(run)
    return tag("main", "".join(provider_section(provider, told=told) for provider in verdict.by_urgency(run)))


def _footer(run: Run) -> str:
    casts = [provider.provider for provider in run.providers if provider.frames]
    told = [tag("p", f"Made by {tag('code', text(run.command))}.")]
    if casts:
        files_of = ", ".join(tag("code", f"{text(name)}.cast") for name in casts)
        told.append(
            tag("p", f"To watch the pane again: {tag('code', 'asciinema play')} with {files_of} beside this page.")
        )
    told.append(
        tag(
            "p",
            "Screens and recordings are pictures of the pane taken twice a second; shorter states are not in them. "
            "Secrets are replaced by • in every file of this report.",
        )
    )
    return tag("footer", "".join(told))
