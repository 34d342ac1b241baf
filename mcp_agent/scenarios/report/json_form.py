"""The report as JSON; `schema.json` beside this file says what is in it."""

import json
from dataclasses import asdict
from importlib.resources import files

from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.record import Call, Probe, ProviderRun, Run

FORMAT = 1
"""Raised when a reader of the earlier one would misread the new one."""


def json_form(run: Run) -> str:
    """The whole file."""
    told = {
        "format": FORMAT,
        "scenario": run.scenario,
        "command": run.command,
        "began_at": run.began_at.isoformat(),
        "elapsed_seconds": _rounded(run.elapsed_seconds),
        "result": verdict.result_of(run),
        "exit_code": verdict.exit_code_of(run),
        "to_do": verdict.of_all(run),
        "providers": [_provider(provider) for provider in run.providers],
    }
    return json.dumps(told, indent=1, ensure_ascii=False, default=str) + "\n"


def schema() -> dict[str, object]:
    """The JSON Schema of the report."""
    found: dict[str, object] = json.loads((files(__package__) / "schema.json").read_text(encoding="utf-8"))
    return found


def _provider(provider: ProviderRun) -> dict[str, object]:
    return {
        "provider": provider.provider,
        "provider_version": provider.provider_version,
        "emulator": provider.is_emulator,
        "model_server": provider.model_server,
        "result": provider.result,
        "reason": provider.reason,
        "exit_code": provider.exit_code,
        "elapsed_seconds": _rounded(provider.elapsed_seconds),
        "limits": [asdict(limit) for limit in provider.limits],
        "probes": [_probe(probe) for probe in provider.probes],
    }


def _probe(probe: Probe) -> dict[str, object]:
    return {
        "name": probe.name,
        "proves": probe.proves,
        "result": probe.result,
        "reason": probe.reason,
        "expected": verdict.expected(probe),
        "seen": probe.seen or probe.reason,
        "layer": probe.layer,
        "began_seconds": _rounded(probe.began_seconds),
        "elapsed_seconds": _rounded(probe.elapsed_seconds),
        "evidence": dict(probe.evidence or {}),
        "events": [{**asdict(event), "at_seconds": _rounded(event.at_seconds)} for event in probe.events],
        "calls": [_call(call) for call in probe.calls],
    }


def _call(call: Call) -> dict[str, object]:
    waited = call.waited_seconds
    return {
        **asdict(call),
        "began_seconds": _rounded(call.began_seconds),
        "ended_seconds": None if call.ended_seconds is None else _rounded(call.ended_seconds),
        "waited_seconds": None if waited is None else _rounded(waited),
    }


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
