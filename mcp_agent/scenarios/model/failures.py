"""How a scripted model fails when it is told to."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to every request until it is lifted."""

    status: int
    message: str = ""
    """What the error says; empty for words that name the status."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers, such as the time after which a client may try again."""
    details: Mapping[str, object] = field(default_factory=dict)
    """More fields of the error object, or other values for those that its API gives it."""

    @property
    def words(self) -> str:
        return self.message or f"scripted refusal {self.status}"

    def body(self, document: Mapping[str, object]) -> Mapping[str, object]:
        """The error as its API shapes it, with the details added."""
        error = document.get("error")
        return {**document, "error": {**(error if isinstance(error, dict) else {}), **self.details}}
