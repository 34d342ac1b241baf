"""Asking a custom tool whether an earlier call happened: read-only, bounded, and never more certain than it is."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from mcp_agent.tools.custom_errors import WorkAbandoned
from mcp_agent.tools.custom_running import is_async, message_of, run_foreign
from mcp_agent.tools.custom_threads import Threads
from mcp_agent.tools.tool import CallContext, Seen, Verdict

CHECK_LIMIT = timedelta(seconds=5)
"""How long a check may take."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """The call that a check is asked about."""

    call_id: str
    arguments: Mapping[str, Any]
    """As the function got them, defaults included."""
    context: CallContext


CheckFunction = Callable[[EarlierCall], str | Verdict | Awaitable[str | Verdict]]
"""Answers one of the words of `Seen`, or a `Verdict`."""


async def run_check(check: CheckFunction, call: EarlierCall, threads: Threads) -> Verdict:
    """What the user's check says, and `cannot_tell` when it raises, hangs or says anything else."""
    with anyio.move_on_after(CHECK_LIMIT.total_seconds()):
        return await _ask(check, call, threads)
    return Verdict("cannot_tell", f"the check had no answer within {CHECK_LIMIT.total_seconds():g} s")


async def _ask(check: CheckFunction, call: EarlierCall, threads: Threads) -> Verdict:
    try:
        said = await run_foreign(
            lambda: check(call), asynchronous=is_async(check), threads=threads, call_id=call.call_id
        )
    except WorkAbandoned:
        await checkpoint_if_cancelled()
        raise
    except Exception as error:
        # A check that raises has found out nothing.
        log.exception("the check of %s raised", call.call_id)
        return Verdict("cannot_tell", f"the check raised {type(error).__name__}: {message_of(error)}")
    return _verdict(said)


def _verdict(said: object) -> Verdict:
    verdict = said if isinstance(said, Verdict) else Verdict(said) if isinstance(said, str) else None  # type: ignore[arg-type]
    if verdict is None or verdict.evidence not in get_args(Seen):
        words = ", ".join(get_args(Seen))
        return Verdict(
            "cannot_tell", f"the check answered something of type {type(said).__name__} that is none of {words}"
        )
    return verdict
