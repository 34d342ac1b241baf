"""What the adapter makes of every screen that the real CLI drew (version 1.6.0; at 120 columns unless named).

Where names hold a number of columns, the conversation above is an older one, or there is none. Those from 65 to 73 are
taken by `python -m e2e.capture`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.pi_cli import ADAPTER
from mcp_agent.adapter import Blocked, Busy, Composer, Dialog, DialogAnswer, Ready, Screen, Signal

PROVIDER = "pi-cli"
SCREENS = Path(__file__).parent / "screens" / PROVIDER

Said = tuple[list[Signal], Composer | None]
IDLE: Said = ([Ready()], Composer(""))
WORKING: Said = ([Busy()], Composer(""))
RETRYING: Said = ([Busy(reason="Retrying (2/3)")], Composer(""))

WRAPPED = "a draft line that is long enough to be wrapped on a narrow screen of sixty columns, and then again"


def idle_with(draft: str, *, chip: bool = False) -> Said:
    return [Ready()], Composer(draft, is_chip=chip)


def numbered(first: int, last: int) -> str:
    return "\n".join(f"{number} {WRAPPED}" for number in range(first, last + 1))


def wrapped(text: str) -> str:
    return text.replace("to be wrapped on a narrow", "to be wrapped on a\nnarrow")


SCROLLED = wrapped(numbered(4, 9)).partition("\n")[2]
"""Eleven rows of a draft of eighteen."""

WIDTHS = (60, 80, 200)
AT_WIDTHS: dict[str, Said] = {
    "65-ready": IDLE,
    "66-old-turns": IDLE,
    "67-busy": WORKING,
    "67b-busy-draft": ([Busy()], Composer("my own draft")),
    "68-tool": WORKING,
    "69-queued": WORKING,
    "70-done": IDLE,
    "71-interrupted": IDLE,
    "73-resumed": IDLE,
}

SAID: dict[str, Said] = {
    **{f"{name}-{width}": said for name, said in AT_WIDTHS.items() for width in WIDTHS},
    "10-ready": IDLE,
    "10b-ready-builtin-mcp": IDLE,
    "11-mcp-running-1s": WORKING,
    "12-mcp-running-4s": WORKING,
    "13-live-input-queued": WORKING,
    "14-final": IDLE,
    "16-thinking": WORKING,
    "17-streaming": WORKING,
    "19-race-mcp-not-ready": IDLE,
    "20-interrupted-esc": IDLE,
    "22-mcp-timeout-builtin": IDLE,
    "22b-mcp-timeout-adapter": IDLE,
    "23-mcp-timeout-builtin-default60": IDLE,
    "23b-mcp-timeout-adapter-default60": IDLE,
    "24-progress-resets": IDLE,
    "25-ctrl-c-busy": WORKING,
    "26-ctrl-c-idle": IDLE,
    "27-mcp-startup-timeout": IDLE,
    "30-resumed": IDLE,
    "31-resumed-turn": IDLE,
    "40-error-401-60": IDLE,  # a login that is refused is not tried again
    "40-error-401-100": IDLE,
    "40-error-429-60": RETRYING,
    "40-error-429-100": RETRYING,
    "40-error-500-60": RETRYING,
    "40-error-500-100": RETRYING,
    "41-error-401": RETRYING,
    "41-final-401-100": IDLE,
    "42-error-500-retry": RETRYING,
    "43-error-down-retry": RETRYING,
    "44-error-500-final": IDLE,
    "45-error-down-final": IDLE,
    "50-ready-60": IDLE,
    "50-ready-120": IDLE,
    "51-slash-menu-60": idle_with("/"),
    "51-slash-menu-120": idle_with("/"),
    "52-shell-draft-60": idle_with("!ls"),
    "52-shell-draft-120": idle_with("!ls"),
    "53-draft-multi-60": idle_with("one\n\nthree" + " wrapped" * 6 + "\n" + " ".join(["wrapped"] * 7)),
    "53-draft-multi-120": idle_with("one\n\nthree" + " wrapped" * 13),
    "54-draft-scrolled-60": idle_with(SCROLLED),
    "54-draft-scrolled-120": idle_with(numbered(1, 9)),
    "55-paste-chip-80": idle_with("[paste #1 +61 lines]", chip=True),
    "55-paste-chip-120": idle_with(f"{numbered(1, 3)}\n[paste #1 +61 lines]"),
    "60-old-turns-60": IDLE,
    "60-old-turns-80": IDLE,
    "60-old-turns-120": IDLE,
    "60-old-turns-200": IDLE,
    "61-tool-running-60": WORKING,
    "61-tool-running-80": WORKING,
    "61-tool-running-120": WORKING,
    "61-tool-running-200": WORKING,
    "62-queued-60": WORKING,
    "62-queued-80": ([Busy()], Composer("Also add a space and LIVE_x at the end of your answer.")),
    "62-queued-120": WORKING,
    "62-queued-200": WORKING,
    "63-busy-draft-120": ([Busy()], Composer("my own draft")),
    "63-busy-draft-scrolled-60": ([Busy()], Composer(SCROLLED)),
    "64-done-80": IDLE,
    "64-done-200": IDLE,
}

TRUST_OPTIONS = (
    "Trust",
    "Trust parent folder (/home/dev)",
    "Trust (this session only)",
    "Do not trust",
    "Do not trust (this session only)",
)
NEW_TRUST_OPTIONS = (
    "Trust",
    "Trust parent folder (/var/tmp/agent-screens/home)",
    "Trust (this session only)",
    "Do not trust",
    "Do not trust (this session only)",
)
TRUST = DialogAnswer("Trust (this session only)", needs="trust")
LOGIN_OPTIONS = ("Sign in with an account", "Sign in with an API key", "Sign in with Radius • not configured")
DIALOGS: dict[str, tuple[str, tuple[str, ...], int, DialogAnswer | None]] = {
    "02-project-trust": ("directory trust", TRUST_OPTIONS, 0, TRUST),
    "02-project-trust-60": ("directory trust", TRUST_OPTIONS, 0, TRUST),
    **{f"72-project-trust-{width}": ("directory trust", NEW_TRUST_OPTIONS, 0, TRUST) for width in WIDTHS},
    "03-project-trust-moved-60": ("directory trust", TRUST_OPTIONS, 2, TRUST),
    "03-project-trust-moved-120": ("directory trust", TRUST_OPTIONS, 2, TRUST),
    "80-login-60": ("unknown", LOGIN_OPTIONS, 0, None),
    "80-login-120": ("unknown", LOGIN_OPTIONS, 0, None),
    "90-asks-confirm-60": ("unknown", ("Yes", "No"), 0, None),
    "90-asks-confirm-120": ("unknown", ("Yes", "No"), 0, None),
    "90-asks-select-60": ("unknown", ("Apple pie", "Banana"), 0, None),
    "90-asks-select-120": ("unknown", ("Apple pie", "Banana"), 0, None),
    "90-asks-input-60": ("unknown", (), 0, None),
    "90-asks-input-120": ("unknown", (), 0, None),
    "90-asks-editor-120": ("unknown", (), 0, None),
}
MENUS = {
    "80-fork-60": "Also add a space",
    "80-fork-120": "Use the execute_shell_command",
    "80-mcp-60": "api-bridge",
    "80-mcp-120": "api-bridge",
    "80-model-60": "✓ default [gateway]",
    "80-model-120": "✓ default [gateway]",
    "80-resume-60": "Without using any tool",
    "80-resume-120": "Without using any tool",
    "80-settings-60": "Auto-compact",
    "80-settings-120": "Auto-compact",
    "80-thinking-120": "✓ off",
    "80-tree-60": "• assistant: DONE_SLEPT_WORK",
    "80-tree-120": "• assistant: (aborted)",
}
"""Menus that a person opened, with the beginning of the selected label."""
WITHOUT_MODEL = ("42-no-model-60", "42-no-model-100")

ReadCapture = Callable[[str, str], Screen]


def test_every_kept_screen_is_looked_at() -> None:
    kept = {path.name.removesuffix(".ansi.txt") for path in SCREENS.iterdir()}

    assert kept == SAID.keys() | DIALOGS.keys() | MENUS.keys() | {*WITHOUT_MODEL}


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
@pytest.mark.parametrize("name", MENUS)
def test_a_menu_that_nobody_knows_is_for_a_person(capture: ReadCapture, name: str) -> None:
    screen = capture(PROVIDER, name)
    dialog = the_dialog(screen)

    assert (dialog.name, dialog.answer) == ("unknown", None)
    assert dialog.options[dialog.selected].startswith(MENUS[name])
    assert ADAPTER.composer(screen) is None


@pytest.mark.contract("A5", "S5")
@pytest.mark.parametrize("name", WITHOUT_MODEL)
def test_a_cli_without_a_login_is_blocked_and_says_how_to_log_in(capture: ReadCapture, name: str) -> None:
    dialog = the_dialog(capture(PROVIDER, name))

    assert (dialog.name, dialog.answer) == ("login", None)
    assert "/login" in dialog.advice


def the_dialog(screen: Screen) -> Dialog:
    (signal,) = ADAPTER.read(screen)
    assert isinstance(signal, Blocked)
    return signal.dialog
