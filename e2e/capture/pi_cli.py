"""The scenes of Pi: how each of its screens is brought about, on version 1.6.0."""

import uuid
from collections.abc import Sequence

from e2e.capture.scene import Marks, Scene, text_and_tool
from e2e.capture.stage import Stage
from mcp_agent.adapter import Launch
from mcp_agent.scenarios import prompts

FOOTER = r"/128k \(auto\)"
IDLE = r" ─{8,} ─{8,} \S+"
"""The composer's two borders with nothing between them, and the directory."""


MARKS = Marks(
    busy="Working",
    tool='command="sleep 25',
    live="Steering",
    done=IDLE,
    names=("67-busy", "67b-busy-draft", "68-tool", "69-queued", "70-done"),
)


async def ready(stage: Stage, launch: Launch | None = None) -> None:
    stage.start(launch or stage.launch())
    await stage.until(FOOTER, settled=True)


async def after_old_turns(stage: Stage, launch: Launch | None = None) -> None:
    await ready(stage, launch)
    await stage.tools_listed()
    await stage.submit(prompts.many_lines(40, "old"))
    await stage.until(rf"old_40{IDLE}", settled=True)


async def turns(stage: Stage) -> None:
    await ready(stage)
    stage.keep("65-ready")
    await after_old_turns(stage)
    stage.keep("66-old-turns")
    await text_and_tool(stage, MARKS)


async def interrupted(stage: Stage) -> None:
    await after_old_turns(stage)
    await stage.submit(prompts.run_silent_sleep(60, "x"))
    await stage.until(r'command="sleep 60')
    await stage.press("Escape")
    await stage.until("aborted", settled=True)
    stage.keep("71-interrupted")


async def trust(stage: Stage) -> None:
    """Only a project with resources of the CLI's own is asked about."""
    (stage.home / "work/.pi").mkdir()
    (stage.home / "work/.pi/settings.json").write_text("{}")
    stage.start(stage.launch(trust=False))
    await stage.until("Trust project folder", settled=True)
    stage.keep("72-project-trust")


async def resumed(stage: Stage) -> None:
    conversation = str(uuid.uuid4())
    await after_old_turns(stage, stage.launch(native_session_id=conversation))
    stage.start(stage.launch(native_session_id=conversation, resume=True))
    await stage.until("old_40", settled=True)
    stage.keep("73-resumed")


SCENES: Sequence[Scene] = (turns, interrupted, trust, resumed)
