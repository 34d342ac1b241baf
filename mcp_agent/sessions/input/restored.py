"""A prompt of ours that an interrupted CLI put back into its composer: it is nobody's draft."""

from mcp_agent.adapter import TurnOutcome
from mcp_agent.sessions.input.drawn import is_drawing
from mcp_agent.sessions.live import LiveSession


def is_restored(session: LiveSession) -> bool:
    """Whether the composer shows what the latest turn was begun with by us, and that turn was interrupted.

    A chip could stand for anything.
    """
    latest = next(reversed(session.turns.all), None)
    if latest is None or latest.ended is None or latest.submission != "delivered":
        return False
    composer = session.adapter.composer(session.screen)
    if latest.ended.outcome is not TurnOutcome.INTERRUPTED or composer is None or composer.is_chip:
        return False
    return bool(composer.draft) and is_drawing(composer.draft, session.adapter.guard(latest.prompt))
