"""What holds of every turn and call, whatever a probe looks at: begun once, ended once, in that order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.chat.proving import require
from mcp_agent.server.client import Json

_IDS = {"turn.started": "turn_id", "turn.ended": "turn_id", "call.started": "call_id", "call.ended": "call_id"}
_WORDS = {
    "turn.started": "was begun",
    "turn.ended": "was completed",
    "call.started": "was begun",
    "call.ended": "was ended",
}


@dataclass(slots=True)
class Audit:
    """Reads a session's events from where it stopped reading."""

    cursor: int = 0
    _seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    _left_out: set[str] = field(default_factory=set)

    async def check(self, chat: Chat) -> None:
        """Every turn and call on record was told to begin once and to end once, and a call ends before its turn."""
        events = await self._read(chat)
        for (kind, each), times in self._seen.items():
            require(
                times == 1 or each in self._left_out, f"{kind.partition('.')[0]} {each} {_WORDS[kind]} {times} times"
            )
        calls = await chat.driver.calls(chat.id)
        for turn in await chat.driver.turns(chat.id):
            self._require_both("turn", str(turn["id"]))
        for call in calls:
            self._require_both("call", str(call["call_id"]))
        _check_order(events, {str(call["call_id"]): str(call["turn_id"]) for call in calls})

    async def skip(self, chat: Chat) -> None:
        """Leave out what a failed probe did: it is told by that one alone."""
        await self._read(chat)
        self._left_out.update(str(turn["id"]) for turn in await chat.driver.turns(chat.id))
        self._left_out.update(str(call["call_id"]) for call in await chat.driver.calls(chat.id))

    def _require_both(self, what: str, each: str) -> None:
        for kind in (f"{what}.started", f"{what}.ended"):
            told = (kind, each) in self._seen or each in self._left_out
            require(told, f"{what} {each} is on record, and nothing tells that it {_WORDS[kind]}")

    async def _read(self, chat: Chat) -> Sequence[Json]:
        events = await chat.driver.events(chat.id, after=self.cursor)
        self.cursor = max([self.cursor, *(cast("int", event["seq"]) for event in events)])
        self._seen.update((str(event["kind"]), _id(event)) for event in events if event["kind"] in _IDS)
        return events


def _check_order(events: Sequence[Json], turn_of: dict[str, str]) -> None:
    """A turn that completed did so after its calls; one that was interrupted may end beside them."""
    over: set[str] = set()
    for event in events:
        if event["kind"] == "turn.ended" and cast("Json", event["facts"])["outcome"] == "completed":
            over.add(_id(event))
        if event["kind"] == "call.ended":
            turn = turn_of.get(_id(event), "")
            require(turn not in over, f"turn {turn} was completed before its tool call {_id(event)} had ended")


def _id(event: Json) -> str:
    return str(cast("Json", event["facts"])[_IDS[str(event["kind"])]])
