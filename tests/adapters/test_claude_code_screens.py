"""What the adapter makes of every screen that the real CLI drew (version 2.1.332; at 120 columns unless named).

Those that end with their columns have old turns above, if any fit, and are taken by `python -m e2e.capture`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.claude_code import ADAPTER
from mcp_agent.adapter import Blocked, Busy, Composer, Dialog, DialogAnswer, Ready, Screen, Signal, Waiting

PROVIDER = "claude-code"
SCREENS = Path(__file__).parent / "screens" / PROVIDER

NOTHING: tuple[list[Signal], Composer | None] = ([], None)
IDLE: tuple[list[Signal], Composer | None] = ([Ready()], Composer(""))
WORKING: tuple[list[Signal], Composer | None] = ([Busy()], Composer(""))
PERMISSION: tuple[list[Signal], Composer | None] = ([Waiting("permission")], None)
QUESTION: tuple[list[Signal], Composer | None] = ([Waiting("question")], None)


def idle_with(draft: str, *, chip: bool = False) -> tuple[list[Signal], Composer | None]:
    return [Ready()], Composer(draft, is_chip=chip)


def busy_with(draft: str) -> tuple[list[Signal], Composer | None]:
    return [Busy()], Composer(draft)


def retrying(reason: str) -> tuple[list[Signal], Composer | None]:
    return [Busy(reason=f"retrying: {reason}")], Composer("")


def wrapped(*counts: int) -> tuple[list[Signal], Composer | None]:
    first, *rest = (" ".join(["wrapped"] * count) for count in counts)
    return idle_with("\n".join(["one\n\nthree " + first, *rest]))


LOGGED_OUT: tuple[list[Signal], Composer | None] = (
    [Blocked(Dialog("login", advice="run the CLI once in this HOME and log in, or set a credential"))],
    Composer(""),
)
WIDTHS = (60, 80, 200)
AT_WIDTHS = {
    "80-ready": IDLE,
    "81-old-turns": IDLE,
    "82-busy": WORKING,
    "82b-busy-draft": busy_with("my own draft"),
    "83-tool": WORKING,
    "84-queued": WORKING,
    "85-done": IDLE,
    "87-chip": idle_with("[Pasted text #1 +59 lines]", chip=True),
    "88-interrupted": IDLE,
    "88b-interrupted-at-once": idle_with("a prompt without an answer"),
    "89-permission": PERMISSION,
    **{f"92-mode-{mode}": IDLE for mode in ("acceptEdits", "auto", "dontAsk", "plan")},
    **{f"93-busy-{mode}": WORKING for mode in ("acceptEdits", "auto", "dontAsk", "plan")},
    "95-mode-bypassPermissions": IDLE,
    "96-compacting": WORKING,
    "97-compacted": IDLE,
    "99-resumed": IDLE,
    "a0-logged-out": LOGGED_OUT,
    "a1-logged-out-refused": LOGGED_OUT,
    "a2-error-500": IDLE,
    "a3-error-429": IDLE,
    "a5-retrying": retrying("API error"),
}

SAID = {
    **{f"{name}-{width}": said for name, said in AT_WIDTHS.items() for width in WIDTHS},
    "a6-suggestion-60": IDLE,  # a suggested prompt is no draft
    "a6-suggestion-80": IDLE,
    "86-draft-60": wrapped(6, 6),
    "86-draft-80": wrapped(8, 4),
    "86-draft-200": wrapped(12),
    "04-dialog-3": IDLE,  # a notice, no dialog
    "10-ready": IDLE,
    "10b-ready-no-altscreen": IDLE,
    "11-busy-after-submit": retrying("API error"),
    "11-mcp-running-1s": WORKING,
    "12-mcp-running-4s": WORKING,
    "13-live-input-queued": WORKING,
    "14-final": IDLE,
    "15-done": IDLE,
    "16-thinking": WORKING,
    "17-streaming": WORKING,
    "18-permission-prompt": PERMISSION,
    "19-race-mcp-not-ready": WORKING,
    "20-interrupted-esc": IDLE,
    "21-mcp-tool-timeout": IDLE,
    "22-mcp-idle-timeout": IDLE,
    "22c-idle-timeout-legacy-protocol": IDLE,
    "23-interrupted-ctrl-c": IDLE,
    "25-ctrl-c-idle-once": IDLE,
    "26-after-double-ctrl-c": NOTHING,
    "27-auto-background-moved": IDLE,
    "28-background-done": IDLE,
    "29-auto-background-default-120s": IDLE,
    "29b-auto-background-off-150s": IDLE,
    "30-resumed": IDLE,
    "31-resumed-turn": IDLE,
    "32-multiline-paste": IDLE,
    "34-big-paste-chip": idle_with("[Pasted text #1 +60 lines]", chip=True),
    "40-error-connreset-retry": retrying("API error"),
    "40b-error-connreset-retry-attempt3": retrying("Connection dropped (ECONNRESET)"),
    "41-error-401": retrying("401 scripted 401"),
    "42-error-500": IDLE,  # the composer shows ghost text
    "43-error-down": IDLE,
    "50-ready-60": IDLE,
    "51-shell-empty": idle_with("!"),
    "52-shell-draft": idle_with("! ls -la"),
    "53-slash-menu": idle_with("/"),
    "54-slash-menu-60": idle_with("/"),
    "55-at": idle_with("@"),
    "56-shortcuts": IDLE,
    "57-shortcuts-60": IDLE,
    "58-draft-multi": idle_with("[Pasted text #1 +5 lines]", chip=True),
    "59-draft-blank-line": idle_with("one\n\nthree" + " wrapped" * 9),
    "60-draft-blank-line-60": idle_with("one\n\nthree" + " wrapped" * 6 + "\n" + " ".join(["wrapped"] * 3)),
    "61-busy-60": WORKING,
    "62-busy-draft": busy_with("my own draft"),
    "63-busy-draft-chip": busy_with("my own draft[Pasted text #1 +5 lines]"),
    "64-permission-60": PERMISSION,
    "65-permission-command": PERMISSION,
    "66-permission-command-no": PERMISSION,
    "67-permission-write": PERMISSION,
    "68-question": QUESTION,
    "69-quoted": IDLE,
    "70-quoted-60": IDLE,
    "71-quoted-spinner": IDLE,
    "72-transcript-view": NOTHING,
    "73-transcript-view-60": NOTHING,
}

TRUST = DialogAnswer("Yes, I trust this folder", needs="trust")
USED_UP = (
    "Stop and wait for limit to reset",
    "Wait here, then continue automatically at Jan 1, 2100, 12am",
    "Upgrade your plan",
)
BROKEN = ("Fix with Claude", "Exit and fix manually", "Continue without these settings")
DIALOGS: dict[str, tuple[str, tuple[str, ...], int, DialogAnswer | None]] = {
    "01-firstrun-a": ("no connection", (), 0, None),
    "02-dialog-1": ("directory trust", ("No, exit", "Yes, I trust this folder"), 0, TRUST),
    "03-dialog-2": ("API key approval", ("Yes", "No (recommended)"), 1, None),
    "05-bypass-permissions": ("bypass permissions", ("No, exit", "Yes, I accept"), 0, None),
    "24-mcp-startup-timeout": ("unknown", ("Other MCPs", "✘ api-bridge"), 1, None),
    "33-auto-mode-call": ("automatic checks", (), 0, None),
    **{
        f"{name}-{width}": dialog
        for width in WIDTHS
        for name, dialog in {
            "90-trust": ("directory trust", ("No, exit", "Yes, I trust this folder"), 0, TRUST),
            "91-api-key": ("API key approval", ("Yes", "No (recommended)"), 1, None),
            "94-bypass": ("bypass permissions", ("No, exit", "Yes, I accept"), 0, None),
            "a4-used-up": ("usage limit", USED_UP, 0, DialogAnswer(USED_UP[0], needs="nothing")),
            "a7-broken-settings": ("settings problem", BROKEN, 0, None),
        }.items()
    },
    "78-help": ("unknown", (), 0, None),
    "79-help-60": ("unknown", (), 0, None),
}
LONG_MENUS = {
    "74-rewind": ("unknown", "(current)"),
    "75-model-menu": ("unknown", "Default"),
    "76-model-menu-60": ("unknown", "Default"),
    "77-history": ("unknown", "2s ago"),
    **{
        f"98-menu-{menu}-{width}": selected
        for width in WIDTHS
        for menu, selected in {
            "config": ("unknown", "Auto-compact"),
            "login": ("login", "Claude account with subscription"),
            "mcp": ("unknown", "✔ api-bridge"),
            "permissions": ("unknown", "Add a new rule"),
            "resume": ("resume menu", "Without using any tool"),
        }.items()
    },
}
"""Menus that a person opened: their names, and the beginning of the selected label."""

ReadCapture = Callable[[str, str], Screen]


def test_every_kept_screen_is_looked_at() -> None:
    kept = {path.name.removesuffix(".txt").removesuffix(".ansi") for path in SCREENS.iterdir()}

    assert kept == SAID.keys() | DIALOGS.keys() | LONG_MENUS.keys()


@pytest.mark.contract("S3", "S4", "I3")
@pytest.mark.parametrize("name", SAID)
def test_a_screen_says_what_the_cli_does_and_what_its_composer_holds(capture: ReadCapture, name: str) -> None:
    screen = capture(PROVIDER, name)

    assert (list(ADAPTER.read(screen)), ADAPTER.composer(screen)) == SAID[name]


@pytest.mark.contract("S5", "A5")
@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_blocks_and_only_trust_can_be_answered(capture: ReadCapture, name: str) -> None:
    screen = capture(PROVIDER, name)
    dialog = the_dialog(screen)

    assert (dialog.name, dialog.options, dialog.selected, dialog.answer) == DIALOGS[name]
    assert dialog.advice
    assert ADAPTER.composer(screen) is None


@pytest.mark.contract("S5")
@pytest.mark.parametrize("name", LONG_MENUS)
def test_a_menu_that_a_person_opened_is_for_a_person(capture: ReadCapture, name: str) -> None:
    dialog = the_dialog(capture(PROVIDER, name))
    called, selected = LONG_MENUS[name]

    assert (dialog.name, dialog.answer) == (called, None)
    assert dialog.options[dialog.selected].startswith(selected)


def test_a_label_is_read_over_its_wraps(capture: ReadCapture) -> None:
    first = the_dialog(capture(PROVIDER, "76-model-menu-60")).options[0]

    assert first == "Default (recommended) ✔  Use the default model (currently Opus 5.5)"


@pytest.mark.contract("S3")
@pytest.mark.parametrize("glyph", "◐◑◒◓")
def test_a_working_title_is_enough_to_be_busy(capture: ReadCapture, glyph: str) -> None:
    still = capture(PROVIDER, "10-ready")

    assert list(ADAPTER.read(Screen(still.lines, f"{glyph} Claude Code", still.dim_lines))) == [Busy()]


@pytest.mark.contract("S3")
def test_an_idle_title_hides_no_permission_question(capture: ReadCapture) -> None:
    asked = capture(PROVIDER, "18-permission-prompt")

    assert list(ADAPTER.read(Screen(asked.lines, "✳ Claude Code", asked.dim_lines))) == [Waiting("permission")]


def the_dialog(screen: Screen) -> Dialog:
    (signal,) = ADAPTER.read(screen)
    assert isinstance(signal, Blocked)
    return signal.dialog
