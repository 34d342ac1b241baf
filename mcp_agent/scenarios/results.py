"""What a scenario found, and the exit code that says it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

ModelServer = Literal["scripted", "real"]


class Result(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"
    SKIPPED = "skipped"
    """What it asks for is declared to be lacking."""
    INCONCLUSIVE = "inconclusive"
    """A real model did not follow the instruction, twice."""


MARKS: Mapping[Result, str] = {
    Result.PASSED: "green",
    Result.FAILED: "red",
    Result.NOT_RUN: "yellow",
    Result.SKIPPED: "dim",
    Result.INCONCLUSIVE: "yellow",
}
"""The colour in which people see each."""

EXIT_PASSED, EXIT_FAILED, EXIT_INCONCLUSIVE = 0, 1, 7


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """One probe. `reason` is None when it passed; `evidence` holds what was seen."""

    name: str
    result: Result
    reason: str | None
    elapsed_seconds: float
    evidence: Mapping[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "result": self.result,
            "reason": self.reason,
            "elapsed_seconds": round(self.elapsed_seconds, 3),
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """A whole run. `reason` is set when it could not be run at all."""

    provider: str
    provider_version: str | None
    model_server: ModelServer
    probes: Sequence[ProbeResult]
    reason: str | None = None
    stopped_with: int | None = None
    """The exit code of what stopped the run early; None when nothing did."""

    @property
    def result(self) -> Result:
        """The worst of the probes; a probe that did not run is no pass."""
        found = {probe.result for probe in self.probes}
        for worst in (Result.FAILED, Result.INCONCLUSIVE, Result.NOT_RUN):
            if worst in found:
                return worst
        return Result.PASSED if self.probes else Result.NOT_RUN

    @property
    def exit_code(self) -> int:
        if self.stopped_with is not None:
            return self.stopped_with
        match self.result:
            case Result.PASSED:
                return EXIT_PASSED
            case Result.INCONCLUSIVE:
                return EXIT_INCONCLUSIVE
            case _:
                return EXIT_FAILED

    def as_json(self) -> dict[str, object]:
        return {
            "provider": self.provider,
            "provider_version": self.provider_version,
            "model_server": self.model_server,
            "result": self.result,
            "reason": self.reason,
            "exit_code": self.exit_code,
            "probes": [probe.as_json() for probe in self.probes],
        }
