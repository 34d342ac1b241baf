"""A benchmark's numbers beside the bounds that they must keep."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Finding:
    """One number, and the most that it may be."""

    what: str
    value: float
    bound: float
    unit: str = "s"
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.value <= self.bound


def table(findings: Sequence[Finding], *, title: str) -> Table:
    table = Table("what", "measured", "bound", "", "", title=title)
    for finding in findings:
        verdict = "holds" if finding.holds else "OVER"
        table.add_row(finding.what, f"{finding.value:.3g} {finding.unit}", f"{finding.bound:g}", verdict, finding.note)
    return table
