"""The scenes of Codex: how each of its screens is brought about, on version 0.171.0."""

import json
from collections.abc import Sequence

import anyio

from e2e.capture.scene import Marks, Scene, text_and_tool
from e2e.capture.stage import Stage
from mcp_agent.adapter import Launch
from mcp_agent.scenarios import prompts

READY = "Ask Codex to do anything"
DONE = r"Worked for \S+ • \d+:\d\d"


MARKS = Marks(
    busy="esc to interrupt",
    tool=r"\([3-9]s • esc to interrupt\)",
    live=r"› Also add.*Working|Messages to be submitted",
    done=rf".*{DONE}",
    names=("82-busy", "82b-busy-draft", "83-tool", "84-live-input", "85-done"),
)


async def ready(stage: Stage, launch: Launch | None = None) -> None:
    stage.start(launch or stage.launch())
    await stage.until(READY, settled=True)


async def after_old_turns(stage: Stage, launch: Launch | None = None) -> None:
    await ready(stage, launch)
    await stage.submit(prompts.many_lines(40, "old"))
    await stage.until(rf"old_40.*{DONE}", settled=True)


async def turns(stage: Stage) -> None:
    await ready(stage)
    stage.keep("80-ready")
    await after_old_turns(stage)
    stage.keep("81-old-turns")
    await text_and_tool(stage, MARKS)


async def interrupted(stage: Stage) -> None:
    await after_old_turns(stage)
    await stage.submit(prompts.run_silent_sleep(60, "x"))
    await stage.until(r"\([2-9]s • esc to interrupt\)")
    await stage.press("Escape")
    await stage.until("Conversation interrupted", settled=True)
    stage.keep("88-interrupted")


async def permission(stage: Stage) -> None:
    await after_old_turns(stage, stage.launch(allow_tools=frozenset()))
    await stage.submit(prompts.run_silent_sleep(2, "x"))
    await stage.until("Allow the api-bridge MCP server", settled=True)
    stage.keep("89-permission")


async def trust(stage: Stage) -> None:
    """Only a repository is asked about."""
    await anyio.run_process(["git", "init", "--quiet", str(stage.home / "work")])
    stage.start(stage.launch(trust=False))
    await stage.until("Trust this folder", settled=True)
    stage.keep("90-trust")


async def login(stage: Stage) -> None:
    stage.start(stage.launch(endpoint=None))
    await stage.until("Sign in with", settled=True)
    stage.keep("91-login")


async def hooks(stage: Stage) -> None:
    """Hooks of the user's own, which nobody has trusted yet."""
    hook = {"hooks": [{"type": "command", "command": "true"}]}
    (stage.home / ".codex").mkdir()
    (stage.home / ".codex/hooks.json").write_text(json.dumps({"hooks": {"Stop": [hook]}}))
    stage.start(stage.launch())
    await stage.until("Hooks need review", settled=True)
    stage.keep("92-hooks-review")


async def resumed(stage: Stage) -> None:
    await after_old_turns(stage)
    stage.end()
    (rollout,) = stage.home.glob(".codex/sessions/*/*/*/rollout-*.jsonl")
    conversation = "-".join(rollout.stem.split("-")[-5:])
    stage.start(stage.launch(native_session_id=conversation, resume=True))
    await stage.until("old_40", settled=True)
    stage.keep("99-resumed")


SCENES: Sequence[Scene] = (turns, interrupted, permission, trust, login, hooks, resumed)
