"""Turns: one accepted prompt until its one completion."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mcp_agent.adapter import TurnEnded


@dataclass(frozen=True, slots=True)
class Turn:
    """What is known of one turn. `ended` is None while it runs; times are wall-clock epochs, for the record."""

    id: str
    prompt: str
    started_at: float
    live_inputs: tuple[str, ...] = ()
    ended: TurnEnded | None = None
    ended_at: float | None = None


@dataclass(slots=True)
class Turns:
    """The turns of one session, oldest first; at most one of them runs."""

    clock: Callable[[], float] = time.time
    _turns: dict[str, Turn] = field(default_factory=dict)
    _current: str | None = None

    @property
    def current(self) -> Turn | None:
        return self._turns[self._current] if self._current else None

    @property
    def all(self) -> list[Turn]:
        return list(self._turns.values())

    def get(self, turn_id: str) -> Turn | None:
        return self._turns.get(turn_id)

    def accept(self, prompt: str) -> Turn:
        """A prompt was accepted: it starts a turn, or joins the one that runs."""
        running = self.current
        if running is not None:
            joined = replace(running, live_inputs=(*running.live_inputs, prompt))
            self._turns[running.id] = joined
            return joined
        turn = Turn(f"t-{secrets.token_hex(5)}", prompt, self.clock())
        self._turns[turn.id], self._current = turn, turn.id
        return turn

    def end(self, ended: TurnEnded) -> Turn | None:
        """The running turn is over; None when none runs, so that a second completion changes nothing."""
        running = self.current
        if running is None:
            return None
        over = replace(running, ended=ended, ended_at=self.clock())
        self._turns[over.id], self._current = over, None
        return over
