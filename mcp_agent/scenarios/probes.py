"""The probes of the chat scenario, in the order in which they are asked, and what they are made of."""

from collections.abc import Mapping
from datetime import timedelta

from mcp_agent.adapter import Capability
from mcp_agent.scenarios.chat.calling import silent_sleep, turns_do_not_leak
from mcp_agent.scenarios.chat.chat import CALL_STARTS_WITHIN, TURN_MARGIN, Chat, pane_pid
from mcp_agent.scenarios.chat.ending import stop
from mcp_agent.scenarios.chat.keeping import retained_session, tmux_loss
from mcp_agent.scenarios.chat.launching import launch, launch_and_proof, note_canary
from mcp_agent.scenarios.chat.live import live_input
from mcp_agent.scenarios.chat.probe import Probe
from mcp_agent.scenarios.chat.proving import Evidence, NotFollowed, ProbeFailed, canary, require
from mcp_agent.scenarios.chat.stopping import cancel, interrupt
from mcp_agent.scenarios.chat.texts import literal_text, long_answer

__all__ = [
    "CALL_STARTS_WITHIN",
    "PROBES",
    "TURN_MARGIN",
    "Chat",
    "Evidence",
    "NotFollowed",
    "Probe",
    "ProbeFailed",
    "canary",
    "launch",
    "live_input",
    "note_canary",
    "pane_pid",
    "require",
    "silent_sleep",
    "stop",
]

ONE_TURN = timedelta(minutes=4)
SOME_TURNS = timedelta(minutes=8)

PROBES: Mapping[str, Probe] = {
    "launch and provider proof": Probe(launch_and_proof, timedelta(minutes=6)),
    "note canary": Probe(note_canary, ONE_TURN),
    "silent sleep": Probe(silent_sleep, ONE_TURN, sleeps=True),
    "tool turns that do not leak": Probe(turns_do_not_leak, SOME_TURNS),
    "literal and multi-line text": Probe(literal_text, SOME_TURNS),
    "long final answer": Probe(long_answer, ONE_TURN),
    "live input during an active call": Probe(live_input, SOME_TURNS),
    "interrupt during a tool call": Probe(interrupt, SOME_TURNS),
    "cancel and no relaunch": Probe(cancel, SOME_TURNS),
    "retained session, no rebuild": Probe(retained_session, ONE_TURN),
    "tmux loss and native resume": Probe(tmux_loss, SOME_TURNS, needs=Capability.RESUME),
    "stop and nothing left behind": Probe(stop, ONE_TURN, ends_session=True),
}
FIRST = next(iter(PROBES))
"""The probe that gives the session that all others ask about."""
