"""What the suite found."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent.scenarios.conformance.capabilities import Need
from mcp_agent.scenarios.results import ProbeResult, ScenarioReport


@dataclass(frozen=True, slots=True)
class Answer(ProbeResult):
    """The answer to one question. `lacks` names the capability for whose absence it was not asked."""

    proves: str = ""
    lacks: Need | None = None

    def as_json(self) -> dict[str, object]:
        return {**ProbeResult.as_json(self), "proves": self.proves, "lacks": self.lacks}


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """A whole run: its questions are the probes of a scenario."""

    scenario: ScenarioReport
    answers: Sequence[Answer]

    @property
    def exit_code(self) -> int:
        return self.scenario.exit_code

    def as_json(self) -> dict[str, object]:
        told = self.scenario.as_json()
        del told["probes"]
        return {**told, "questions": [answer.as_json() for answer in self.answers]}
