"""The prompts that the chat scenario sends, in words that a real model follows and the scripted one parses.

Every prompt asks for one exact answer, which is named beside it. Tokens are single words of letters, digits, `-` and
`_`. A tool prompt never contains its answer in one piece: repeating the prompt must prove nothing.
"""

SHELL_TOOL = "execute_shell_command"
"""The bridge tool that the tool prompts name, without any prefix that a provider puts before it."""

NO_NOTE = "NO_NOTE"
"""The answer to `recall_note` in a conversation that holds no note."""

NO_TOOL = "NO_TOOL"
"""The answer to a tool prompt when the tool is not there."""

WAIT_TOOL = "wait_tool_call"
"""The bridge tool that waits for a call that nobody waits for any more."""

AGENT_TOOL = "call_sub_agent"
"""The bridge tool that has a configured agent work."""

OUTPUT_TOOL = "get_tool_output"
"""The bridge tool that pages through what a call printed."""

PUBLISHED_TWICE = "PUBLISHED_TWICE"
"""The answer to `publish_once` when the repetition was run."""

CANCELLED = "CANCELLED"
"""The answer to a tool prompt whose call was cancelled."""

PLACEHOLDER = "PLACEHOLDER"
"""What `fill_in` asks to replace."""

UNKNOWN = "UNKNOWN"
"""Begins the answer to a tool prompt whose outcome nobody knows; the call's id follows after a space."""

_HONESTY = (
    f"If the tool says that the outcome is unknown, answer {UNKNOWN}, a space and the call_id instead. "
    f"If it says that the call was cancelled, answer {CANCELLED}. If you do not have that tool, answer {NO_TOOL}."
)

PATIENTLY = f"use {WAIT_TOOL} with its call_id, again and again"
"""How a tool prompt asks for the outcome of a call that is unknown at first."""

_PATIENCE = (
    f"If the tool says that the outcome is unknown, {PATIENTLY}, until it tells that the call has ended, and then "
    f"{OUTPUT_TOOL} with the same call_id, which tells what the command printed. "
    f"If it says that the call was cancelled, answer {CANCELLED}. If you do not have that tool, answer {NO_TOOL}."
)


def remember_note(token: str) -> str:
    """Leaves a note in the conversation; the answer is `ACK_<token>`."""
    return (
        f"Remember this note for later: the token is {token}. Do not use any tool. "
        f"Answer with exactly the following and nothing else: ACK_{token}"
    )


def recall_note() -> str:
    """Asks for the latest note; the answer is its token alone, or `NO_NOTE`."""
    return (
        "Without using any tool, answer with exactly the note token I told you to remember and nothing else. "
        f"If I told you none, answer {NO_NOTE}."
    )


def silent_sleep_command(seconds: float, token: str) -> str:
    """The command of `run_silent_sleep`: silent for that long, then `SLEPT_<token>`."""
    return f"sleep {seconds:g}; printf 'SLEPT_%s' {token}"


def run_silent_sleep(seconds: float, token: str, *, patiently: bool = False) -> str:
    """Runs a command that prints nothing for `seconds`; the answer is `DONE_SLEPT_<token>`.

    `patiently`: a call of unknown outcome is waited for instead of being reported.
    """
    return (
        f"Use the {SHELL_TOOL} tool of the api-bridge server once, in the foreground, to run exactly this command: "
        f"`{silent_sleep_command(seconds, token)}`. Wait for its result. "
        f"Then answer exactly DONE_ followed directly by what the command printed, and nothing else. "
        f"{_PATIENCE if patiently else _HONESTY}"
    )


def run_command(command: str) -> str:
    """Runs any command; the answer is `OUTPUT`, a space and what the command printed, without outer blank space."""
    return (
        f"Use the {SHELL_TOOL} tool of the api-bridge server once, in the foreground, to run exactly this command: "
        f"`{command}`. Wait for its result. "
        f"Then answer exactly OUTPUT, a space and what the command printed, and nothing else. {_HONESTY}"
    )


def publish_once(tool: str, text: str) -> str:
    """Calls a tool that takes a `text`, and once more when its outcome is unknown, which must not run it again.

    The answer is `PUBLISHED`, a space and what is on record of the first call in the end.
    """
    return (
        f"Use the {tool} tool of the api-bridge server to publish exactly this text: `{text}`. "
        "If its result says that the outcome is unknown, call it once more at once, with exactly the same arguments. "
        f"If the answer to that says that the call was not run, use {WAIT_TOOL} with the call_id that it names. "
        "Then answer exactly PUBLISHED, a space and what the record says under `happened`, and nothing else. "
        f"If the second call was run, answer {PUBLISHED_TWICE} instead. If you do not have that tool, answer {NO_TOOL}."
    )


def delegate(agent: str, task: str) -> str:
    """Has another agent do a task; the answer is `DELEGATED`, a space and the id of its execution."""
    return (
        f"Use the {AGENT_TOOL} tool of the api-bridge server once, with the agent {agent} and, as its "
        "instructions, exactly the text between the two lines BEGIN TASK and END TASK. Do not wait for its end. Then "
        "answer exactly DELEGATED, a space and the execution_id of its result, and nothing else. "
        f"If you do not have that tool, answer {NO_TOOL}.\nBEGIN TASK\n{task}\nEND TASK"
    )


def live_input(token: str) -> str:
    """Sent while a turn runs: that turn's answer gets a space and `LIVE_<token>` at its end."""
    return f"Also add a space and LIVE_{token} at the end of your answer."


def many_lines(count: int, token: str) -> str:
    """Asks for a long answer; it is `many_lines_answer` of the same arguments."""
    return (
        f"Without using any tool, answer with exactly {count} lines and nothing else. "
        f"Each line is {token}_ followed directly by the number of the line, counting from 1."
    )


def many_lines_answer(count: int, token: str) -> str:
    """The answer to `many_lines`."""
    return "\n".join(f"{token}_{number}" for number in range(1, count + 1))


def repeat_exactly(text: str, *, opening: str = "") -> str:
    """Asks for `text` back, character for character; the answer is `text` without outer blank space.

    `opening` stands first in the prompt: a `/word` or `@word` there proves that a prompt stays a prompt.
    """
    return (
        f"{opening}{chr(10) if opening else ''}"
        "Without using any tool, answer with exactly the text between the two lines BEGIN TEXT and END TEXT, "
        f"and nothing else.\nBEGIN TEXT\n{text}\nEND TEXT"
    )


def fill_in(text: str, word: str) -> str:
    """Asks for `text` with a word in the place of each PLACEHOLDER; it is `fill_in_answer` of the same arguments.

    Unlike that of `repeat_exactly`, the answer does not stand in the prompt.
    """
    return (
        "Without using any tool, answer with exactly the text between the two lines BEGIN TEXT and END TEXT, "
        f"with every {PLACEHOLDER} in it replaced by {word} and nothing else.\nBEGIN TEXT\n{text}\nEND TEXT"
    )


def fill_in_answer(text: str, word: str) -> str:
    """The answer to `fill_in`."""
    return text.replace(PLACEHOLDER, word).strip()
