"""The session is one and the same, until its terminal is lost; then its conversation goes on."""

from datetime import timedelta
from typing import cast

from mcp_agent.processes import identify
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat.chat import Chat, pane_pid
from mcp_agent.scenarios.chat.launching import take_note
from mcp_agent.scenarios.chat.proving import Evidence, require
from mcp_agent.server.client import Json
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.server import kill_server

LOSS_NOTICED_WITHIN = timedelta(seconds=50)
CLI_ENDS_WITHIN = timedelta(seconds=30)


async def retained_session(chat: Chat) -> Evidence:
    """The session still is the one of the first turn: same pane, same conversation, and it remembers."""
    await take_note(chat)
    turn = await chat.turn(prompts.recall_note(), expect=chat.note)
    now = await chat.driver.show(chat.id)
    for kept in ("pane", "native_session_id"):
        require(now[kept] == chat.session[kept], f"the session was rebuilt: its {kept} changed")
    return {"turn": turn["id"], "answer": turn["final_text"], "turns": len(cast("list[Json]", now["turns"]))}


async def tmux_loss(chat: Chat) -> Evidence:
    """After the loss of tmux the next prompt goes on with the CLI's own conversation, in a new pane."""
    await take_note(chat)
    cli, before = identify(pane_pid(chat)), await chat.driver.show(chat.id)
    chat.say("loss    tmux is ended")
    await kill_server(Tmux.at(chat.space.state.tmux_socket))
    lost = await chat.driver.until(chat.id, lambda shown: shown["state"] == "lost", limit=LOSS_NOTICED_WITHIN)
    require(lost["state"] == "lost", f"the session is {lost['state']}, although its terminal is gone")
    gone = cli is None or await wait_gone([cli], limit=CLI_ENDS_WITHIN)
    require(gone, "the CLI outlives its terminal")
    turn = await chat.turn(prompts.recall_note(), expect=chat.note)
    now = await chat.driver.show(chat.id)
    require(now["native_session_id"] == before["native_session_id"], "another conversation was begun")
    require(now["pane"] != before["pane"], "it has the pane that was lost")
    kept = [each["id"] for each in cast("list[Json]", now["turns"])][:-1]
    require(kept == [each["id"] for each in cast("list[Json]", before["turns"])], "earlier turns are not on record")
    chat.session = now
    return {"turn": turn["id"], "conversation": now["native_session_id"], "pane": now["pane"]}
