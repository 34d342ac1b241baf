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

PUBLISHED_TWICE = "PUBLISHED_TWICE"
"""The answer to `publish_once` when the repetition was run."""

CANCELLED = "CANCELLED"
"""The answer to a tool prompt whose call was cancelled."""

UNKNOWN = "UNKNOWN"
"""Begins the answer to a tool prompt whose outcome nobody knows; the call's id follows after a space."""

_HONESTY = (
    f"If the tool says that the outcome is unknown, answer {UNKNOWN}, a space and the call_id instead. "
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


def run_silent_sleep(seconds: float, token: str) -> str:
    """Runs a command that prints nothing for `seconds`; the answer is `DONE_SLEPT_<token>`."""
    return (
        f"Use the {SHELL_TOOL} tool of the api-bridge server once, in the foreground, to run exactly this command: "
        f"`{silent_sleep_command(seconds, token)}`. Wait for its result. "
        f"Then answer exactly DONE_ followed directly by what the command printed, and nothing else. {_HONESTY}"
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
