"""How an adapter reads screens and files, and places prompts."""

import re
from collections.abc import Mapping
from pathlib import Path

from mcp_agent.adapter import Adapter, Blocked, Composer, Dialog, Ready, Screen, Source
from mcp_agent.scenarios.conformance.question import Describes, Question
from mcp_agent.scenarios.probes import require

_BLANKS: tuple[tuple[str, ...], ...] = ((), ("",), ("",) * 36, ("$ ", ""), ("Loading...",))
_MONSTERS = ("[" * 200_000, '{"a":' * 100_000, "9" * 5000, '{"type":"user","message":{"content":[null]}}')
_PLAIN = ("hello", "two\nlines", "what is 1/2?", "mail me@home", "wow!", "字 é 🙂")
_HOSTILE = ("/exit", "!ls", "#note", "@file", "-x", ";", "\\", " /exit", "/", "\n/exit", "\t!ls")
_MOST_ADDED = 2
_KEY = re.compile(
    r"^(?:[CMS]-){0,3}(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|DC|IC|PageUp|PageDown|F\d+)$"
)
_CONVERSATION = "2f7c6c0e"


def check_screen(adapter: Adapter, screen: Screen) -> None:
    """Any screen is read to signals that hang together."""
    signals, composer = adapter.read(screen), adapter.composer(screen)
    require(all(signal.source is Source.SCREEN for signal in signals), "a screen's signal names another source")
    ready = any(isinstance(signal, Ready) for signal in signals)
    require(composer is not None or not ready, "ready without a composer")
    require(composer is None or isinstance(composer, Composer), f"the composer is {composer!r}")
    for signal in signals:
        if isinstance(signal, Blocked):
            check_dialog(signal.dialog)


def check_dialog(dialog: Dialog) -> None:
    """An answer is one of the options that are seen, and trust needs consent."""
    if dialog.answer is None:
        return
    require(dialog.answer.label in dialog.options, f"the answer {dialog.answer.label!r} is no option of the dialog")
    require(0 <= dialog.selected < len(dialog.options), "no option is selected")
    require(dialog.answer.needs != "nothing" or "trust" not in dialog.name, "trust is given without consent")


def check_event(adapter: Adapter, event: Mapping[str, object]) -> None:
    """An event of any shape is read, and says that it is no screen."""
    signals = adapter.read_event(event)
    require(all(signal.source is not Source.SCREEN for signal in signals), "an event's signal names the screen")


def check_guard(adapter: Adapter, text: str) -> None:
    """A guarded text keeps every character in order, with little beside it."""
    guarded = adapter.guard(text)
    rest = iter(guarded)
    require(all(character in rest for character in text), f"{text!r} became {guarded!r}")
    require(len(guarded) <= len(text) + _MOST_ADDED, f"{text!r} became {guarded!r}")


def a_blank_screen_is_not_ready(adapter: Adapter) -> None:
    """Readiness needs positive evidence."""
    for lines in _BLANKS:
        require(not adapter.read(Screen(lines)), f"{lines!r} says something")
        require(adapter.composer(Screen(lines)) is None, f"{lines!r} holds a composer")


def a_monstrous_transcript_line_means_nothing(adapter: Adapter) -> None:
    """A broken file ends no session."""
    for line in _MONSTERS:
        require(not adapter.read_transcript([line]), f"{line[:20]!r}… means something")


def the_transcript_stands_below_the_clis_home(adapter: Adapter) -> None:
    """The conversation's own file is found by its id, never as the newest one."""
    pattern = adapter.transcript_glob(_CONVERSATION)
    if pattern is not None:
        require(not Path(pattern).is_absolute() and ".." not in Path(pattern).parts, f"{pattern} leads elsewhere")
        require(_CONVERSATION in pattern, f"{pattern} does not name the conversation")


def a_guarded_prompt_keeps_every_character(adapter: Adapter) -> None:
    """What would be a command stays the prompt that it is."""
    for text in (*_PLAIN, *_HOSTILE):
        check_guard(adapter, text)


def a_plain_prompt_is_not_guarded(adapter: Adapter) -> None:
    """Ordinary words are placed as they are."""
    for text in _PLAIN:
        require(adapter.guard(text) == text, f"{text!r} became {adapter.guard(text)!r}")


def its_keys_are_keys_that_tmux_knows(adapter: Adapter) -> None:
    """A key is pressed, and never typed as a word."""
    pressed = {
        "submit_keys": adapter.submit_keys,
        "interrupt_keys": adapter.interrupt_keys,
        "clear_keys": adapter.clear_keys,
        "next_option_keys": adapter.next_option_keys,
        "confirm_keys": adapter.confirm_keys,
    }
    for name, keys in pressed.items():
        require(bool(keys), f"{name} is empty")
        unknown = [key for key in keys if not _KEY.match(key)]
        require(not unknown, f"{name}: tmux knows no {unknown}")


QUESTIONS: tuple[Question[Describes], ...] = (
    Question(a_blank_screen_is_not_ready),
    Question(a_monstrous_transcript_line_means_nothing),
    Question(the_transcript_stands_below_the_clis_home),
    Question(a_guarded_prompt_keeps_every_character),
    Question(a_plain_prompt_is_not_guarded),
    Question(its_keys_are_keys_that_tmux_knows),
)
