"""What a scene is, and the one that every program plays: it brings a CLI to some of its screens and keeps them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from e2e.capture.stage import Stage
from mcp_agent.scenarios import prompts

Scene = Callable[[Stage], Awaitable[None]]

ENDS_WITHIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Marks:
    """How a program shows each state, as patterns, and what the screens of five of them are called."""

    busy: str
    tool: str
    """A tool that has run for some seconds."""
    live: str
    """A prompt that was sent while the tool runs."""
    done: str
    """What follows a whole answer."""
    names: Sequence[str]
    """Busy, busy with a draft, a silent tool, a prompt sent meanwhile, and done."""


async def text_and_tool(stage: Stage, marks: Marks) -> None:
    """A turn of text with a draft below it, and one with a silent tool and a prompt that is sent meanwhile."""
    busy, draft, tool, live, done = marks.names
    stage.model.hold()
    await stage.submit("hello there")
    await stage.model.asked.wait()
    await stage.until(marks.busy)
    stage.keep(busy)
    await stage.paste("my own draft")
    await stage.until("my own draft")
    stage.keep(draft)
    await stage.press("C-u")
    stage.model.let_go()
    await stage.until(rf"ECHO: hello there{marks.done}", settled=True)
    await stage.submit(prompts.run_silent_sleep(25, "x"))
    await stage.until(marks.tool)
    stage.keep(tool)
    await stage.submit(prompts.live_input("y"))
    await stage.until(marks.live)
    stage.keep(live)
    await stage.until(rf"(LIVE_y|end of your answer\.){marks.done}", within=ENDS_WITHIN, settled=True)
    stage.keep(done)
