"""What goes into a session, and how it is proved that it did."""

from mcp_agent.adapter import Capability
from mcp_agent.errors import RemoteError, SendRefused
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.conformance.asked.starting import FIRST
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.probes import Evidence, canary, require

MULTI_LINE = "one\n\n    two, indented\n  three\n\nfive\\\n- six"
TABS = "\tone\t\ttwo\t"
INVISIBLE = "one\u200btwo\u2060three\u00adfour"
LITERAL = (
    "Enter C-c Escape #{pane_id} #(id) $(id) `id` %1 ~. \\n \\; ' \" {} [x](y) <b>&amp;</b> "
    "漢字 e\u0301 é 👩‍👩‍👧‍👦 👍🏽 🇨🇭 \u05e9\u05dc\u05d5\u05dd;"
)
CONTROL = "before \x1b[201~ after \x03 end"
OPENINGS = ("/exit", "!echo no", "#no", "@nobody", "-x")


async def submit_and_proof(case: Case) -> Evidence:
    """A prompt begins one turn, which holds exactly its text and says that a send of ours began it."""
    chat = await case.usable(FIRST)
    text, token = "Please be brief.", canary("PROOF")
    prompt = f"{text} {prompts.remember_note(token)}"
    turn = await chat.turn(prompt, expect=f"ACK_{token}")
    require(turn["prompt"] == prompt, f"the turn's prompt is {turn['prompt']!r}")
    require(turn["submission"] == "delivered", f"the turn was {turn['submission']}, not delivered")
    chat.note = token
    return {"turn": turn["id"], "source": turn["source"]}


async def multi_line_text(case: Case) -> Evidence:
    """Several lines are one prompt and arrive as they are: blank lines, indents, a trailing backslash."""
    return await _exactly(case, MULTI_LINE)


async def hostile_text(case: Case) -> Evidence:
    """Names of keys, formats of tmux, quotes, wide and joined characters are text and nothing else."""
    return await _exactly(case, LITERAL)


async def tabs_in_a_prompt(case: Case) -> Evidence:
    """A tab is a tab to the model, wherever it stands."""
    return await _exactly(case, TABS)


async def invisible_characters_in_a_prompt(case: Case) -> Evidence:
    """What has no width reaches the model all the same."""
    return await _exactly(case, INVISIBLE)


async def control_characters_arrive_or_are_refused(case: Case) -> Evidence:
    """What ends a paste, or is a key, arrives byte for byte or is refused with a reason; it is never typed."""
    chat = await case.usable(FIRST)
    try:
        return await _exactly(case, CONTROL)
    except (SendRefused, RemoteError) as error:
        turns = await case.driver.turns(chat.id)
        require(not any("\x1b" in str(turn["prompt"]) for turn in turns), "it was refused and arrived all the same")
        return {"refused": str(error)}


async def a_prompt_never_becomes_a_command(case: Case) -> Evidence:
    """What begins like a command, a mode or a mention of the CLI is answered by the model."""
    chat = await case.usable(FIRST)
    for opening in OPENINGS:
        token = canary("LITERAL")
        prompt = prompts.repeat_exactly(token, opening=opening)
        turn = await chat.turn(prompt, expect=token)
        kept = turn["prompt"] in {prompt, case.adapter.guard(prompt)}
        require(kept, f"after {opening} the turn's prompt is {turn['prompt']!r}")
    return {"openings": list(OPENINGS)}


async def _exactly(case: Case, text: str) -> Evidence:
    chat = await case.usable(FIRST)
    text = f"{canary('EXACT')} {text} end"
    prompt = prompts.repeat_exactly(text)
    turn = await chat.turn(prompt, expect=text)
    require(turn["prompt"] == prompt, f"the turn's prompt is {turn['prompt']!r}")
    return {"turn": turn["id"], "characters": len(text)}


QUESTIONS: tuple[Question[Asks], ...] = (
    Question(submit_and_proof),
    Question(multi_line_text),
    Question(hostile_text),
    Question(tabs_in_a_prompt, Capability.TABS),
    Question(invisible_characters_in_a_prompt, Capability.INVISIBLE_CHARACTERS),
    Question(control_characters_arrive_or_are_refused),
    Question(a_prompt_never_becomes_a_command),
)
