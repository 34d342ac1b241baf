"""The scenes of Claude Code: how each of its screens is brought about, on version 2.1.332."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from e2e.capture.model import KEY, Refusal
from e2e.capture.scene import Marks, Scene, text_and_tool
from e2e.capture.stage import Stage
from mcp_agent.adapter import Launch
from mcp_agent.scenarios import prompts

READY = r"(manual mode on|accept edits on|plan mode on|don't ask on|bypass permissions on|auto mode on|for shortcuts)"
DONE = r"done \d+:\d\d [AP]M"
MARKS = Marks(
    busy="esc to interrupt",
    tool=r"Calling api-bridge · [3-9]s",
    live="Queued",
    done=rf".*{DONE}",
    names=("82-busy", "82b-busy-draft", "83-tool", "84-queued", "85-done"),
)
DRAFT = "one\n\nthree" + " wrapped" * 12
OVERLOADED = Refusal(500, {"type": "error", "error": {"type": "api_error", "message": "scripted 500"}})
RATE = {"type": "error", "error": {"type": "rate_limit_error", "message": "scripted 429"}}
RATE_LIMITED = Refusal(429, RATE, {"retry-after": "120"})
USED_UP = Refusal(
    429,
    RATE,
    {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": "4102444800",
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    },
)


async def ready(stage: Stage, launch: Launch | None = None, **more: str) -> None:
    stage.start(launch or stage.launch(), **more)
    await stage.until(READY, settled=True)


async def after_old_turns(stage: Stage, launch: Launch | None = None, **more: str) -> None:
    await ready(stage, launch, **more)
    await stage.tools_listed()
    await stage.submit(prompts.many_lines(40, "old"))
    await stage.until(rf"old_40.*{DONE}", settled=True)


async def turns(stage: Stage) -> None:
    await ready(stage)
    stage.keep("80-ready")
    await after_old_turns(stage)
    stage.keep("81-old-turns")
    await text_and_tool(stage, MARKS)


async def drafts(stage: Stage) -> None:
    await after_old_turns(stage)
    await stage.paste(DRAFT)
    await stage.until("three wrapped", settled=True)
    stage.keep("86-draft")
    await stage.press("C-u", "C-u", "C-u", "C-u", "C-u", "C-u", "C-u", "C-u")
    await stage.paste("\n".join(f"line {number}" for number in range(60)))
    await stage.until("Pasted text")
    stage.keep("87-chip")


async def interrupted(stage: Stage) -> None:
    """In a tool call; and before any answer, when the prompt becomes a draft again."""
    await after_old_turns(stage)
    await stage.submit(prompts.run_silent_sleep(60, "x"))
    await stage.until("Calling api-bridge")
    await stage.press("Escape")
    await stage.until("Interrupted", settled=True)
    stage.keep("88-interrupted")
    stage.model.hold()
    await stage.submit("a prompt without an answer")
    await stage.model.asked.wait()
    await stage.press("Escape")
    await stage.until("❯ a prompt without an answer ─", settled=True)
    stage.keep("88b-interrupted-at-once")
    stage.model.let_go()


async def permission(stage: Stage) -> None:
    await after_old_turns(stage, stage.launch(allow_tools=frozenset()))
    await stage.submit(prompts.run_silent_sleep(2, "x"))
    await stage.until("Do you want to proceed", settled=True)
    stage.keep("89-permission")


async def trust(stage: Stage) -> None:
    stage.start(stage.launch(trust=False))
    await stage.until("Yes, I trust this folder", settled=True)
    stage.keep("90-trust")


async def api_key(stage: Stage) -> None:
    launch = stage.launch()
    _seed(stage, customApiKeyResponses={"approved": [], "rejected": []})
    stage.start(launch)
    await stage.until("Do you want to use this API key", settled=True)
    stage.keep("91-api-key")


async def modes(stage: Stage) -> None:
    for mode in ("acceptEdits", "plan", "dontAsk", "auto"):
        await ready(stage, stage.launch(permission_mode=mode))
        stage.keep(f"92-mode-{mode}")
        stage.model.hold()
        await stage.submit("hello there")
        await stage.model.asked.wait()
        await stage.until("esc to interrupt")
        stage.keep(f"93-busy-{mode}")
        stage.model.let_go()


async def bypass(stage: Stage) -> None:
    stage.start(stage.launch(permission_mode="bypassPermissions"), IS_SANDBOX="1")
    await stage.until("Yes, I accept", settled=True)
    stage.keep("94-bypass")
    await stage.press("Down", "Enter")
    await stage.until(READY, settled=True)
    stage.keep("95-mode-bypassPermissions")


async def compaction(stage: Stage) -> None:
    await after_old_turns(stage)
    stage.model.hold()
    await stage.type("/compact")
    await stage.press("Enter")
    await stage.model.asked.wait()
    await stage.until("Compacting")
    stage.keep("96-compacting")
    stage.model.let_go()
    await stage.until("Compacted", settled=True)
    stage.keep("97-compacted")


async def menus(stage: Stage) -> None:
    """What a person may open; `/resume` needs an older conversation."""
    await after_old_turns(stage)
    await ready(stage)
    for name, shows in MENUS.items():
        await stage.type(f"/{name}")
        await stage.press("Enter")
        await stage.until(shows, settled=True)
        stage.keep(f"98-menu-{name}")
        await stage.press("Escape", "Escape")
        await stage.until(READY, settled=True)


MENUS: Mapping[str, str] = {
    "resume": "Resume session",
    "permissions": "Allow",
    "mcp": "api-bridge",
    "config": "Esc to",
    "login": "Select login method",
}


async def resumed(stage: Stage) -> None:
    conversation = str(uuid.uuid4())
    await after_old_turns(stage, stage.launch(native_session_id=conversation))
    await ready(stage, stage.launch(native_session_id=conversation, resume=True))
    stage.keep("99-resumed")


async def logged_out(stage: Stage) -> None:
    await ready(stage, stage.launch(endpoint=None))
    stage.keep("a0-logged-out")
    await stage.submit("hello there")
    await stage.until(r"/login.*❯", settled=True)
    stage.keep("a1-logged-out-refused")


async def refused(stage: Stage) -> None:
    for name, refusal, shows in (
        ("a2-error-500", OVERLOADED, "API Error"),
        ("a3-error-429", RATE_LIMITED, "429"),
    ):
        stage.model.refusal = None
        await after_old_turns(stage, CLAUDE_CODE_MAX_RETRIES="0")
        stage.model.refusal = refusal
        await stage.submit("hello there")
        await stage.until(rf"hello there .*({shows})", settled=True)
        stage.keep(name)
    stage.model.refusal = OVERLOADED
    await ready(stage)
    await stage.submit("hello there")
    await stage.until("retrying")
    stage.keep("a5-retrying")
    stage.model.refusal = None


async def used_up(stage: Stage) -> None:
    """A plan's allowance is told to a login only, not to a key."""
    launch = stage.launch()
    variables = {name: value for name, value in launch.environment.items() if name != "ANTHROPIC_API_KEY"}
    launch = replace(launch, environment={**variables, "CLAUDE_CODE_OAUTH_TOKEN": KEY})
    await after_old_turns(stage, launch, CLAUDE_CODE_MAX_RETRIES="0")
    stage.model.refusal = USED_UP
    await stage.submit("hello there")
    await stage.until("hello there .*limit", settled=True)
    stage.keep("a4-used-up")


