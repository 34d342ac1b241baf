"""The scripted model's answers are computed from the conversation that it is given."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model.brain import SIDE_TITLE, answer
from mcp_agent.scenarios.model.conversation import (
    CallTool,
    Conversation,
    Item,
    Role,
    Said,
    Text,
    ToolCall,
    ToolOffer,
    ToolResult,
)

SHELL = ToolOffer("mcp__api-bridge__execute_shell_command")
TOKENS = st.from_regex(r"[A-Za-z0-9][\w-]{0,20}", fullmatch=True).filter(str.isascii)


def user(text: str) -> Said:
    return Said(Role.USER, text)


def assistant(text: str) -> Said:
    return Said(Role.ASSISTANT, text)


def called(command: str, *, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, SHELL.name, {"command": command})


def report(stdout: str, *, ended: str = "exited") -> str:
    return json.dumps({"exit_status": 0, "signal": None, "ended": ended, "stdout": stdout, "stderr": ""})


def slept(token: str, result: str) -> list[Item]:
    """A silent sleep that was asked for, called, and answered with `result`."""
    return [
        user(prompts.run_silent_sleep(20, token)),
        called(prompts.silent_sleep_command(20, token)),
        ToolResult("c1", result),
    ]


def said(*items: Item, tools: tuple[ToolOffer, ...] = (SHELL,)) -> str:
    reply = answer(Conversation(items, tools))
    assert isinstance(reply, Text)
    return reply.text


def test_a_note_is_acknowledged() -> None:
    assert said(user(prompts.remember_note("k7-Q"))) == "ACK_k7-Q"


def test_a_note_is_recalled_from_an_earlier_turn() -> None:
    history = [user(prompts.remember_note("k7")), assistant("ACK_k7"), user("hello"), assistant("ECHO: hello")]

    assert said(*history, user(prompts.recall_note())) == "k7"


def test_a_note_that_was_never_told_is_not_invented() -> None:
    assert said(assistant("ACK_k7"), user(prompts.recall_note())) == prompts.NO_NOTE


def test_the_latest_of_two_notes_is_recalled() -> None:
    history = [user(prompts.remember_note("one")), assistant("ACK_one"), user(prompts.remember_note("two"))]

    assert said(*history, assistant("ACK_two"), user(prompts.recall_note())) == "two"


@given(TOKENS)
def test_any_token_comes_back(token: str) -> None:
    assert said(user(prompts.remember_note(token)), assistant("x"), user(prompts.recall_note())) == token


def test_a_silent_sleep_begins_with_a_call_of_the_offered_tool() -> None:
    other = ToolOffer("mcp__api-bridge__list_tool_calls")
    reply = answer(Conversation((user(prompts.run_silent_sleep(20, "k7")),), (other, SHELL)))

    assert reply == CallTool(SHELL, {"command": "sleep 20; printf 'SLEPT_%s' k7"})


def test_a_tool_in_a_namespace_is_called_with_its_namespace() -> None:
    tool = ToolOffer(prompts.SHELL_TOOL, "mcp__api_bridge")

    assert answer(Conversation((user(prompts.run_command("true")),), (tool,))) == CallTool(tool, {"command": "true"})


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    assert said(user(prompts.run_silent_sleep(1, "k7")), tools=(ToolOffer("read_file"),)) == prompts.NO_TOOL


@pytest.mark.parametrize(
    "result",
    [
        report("SLEPT_k7"),
        "SLEPT_k7",
        "Wall time: 20.0 seconds\nOutput:\n" + report("SLEPT_k7\n"),
        '[{"type":"text","text":"SLEPT_k7"}]',
    ],
)
def test_the_answer_is_what_the_command_printed(result: str) -> None:
    assert said(*slept("k7", result)) == "DONE_SLEPT_k7"


def test_the_answer_follows_the_result_and_not_the_prompt() -> None:
    assert said(*slept("k7", report("SLEPT_other"))) == "DONE_SLEPT_other"


def test_a_result_that_only_quotes_the_command_is_no_output() -> None:
    result = f"could not run {prompts.silent_sleep_command(20, 'k7')}"

    assert said(*slept("k7", result)).startswith("FAILED: could not run")


def test_any_command_and_its_output_pass_through() -> None:
    command = "echo `uname`; printf 'a\\nb'"
    reply = answer(Conversation((user(prompts.run_command(command)),), (SHELL,)))
    assert isinstance(reply, CallTool)
    assert reply.arguments == {"command": command}

    result = ToolResult("c1", report("Linux\na\nb\n"))
    assert said(user(prompts.run_command(command)), called(command), result) == "OUTPUT Linux\na\nb"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            "TIMEOUT: layer=tool_wait owner=watchdog tool=t timeout=900s call_id=call_9f\nIt may go on.",
            "UNKNOWN call_9f",
        ),
        ("ERROR: layer=bridge_http outcome=unknown call_id=call_9f: connection lost", "UNKNOWN call_9f"),
        (json.dumps({"timed_out": True, "outcome": "unknown", "call_id": "call_9f"}), "UNKNOWN call_9f"),
        ("TIMEOUT: layer=tool_wait", "UNKNOWN"),
        ("CANCELED: layer=server_tool tool=t call_id=call_9f", "CANCELLED"),
        ("Script completed\nOutput:\n\nCANCELED: layer=cancel tool=t call_id=call_9f", "CANCELLED"),
        (report("SLEPT_k7", ended="cancelled"), "CANCELLED"),
    ],
)
def test_an_unresolved_call_is_reported_as_such(result: str, expected: str) -> None:
    assert said(*slept("k7", result)) == expected


def test_a_call_without_a_result_is_not_made_again() -> None:
    assert said(*slept("k7", "")[:2]) == prompts.CANCELLED


@pytest.mark.contract("I4")
@pytest.mark.parametrize(
    "delivery",
    [
        user(prompts.live_input("z9")),
        user(f"<system-reminder>\nThe user said:\n{prompts.live_input('z9')}\n</system-reminder>"),
        Said(Role.SYSTEM, f"The user sent a new message while you were working: {prompts.live_input('z9')}"),
    ],
)
def test_live_input_is_followed_in_the_same_turn(delivery: Said) -> None:
    assert said(*slept("k7", report("SLEPT_k7")), delivery) == "DONE_SLEPT_k7 LIVE_z9"


def test_live_input_before_the_result_counts_and_counts_once() -> None:
    prompt, call, result = slept("k7", report("SLEPT_k7"))
    live = user(prompts.live_input("z9"))

    assert said(prompt, call, live, result, live) == "DONE_SLEPT_k7 LIVE_z9"


def test_live_input_of_an_earlier_turn_is_over() -> None:
    earlier = [*slept("k7", report("SLEPT_k7")), user(prompts.live_input("z9")), assistant("DONE_SLEPT_k7 LIVE_z9")]

    assert said(*earlier, user(prompts.remember_note("n1"))) == "ACK_n1"


def test_a_prompt_that_arrives_during_a_call_hides_no_result() -> None:
    turn = [*slept("k7", report("SLEPT_k7")), user(prompts.remember_note("n1"))]

    assert said(*turn) == "DONE_SLEPT_k7 ACK_n1"


@pytest.mark.parametrize("marker", ["[Request interrupted by user for tool use]", "<turn_aborted>\nby the user"])
def test_an_interrupted_turn_does_not_leak_into_the_next(marker: str) -> None:
    earlier = [*slept("k7", report("SLEPT_k7")), user(marker)]

    assert said(*earlier, user("hello")) == "ECHO: hello"


def test_a_turn_whose_interrupt_only_its_call_tells_of_does_not_leak_into_the_next() -> None:
    assert said(*slept("k7", "MCP request aborted"), user("hello")) == "ECHO: hello"
    assert said(*slept("k7", "MCP request aborted")) == "FAILED: MCP request aborted"


def test_an_interrupted_call_is_not_repeated_by_the_next_prompt() -> None:
    assert said(*slept("k7", "aborted by the user"), user(prompts.remember_note("n1"))) == "ACK_n1"


def test_the_same_prompt_in_a_later_turn_runs_again() -> None:
    turn = slept("k7", report("SLEPT_k7"))
    reply = answer(Conversation((*turn, assistant("DONE_SLEPT_k7"), turn[0]), (SHELL,)))

    assert isinstance(reply, CallTool)


def test_an_assistants_words_before_a_call_do_not_end_the_turn() -> None:
    prompt, call, result = slept("k7", report("SLEPT_k7"))

    assert said(prompt, assistant("I will run it."), call, result) == "DONE_SLEPT_k7"


def test_a_long_answer_has_every_line() -> None:
    text = said(user(prompts.many_lines(40, "k7")))

    assert text == prompts.many_lines_answer(40, "k7")
    assert len(text.splitlines()) == 40


@given(st.text(min_size=1).filter(lambda text: text == text.strip() != ""))
def test_quoted_text_comes_back_character_for_character(text: str) -> None:
    assert said(user(prompts.repeat_exactly(text, opening="/compact @here"))) == text


@given(st.text(min_size=1).filter(lambda text: text == text.strip() != ""), TOKENS)
def test_a_text_comes_back_with_its_places_filled_in(text: str, word: str) -> None:
    told = f"{prompts.PLACEHOLDER}|{text}\n```{prompts.PLACEHOLDER}"

    assert said(user(prompts.fill_in(told, word))) == f"{word}|{text}\n```{word}"


def test_a_prompt_quoted_inside_a_text_is_not_followed() -> None:
    quoted = prompts.remember_note("n1")

    assert said(user(prompts.repeat_exactly(quoted))) == quoted


def test_anything_else_is_echoed_without_the_reminders_around_it() -> None:
    reminder = "<system-reminder>be kind</system-reminder>"

    assert said(user(f"{reminder}what is up"), user(reminder)) == "ECHO: what is up"


def test_an_echo_is_short() -> None:
    assert said(user("a" * 500)) == "ECHO: " + "a" * 200


def test_an_empty_conversation_is_answered() -> None:
    assert said() == "ECHO: "


@pytest.mark.parametrize("role", [Role.SYSTEM, Role.USER])
def test_a_side_request_for_a_title_gets_a_short_text(role: Role) -> None:
    request = Said(role, f"Generate a concise, single-line task title.\n{prompts.remember_note('k7')}")

    assert said(request, tools=()) == SIDE_TITLE


@given(st.lists(st.builds(Said, st.sampled_from(Role), st.text()) | st.builds(ToolResult, st.text(), st.text())))
def test_no_conversation_is_too_strange_to_answer(items: list[Item]) -> None:
    assert isinstance(answer(Conversation(tuple(items), (SHELL,))), Text)
