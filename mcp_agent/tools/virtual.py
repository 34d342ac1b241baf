"""What the tools of our own about calls and executions have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from mcp_agent.tools.arguments import parse, schema_of_model
from mcp_agent.tools.tool import CallContext, Category, Verdict

LONGEST_WAIT = timedelta(minutes=80)
WAITED_LESS = timedelta(seconds=2)
"""A wait answers this much before the wait for its own answer ends."""
ANSWERS_WITHIN = timedelta(seconds=30)
"""What a call that waits may take beyond the wait that it was asked for."""
LISTED = 50

ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)


class ToolArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(slots=True)
class VirtualTool(Generic[ArgumentsT]):
    """A tool that changes nothing, unless it says otherwise, and of which nothing can be asked afterwards."""

    name: ClassVar[str]
    description: ClassVar[str]
    model: ClassVar[type[BaseModel]]
    category: ClassVar[Category] = "virtual"
    long_running: ClassVar[bool] = False
    read_only: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True

    @property
    def input_schema(self) -> Mapping[str, object]:
        return schema_of_model(self.model)

    @property
    def annotations(self) -> Mapping[str, object]:
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": False,
            "idempotentHint": self.idempotent,
            "openWorldHint": not self.read_only,
        }

    def validate(self, arguments: Mapping[str, object]) -> Any:
        return parse(self.model, arguments, tool=self.name)

    def wait_limit(self, arguments: ArgumentsT) -> timedelta | None:
        return None

    async def check(self, call_id: str, context: CallContext, arguments: ArgumentsT) -> Verdict | None:
        return None


def waited_in_time(wanted: timedelta, context: CallContext) -> timedelta:
    """How long to wait for something, so that the answer comes before nobody waits for it any more."""
    if context.wait_limit is None:
        return wanted
    return min(wanted, context.wait_limit - min(WAITED_LESS, context.wait_limit / 10))
