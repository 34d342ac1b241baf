"""What the adapter makes of every screen that the real CLI drew (version 0.171.0; at 120 columns unless named).

Those from 80 on have old turns above, if any fit, and are taken by `python -m e2e.capture`.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.codex_cli import ADAPTER
from mcp_agent.adapter import (
    Blocked,
    Busy,
    Composer,
    Dialog,
    DialogAnswer,
    PromptQueued,
    Ready,
    Screen,
    Signal,
    Waiting,
)

PROVIDER = "codex-cli"
SCREENS = Path(__file__).parent / "screens" / PROVIDER

Said = tuple[list[Signal], Composer | None]

NOTHING: Said = ([], None)
IDLE: Said = ([Ready()], Composer(""))
WORKING: Said = ([Busy()], Composer(""))
PERMISSION: Said = ([Waiting("permission")], None)


def idle_with(draft: str, *, chip: bool = False) -> Said:
    return [Ready()], Composer(draft, is_chip=chip)


def retrying(reason: str) -> Said:
    return [Busy(reason=f"reconnecting: {reason}")], Composer("")


def holding(text: str) -> Said:
    return [Busy(), PromptQueued(text)], Composer("")


def wrapped(*counts: int) -> str:
    first, *rest = (" ".join(["wrapped"] * count) for count in counts)
    return "\n".join(["one\n\nthree " + first, *rest])


DOWN = "Connection failed: error sending request"
OVERLOADED = "We’re currently experiencing high demand, which may cause temporary errors."
CHIP = idle_with("[Pasted Content 1400 chars]", chip=True)

WIDTHS = (60, 80, 200)
AT_WIDTHS: dict[str, Said] = {
    "80-ready": IDLE,
    "81-old-turns": IDLE,
    "82-busy": WORKING,
    "82b-busy-draft": ([Busy()], Composer("my own draft")),
    "83-tool": WORKING,
    "84-live-input": WORKING,  # it was taken in at once
    "85-done": IDLE,
    "88-interrupted": IDLE,
    "89-permission": PERMISSION,
    "99-resumed": IDLE,
}

SAID: dict[str, Said] = {
    **{f"{name}-{width}": said for name, said in AT_WIDTHS.items() for width in WIDTHS},
    "02-first-ready": IDLE,
    "02-untrusted-dir": IDLE,
    "10-ready": IDLE,
    "11-mcp-running-1s": WORKING,
    "12-mcp-running-4s": WORKING,
    "13-live-input-queued": holding("live input while tool is active"),
    "14-final": IDLE,
    "15-done": IDLE,
    "16-thinking": WORKING,
    "17-streaming": IDLE,  # only the title tells
    "18-approval-prompt": PERMISSION,
    "19-approval-after": IDLE,
    "19b-race-mcp-not-ready": IDLE,
    "20-interrupted-esc": IDLE,
    "22-mcp-tool-timeout": IDLE,
    "23-interrupted-ctrl-c": IDLE,
    "24c-mcp-required-startup-timeout": NOTHING,
    "25-ctrl-c-idle-once": NOTHING,
    "25-progress-does-not-extend": IDLE,
    "30-resumed": IDLE,
    "31-resumed-turn": IDLE,
    "41-error-401": retrying(
        "Unexpected status 401 Unauthorized: scripted 401, url: http://127.0.0.1:18080/v1/responses"
    ),
    "41b-error-401-final": IDLE,
    "42-error-500-retry": retrying(OVERLOADED),
    "43-error-down-retry": retrying(DOWN),
    "44-error-500-final": IDLE,
    "45-error-down-final": retrying(DOWN),
    "50-ready": IDLE,
    "50-ready-60": IDLE,
    "50-ready-80": IDLE,
    "50-ready-200": IDLE,
    "51-draft": idle_with("a draft of mine"),
    "51-draft-60": idle_with("a draft of mine"),
    "51-draft-80": idle_with("a draft of mine"),
    "51-draft-200": idle_with("a draft of mine"),
    "52-draft-multi": idle_with(wrapped(14, 14, 2)),
    "52-draft-multi-60": idle_with(wrapped(6, 7, 7, 7, 3)),
    "52-draft-multi-80": idle_with(wrapped(9, 9, 9, 3)),
    "52-draft-multi-200": idle_with(wrapped(24, 6)),
    "53-draft-chip": CHIP,
    "53-draft-chip-60": CHIP,
    "53-draft-chip-80": CHIP,
    "53-draft-chip-200": CHIP,
    "54-slash-menu": idle_with("/"),
    "54-slash-menu-60": idle_with("/"),
    "54-slash-menu-80": idle_with("/"),
    "54-slash-menu-200": idle_with("/"),
    "55-at": idle_with("@"),
    "55-at-60": idle_with("@"),
    "55-at-80": idle_with("@"),
    "55-at-200": idle_with("@"),
    "56-shell-empty": idle_with("!"),
    "56-shell-empty-60": idle_with("!"),
    "56-shell-empty-80": idle_with("!"),
    "56-shell-empty-200": idle_with("!"),
    "57-shell-draft": idle_with("! ls -la"),
    "57-shell-draft-60": idle_with("! ls -la"),
    "57-shell-draft-80": idle_with("! ls -la"),
    "57-shell-draft-200": idle_with("! ls -la"),
    "58-shortcuts": IDLE,
    "58-shortcuts-60": IDLE,
    "58-shortcuts-80": IDLE,
    "58-shortcuts-200": IDLE,
    "60-tool": WORKING,
    "60-tool-60": WORKING,
    "60-tool-80": WORKING,
    "60-tool-200": WORKING,
    "61-tool-draft": ([Busy()], Composer("my own draft\nsecond")),
    "62-queued": holding("live input\nof two lines"),
    "62-queued-60": holding("live input\nof two lines"),
    "62-queued-80": holding("live input\nof two lines"),
    "62-queued-200": holding("live input\nof two lines"),
    "63-done-after-turns": IDLE,
    "63-done-after-turns-60": IDLE,
    "63-done-after-turns-80": IDLE,
    "63-done-after-turns-200": IDLE,
    "64-permission-mcp": PERMISSION,
    "64-permission-mcp-60": PERMISSION,
    "64-permission-mcp-80": PERMISSION,
    "64-permission-mcp-200": PERMISSION,
    "65-permission-mcp-second": PERMISSION,
    "66-permission-command": PERMISSION,
    "66-permission-command-60": PERMISSION,
    "66-permission-command-80": PERMISSION,
    "66-permission-command-200": PERMISSION,
    "67-transcript-view": IDLE,
    "67-transcript-view-60": IDLE,
}

TRUST = DialogAnswer("Trust and continue", needs="trust")
NO_HOOKS = DialogAnswer("Continue without trusting (hooks won't run)", needs="nothing")
LOGIN = ("login", ("Sign in with ChatGPT", "Sign in with Device Code", "Sign in another way"), 0, None)
TRUST_DIALOG = ("directory trust", (TRUST.label, "Back to Agent Command Center"), 0, TRUST)
HOOKS = ("hooks review", ("Review hooks", "Trust all and continue", NO_HOOKS.label), 0, NO_HOOKS)
DIALOGS: dict[str, tuple[str, tuple[str, ...], int, DialogAnswer | None]] = {
    "01-firstrun-login": LOGIN,
    "02-trust-dialog-git": TRUST_DIALOG,
    **{f"90-trust-{width}": TRUST_DIALOG for width in WIDTHS},
    **{f"91-login-{width}": LOGIN for width in WIDTHS},
    **{f"92-hooks-review-{width}": HOOKS for width in WIDTHS},
    "03-hooks-review": HOOKS,
    "05-warnings-f2": ("unknown", (), 0, None),
    "24-mcp-startup-timeout": HOOKS,
    "24b-mcp-startup-timeout-f2": ("unknown", (), 0, None),
}
MODEL_MENU = "69-model-menu"

ReadCapture = Callable[[str, str], Screen]


def test_every_kept_screen_is_looked_at() -> None:
    kept = {path.name.removesuffix(".ansi.txt") for path in SCREENS.iterdir()}

    assert kept == SAID.keys() | DIALOGS.keys() | {MODEL_MENU}


@pytest.mark.contract("S3", "S4", "I3")
@pytest.mark.parametrize("name", SAID)
def test_a_screen_says_what_the_cli_does_and_what_its_composer_holds(capture: ReadCapture, name: str) -> None:
    screen = capture(PROVIDER, name)

    assert (list(ADAPTER.read(screen)), ADAPTER.composer(screen)) == SAID[name]


@pytest.mark.contract("S5", "A5")
@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_blocks_and_trust_is_never_given_without_consent(capture: ReadCapture, name: str) -> None:
    screen = capture(PROVIDER, name)
    dialog = the_dialog(screen)

    assert (dialog.name, dialog.options, dialog.selected, dialog.answer) == DIALOGS[name]
    assert dialog.advice
    assert ADAPTER.composer(screen) is None


@pytest.mark.contract("S5")
def test_a_menu_that_nobody_knows_is_for_a_person(capture: ReadCapture) -> None:
    dialog = the_dialog(capture(PROVIDER, MODEL_MENU))

    assert (dialog.name, dialog.answer) == ("unknown", None)
    assert dialog.options[dialog.selected] == "GPT-6.2-Sol"


@pytest.mark.contract("S5", "A5")
def test_an_update_is_never_chosen(capture: ReadCapture) -> None:
    trust = capture(PROVIDER, "02-trust-dialog-git")
    lines = [line.replace("1. Trust and continue", "1. Update now (runs `npm install -g x`)") for line in trust.lines]
    dialog = the_dialog(Screen([line.replace("Trust this folder?", "Update available!") for line in lines]))

    assert (dialog.name, dialog.answer) == ("update", None)


@pytest.mark.contract("S5")
def test_the_selection_is_read_where_it_stands(capture: ReadCapture) -> None:
    trust = capture(PROVIDER, "02-trust-dialog-git")
    moved = [line.replace("› 1.", "  1.").replace("  2.", "› 2.") for line in trust.lines]

    assert the_dialog(Screen(moved)).selected == 1


@pytest.mark.contract("S3")
def test_a_spinner_in_the_title_is_enough_to_be_busy(capture: ReadCapture) -> None:
    still = capture(PROVIDER, "17-streaming")

    for title, said in (
        ("⠧ a task | work", Busy()),
        ("a task | work", Ready()),
        ("[ ! ] Action Required | x", Ready()),
    ):
        assert list(ADAPTER.read(Screen(still.lines, title, still.dim_lines))) == [said]


@pytest.mark.contract("S3")
@pytest.mark.parametrize(
    "quoted",
    [
        "• Working (3s • esc to interrupt)",
        "› 1. Trust and continue",
        "  enter continue · esc back",
        "• Messages to be x",
    ],
)
def test_words_of_the_conversation_are_no_evidence(capture: ReadCapture, quoted: str) -> None:
    done = capture(PROVIDER, "14-final")
    place = next(row for row, line in enumerate(done.lines) if line.startswith("• ECHO"))
    lines = [quoted if row == place else line for row, line in enumerate(done.lines)]

    assert list(ADAPTER.read(Screen(lines, dim_lines=done.dim_lines))) == [Ready()]


@pytest.mark.contract("I2")
def test_a_held_prompt_is_no_evidence_while_the_composer_holds_a_draft(capture: ReadCapture) -> None:
    held = capture(PROVIDER, "62-queued")
    lines = [line.replace("Ask Codex to do anything", "live input") for line in held.lines]

    assert list(ADAPTER.read(Screen(lines))) == [Busy()]


@pytest.mark.contract("I2")
def test_the_beginning_of_a_long_held_prompt_is_told_without_the_mark_of_its_cut() -> None:
    lines = [
        "◦ Working (4s • esc to interrupt)",
        "",
        "• Messages to be submitted after next tool call (press esc to interrupt and send immediately)",
        "  ↳ live one",
        "    second",
        "    …",
        "  ↳ other",
        "",
        "›",
        "",
        "  model · ~/work",
    ]

    assert list(ADAPTER.read(Screen(lines))) == [Busy(), PromptQueued("live one\nsecond"), PromptQueued("other")]


def the_dialog(screen: Screen) -> Dialog:
    (signal,) = ADAPTER.read(screen)
    assert isinstance(signal, Blocked)
    return signal.dialog
