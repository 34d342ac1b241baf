"""What a run comes to, in words: the worst provider decides, and every exit code has something to do."""

from collections.abc import Iterable, Mapping, Sequence

from mcp_agent.scenarios.report.record import Probe, ProviderRun, Run
from mcp_agent.scenarios.results import ProbeResult, Result

WORST_FIRST = (Result.FAILED, Result.INCONCLUSIVE, Result.NOT_RUN, Result.SKIPPED, Result.PASSED)

OURS = 1
"""The exit code of a fault of ours."""

ADVICE: Mapping[int, str] = {
    0: "Nothing.",
    1: (
        "A fault of mcp-agent. Start with the first probe that did not pass: it shows what was expected, and what was"
        " seen."
    ),
    2: "The command was called wrongly: correct its options.",
    3: "Set the credentials that the reason names, and run it again.",
    4: "Install what the reason names on this machine, and run it again.",
    5: "The login is invalid or has expired: renew the provider's credentials. It is not a fault of the code.",
    6: "The provider limits us or is down: run it again later, and look at its status page if it stays so.",
    7: "The model did not follow the instruction, twice. Run it again; choose another model if it stays so.",
}
"""What a person does about each exit code."""

TO_DO = "to_do"
"""The evidence of a probe that says what to do about it."""

NO_LAYER = "none: no time limit ended anything here"


def worst(results: Sequence[Result]) -> Result:
    """What a row of results comes to; nothing at all is not a pass."""
    return next((result for result in WORST_FIRST if result in results), Result.NOT_RUN)


def result_of(run: Run) -> Result:
    return worst([provider.result for provider in run.providers])


def exit_code_of(run: Run) -> int:
    return exit_code_of_all([(provider.result, provider.exit_code) for provider in run.providers])


def exit_code_of_all(found: Sequence[tuple[Result, int]]) -> int:
    """0 when every provider passed; otherwise the code of the worst one, a fault of ours before all."""
    by_result = sorted(found, key=lambda each: WORST_FIRST.index(each[0]))
    codes = [code for _, code in by_result if code != 0]
    if not found or OURS in codes:
        return OURS
    return codes[0] if codes else 0


def by_urgency(run: Run) -> list[ProviderRun]:
    """The worst first; otherwise in the order in which they ran."""
    return sorted(run.providers, key=lambda provider: (WORST_FIRST.index(provider.result), provider.exit_code == 0))


def advice(exit_code: int, probes: Iterable[Probe | ProbeResult] = ()) -> str:
    """What a person does about it. Probes that only an option kept from passing say themselves what."""
    return (exit_code == OURS and _to_do(list(probes))) or ADVICE.get(exit_code, "See the reason.")


def _to_do(probes: Sequence[Probe | ProbeResult]) -> str | None:
    """What every one of the worst probes asks for; None where one of them asks for nothing of its own."""
    deciding = worst([probe.result for probe in probes])
    asked = [(probe.evidence or {}).get(TO_DO) for probe in probes if probe.result is deciding]
    return str(asked[0]) if asked and all(asked) else None


def of_all(run: Run) -> str:
    """What a person does about the whole run."""
    return advice(exit_code_of(run), [probe for provider in run.providers for probe in provider.probes])


def expected(probe: Probe) -> str:
    return probe.expected or probe.proves or "the probe passes"


def seen(probe: Probe) -> str:
    return probe.seen or probe.reason or "nothing was told"


def layer(probe: Probe) -> str:
    return probe.layer or NO_LAYER


def passed_of(provider: ProviderRun) -> str:
    """`5 of 6 probes passed`, or that none ran."""
    if not provider.probes:
        return "no probe ran"
    passed = sum(probe.result is Result.PASSED for probe in provider.probes)
    return f"{passed} of {len(provider.probes)} probes passed"
