"""The scripted model's mind: a conversation goes in, the one right reply comes out.

Nothing is remembered between requests. A note that is recalled was found in the earlier turns that were sent along, and
an answer about a command was computed from the tool's result: a right answer proves what the conversation held.
"""

import re
from collections.abc import Sequence
from typing import assert_never

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model import patience, programs, results
from mcp_agent.scenarios.model.conversation import (
    CallTool,
    Conversation,
    Item,
    Reply,
    Role,
    Said,
    Text,
    ToolCall,
    ToolOffer,
    ToolResult,
    result_of,
)
from mcp_agent.scenarios.model.delegating import delegate_once
from mcp_agent.scenarios.model.directives import (
    Delegate,
    Directive,
    FillIn,
    Lines,
    Publish,
    Recall,
    Remember,
    Repeat,
    Run,
    directive_of,
    live_additions,
)
from mcp_agent.scenarios.model.publishing import publish_once

SIDE_TITLE = "Scripted session"
"""The answer to a side request that asks for a title."""

_ECHOED = 200
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_DELIVERED = re.compile(r"\bsent\b.{0,40}\bmessage\b.{0,40}\bwhile\b", re.IGNORECASE | re.DOTALL)
_INTERRUPTION = re.compile(r"^\s*(?:\[request interrupted\b|<turn_aborted>)", re.IGNORECASE)
_ABORTED_CALL = re.compile(r"^\s*(?:mcp request aborted|operation aborted)\b", re.IGNORECASE)
"""All that tells of an interrupt where a program adds no words of its own: the result, and then the next prompt."""
_TITLE_REQUEST = re.compile(r"\b(?:generate|write|give|create|suggest)\b.{0,60}\btitle\b", re.IGNORECASE | re.DOTALL)


def answer(conversation: Conversation) -> Reply:
    """What the model says next."""
    if not conversation.tools and _asks_for_a_title(conversation.items):
        return Text(SIDE_TITLE)
    turn = _current_turn(conversation.items)
    place = _directive_place(turn)
    if place is None:
        return Text(" ".join([f"ECHO: {_last_prompt(turn)[-_ECHOED:]}", *_additions(turn)]))
    reply = _follow(_directive(turn[place]), conversation, turn[place + 1 :])
    if isinstance(reply, CallTool):
        return reply
    return Text(" ".join([*_finished_before(turn[:place]), reply.text, *_additions(turn[place:])]))


def _follow(directive: Directive | None, conversation: Conversation, after: Sequence[Item]) -> Reply:
    match directive:
        case Remember(token):
            return Text(f"ACK_{token}")
        case Recall():
            return Text(_latest_note(conversation.items))
        case Run():
            return _run(directive, conversation.tools, after)
        case Publish():
            return publish_once(directive, conversation.tools, after)
        case Delegate():
            return delegate_once(directive, conversation.tools, after)
        case Lines(count, token):
            return Text(prompts.many_lines_answer(count, token))
        case FillIn(text, word):
            return Text(prompts.fill_in_answer(text, word))
        case Repeat(text):
            return Text(text.strip())
        case None:
            return Text("")
        case _:
            assert_never(directive)


def _run(directive: Run, tools: Sequence[ToolOffer], after: Sequence[Item]) -> Reply:
    call = _call_of_the_shell(after)
    if call is None:
        tool = next((tool for tool in tools if _is_shell(tool.name)), None)
        return CallTool(tool, {"command": directive.command}) if tool else Text(prompts.NO_TOOL)
    result = result_of(call, after)
    if result is None:
        return Text(prompts.CANCELLED)
    cell = programs.running(result)
    if cell is not None and (wait := programs.wait_for(cell, tools)):
        return wait
    output = results.output_of(result)
    if output is not None:
        return Text(directive.prefix + output)
    if directive.patient and results.is_unknown(result):
        return patience.find_out(result, tools, after, prefix=directive.prefix)
    return Text(results.unresolved(result) or f"FAILED: {result.strip()[:_ECHOED]}")


def _finished_before(items: Sequence[Item]) -> list[str]:
    """Answers to earlier prompts of the same turn whose command has ended: a prompt in between hides no result."""
    answers = []
    for place, item in enumerate(items):
        directive = _directive(item)
        call = _call_of_the_shell(items[place:]) if isinstance(directive, Run) else None
        output = results.output_of(result_of(call, items) or "") if call else None
        if isinstance(directive, Run) and output is not None:
            answers.append(directive.prefix + output)
    return answers


def _call_of_the_shell(items: Sequence[Item]) -> ToolCall | None:
    return next((item for item in items if isinstance(item, ToolCall) and _is_shell(item.name)), None)


def _current_turn(items: Sequence[Item]) -> Sequence[Item]:
    """What was said since the last answer: an assistant's text ends a turn unless a call follows it at once."""
    ends = (place for place in range(len(items)) if _ends_a_turn(items[place], [*items[place + 1 : place + 2]]))
    return items[max(ends, default=-1) + 1 :]


def _ends_a_turn(item: Item, following: Sequence[Item]) -> bool:
    match item, following:
        case Said(Role.ASSISTANT, text), _:
            return bool(text.strip()) and not any(isinstance(next_, ToolCall) for next_ in following)
        case Said(Role.USER, text), _:
            return bool(_INTERRUPTION.search(text))
        case ToolResult(_, text), [Said()]:
            return bool(_ABORTED_CALL.search(text))
        case _:
            return False


def _directive_place(turn: Sequence[Item]) -> int | None:
    return next((place for place in reversed(range(len(turn))) if _directive(turn[place])), None)


def _directive(item: Item) -> Directive | None:
    return directive_of(_prompt_text(item))


def _prompt_text(item: Item) -> str:
    """The user's own words: what a program adds is left out, unless it says that it delivers a message of the user."""
    if not isinstance(item, Said) or item.role is Role.ASSISTANT:
        return ""
    if item.role is Role.SYSTEM:
        return item.text if _DELIVERED.search(item.text) else ""
    return _REMINDER.sub(lambda found: found[0] if _DELIVERED.search(found[0]) else "", item.text)


def _additions(items: Sequence[Item]) -> list[str]:
    """Live input may come as the user's own text, inside a reminder, or as a system message."""
    words = [
        word
        for item in items
        if isinstance(item, Said) and item.role is not Role.ASSISTANT
        for word in live_additions(item.text)
    ]
    return list(dict.fromkeys(words))


def _latest_note(items: Sequence[Item]) -> str:
    notes = [directive.token for item in items if isinstance(directive := _directive(item), Remember)]
    return notes[-1] if notes else prompts.NO_NOTE


def _is_shell(name: str) -> bool:
    return name.endswith(prompts.SHELL_TOOL)


def _last_prompt(items: Sequence[Item]) -> str:
    texts = [_prompt_text(item).strip() for item in items]
    return next((text for text in reversed(texts) if text), "")


def _asks_for_a_title(items: Sequence[Item]) -> bool:
    instructions = [item.text for item in items if isinstance(item, Said) and item.role is Role.SYSTEM]
    return any(_TITLE_REQUEST.search(text) for text in [*instructions, _last_prompt(items)])