async def broken_settings(stage: Stage) -> None:
    launch = stage.launch()
    (stage.home / ".claude").mkdir(exist_ok=True)
    (stage.home / ".claude/settings.json").write_text('{"env": ')
    stage.start(launch)
    await stage.until("Settings (Error|Warning)|manual mode", settled=True)
    stage.keep("a7-broken-settings")


async def suggestion(stage: Stage) -> None:
    """What the CLI suggests as the next prompt, once a conversation has some turns; not seen at 200 columns."""
    stage.model.suggestion = "run the tests"
    launch = stage.launch()
    settings = stage.root / "settings.json"
    settings.write_text(settings.read_text().replace('PROMPT_SUGGESTION": "false"', 'PROMPT_SUGGESTION": "true"'))
    await after_old_turns(stage, launch)
    for prompt in ("one more", "two more"):
        await stage.submit(prompt)
        await stage.until(rf"ECHO: {prompt}.*{DONE}", settled=True)
    await stage.until("❯ run the tests", settled=True)
    stage.keep("a6-suggestion")


def _seed(stage: Stage, **state: object) -> None:
    path = stage.home / ".claude.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **state}))


SCENES: Sequence[Scene] = (
    turns,
    drafts,
    interrupted,
    permission,
    trust,
    api_key,
    modes,
    bypass,
    compaction,
    menus,
    resumed,
    logged_out,
    refused,
    used_up,
    broken_settings,
    suggestion,
)
