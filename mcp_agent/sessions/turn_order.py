"""The one order of what a CLI tells of its turns, where prompts and ends come by different ways.

A hook can tell of the next turn before the transcript's word for the end of the last one was read, and the transcript
of an end before the event of its prompt was. A CLI that names its turns is understood all the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mcp_agent.adapter import PromptAccepted, Signal, Source, TranscriptAt, TurnEnded, TurnOutcome
from mcp_agent.sessions.turns import Turns

MOST_EARLY_ENDS = 8
"""Ends of turns that nobody prompted, such as a command of the CLI's own, are told as well."""


@dataclass(slots=True)
class TurnOrder:
    """What was told too early waits here for its turn, and an end without an id gets that of the transcript's place."""

    _early: dict[str, TurnEnded] = field(default_factory=dict)
    _place: TranscriptAt | None = None

    def arrange(self, signal: Signal, turns: Turns) -> Iterator[Signal]:
        """The signals that are to be folded in now. Signals without a turn's own id pass as they are."""
        place = self._place = self._place or _place_of(turns)
        match signal:
            case TranscriptAt():
                self._place = _moved(place, signal)
            case TurnEnded(source=Source.TRANSCRIPT, native_turn_id=None) if place.native_turn_id:
                yield from self._arranged(_completed(signal, place), turns)
            case _:
                yield from self._arranged(signal, turns)

    def _arranged(self, signal: Signal, turns: Turns) -> Iterator[Signal]:
        match signal:
            case PromptAccepted(native_turn_id=str(native_id)):
                if begins_another([signal], turns):
                    yield _end_unheard_of(turns)
                yield signal
                if native_id in self._early:
                    yield self._early.pop(native_id)
            case TurnEnded(native_turn_id=str(native_id)) if not _ends_current(native_id, turns):
                self._keep(native_id, signal, turns)
            case _:
                yield signal

    def _keep(self, native_id: str, ended: TurnEnded, turns: Turns) -> None:
        if any(turn.native_id == native_id for turn in turns.all):
            return
        self._early[native_id] = ended
        while len(self._early) > MOST_EARLY_ENDS:
            del self._early[next(iter(self._early))]


def _place_of(turns: Turns) -> TranscriptAt:
    """Where the transcript of a session was whose earlier turns another server knew."""
    newest = next(reversed(turns.all), None)
    return TranscriptAt(newest.native_id if newest else None)


def _completed(ended: TurnEnded, place: TranscriptAt) -> TurnEnded:
    """Only a completed turn has an answer."""
    answer = (place.answer if ended.outcome is TurnOutcome.COMPLETED else None) or ""
    return replace(ended, final_text=ended.final_text or answer, native_turn_id=place.native_turn_id)


def _moved(place: TranscriptAt, told: TranscriptAt) -> TranscriptAt:
    """Another turn has another answer."""
    stays = told.native_turn_id in (None, place.native_turn_id)
    answer = told.answer if told.answer is not None else place.answer if stays else None
    return TranscriptAt(told.native_turn_id or place.native_turn_id, answer)


def begins_another(signals: Sequence[Signal], turns: Turns) -> bool:
    """Whether one of these is a prompt of another turn than the one that runs: that one is over."""
    current = turns.current.native_id if turns.current else None
    ids = (signal.native_turn_id for signal in signals if isinstance(signal, PromptAccepted))
    return current is not None and any(native_id not in (None, current) for native_id in ids)


def _ends_current(native_id: str, turns: Turns) -> bool:
    return turns.current is not None and turns.current.native_id in (None, native_id)


def _end_unheard_of(turns: Turns) -> TurnEnded:
    current = turns.current.native_id if turns.current else None
    error = "the CLI began another turn and told no end of this one"
    return TurnEnded(TurnOutcome.FAILED, error=error, native_turn_id=current)
