"""What becomes of a session whose process, terminal, login or allowance is gone."""

import signal
from datetime import timedelta

from mcp_agent.adapter import Capability
from mcp_agent.processes import identify
from mcp_agent.processes.signalling import send_signal
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.conformance.asked.starting import FIRST, SECOND
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.model.failures import Refusal
from mcp_agent.scenarios.probes import Evidence, canary, pane_pid, require
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.server import kill_server

NOTICED_WITHIN = timedelta(seconds=50)
REFUSAL_TOLD_WITHIN = timedelta(seconds=60)
NO_RETRY = {"x-should-retry": "false"}
"""How model servers tell their own client libraries not to try again; others try as often as they like."""
TOO_MANY_REQUESTS, UNAUTHORIZED = 429, 401


async def an_exit_is_detected(case: Case) -> Evidence:
    """A CLI that is gone is a fact with its signal, not a guess."""
    chat = case.started(SECOND)
    cli = identify(pane_pid(chat))
    require(cli is not None and send_signal(cli, signal.SIGKILL), "the CLI was gone already")
    now = await case.driver.until(chat.id, lambda shown: shown["state"] == "exited", limit=NOTICED_WITHIN)
    told = (now["state"], now["detail"])
    require(told == ("exited", "signal 9"), f"the session is {told[0]} ({told[1]})")
    return {"state": told}


async def a_lost_session_is_resumed(case: Case) -> Evidence:
    """After the loss of tmux the next prompt continues the CLI's own conversation, in a new pane."""
    chat = await case.usable(FIRST)
    before = await case.driver.show(chat.id)
    await kill_server(Tmux.at(case.space.state.tmux_socket))
    lost = await case.driver.until(chat.id, lambda shown: shown["state"] == "lost", limit=NOTICED_WITHIN)
    require(lost["state"] == "lost", f"the session is {lost['state']}")
    turn = await chat.turn(prompts.recall_note(), expect=chat.note)
    now = await case.driver.show(chat.id)
    require(now["native_session_id"] == before["native_session_id"], "another conversation was begun")
    require(now["pane"] != before["pane"], "it has the pane that was lost")
    chat.session = now
    return {"turn": turn["id"], "conversation": now["native_session_id"]}


async def a_limit_of_the_provider_is_told(case: Case) -> Evidence:
    """Too many requests end the turn as limited, with the provider's reason; later the session is as before."""
    return await _refused(case, TOO_MANY_REQUESTS, cause="limited")


async def a_refused_login_is_told(case: Case) -> Evidence:
    """A key that is not taken any more ends the turn as a matter of the login; with a good one it goes on."""
    return await _refused(case, UNAUTHORIZED, cause="login")


async def _refused(case: Case, status: int, *, cause: str) -> Evidence:
    chat = await case.usable(FIRST)
    case.model.refuse_with(Refusal(status, headers=NO_RETRY))
    try:
        sent = await case.driver.send(chat.id, prompts.repeat_exactly(canary("REFUSED")))
        turn = await case.driver.turn(chat.id, str(sent["turn_id"]), limit=REFUSAL_TOLD_WITHIN)
    finally:
        case.model.refuse_with(None)
    told = (turn["outcome"], turn["cause"])
    require(told == ("failed", cause), f"the turn {told[0]} ({told[1]}); the session is {turn['session_state']}")
    require(bool(turn["error"]), "the provider's reason is not told")
    after = await chat.turn(prompts.recall_note(), expect=chat.note)
    return {"turn": turn["id"], "error": turn["error"], "next": after["id"]}


QUESTIONS: tuple[Question[Asks], ...] = (
    Question(an_exit_is_detected),
    Question(a_lost_session_is_resumed, Capability.RESUME),
    Question(a_limit_of_the_provider_is_told),
    Question(a_refused_login_is_told),
)
