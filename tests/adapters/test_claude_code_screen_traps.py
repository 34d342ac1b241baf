"""Screens that mislead: quoted dialogs, old working lines, ghost text, other orders and widths."""

import pytest

from adapters.claude_code import ADAPTER
from mcp_agent.adapter import Blocked, Busy, Composer, Dialog, DialogAnswer, Ready, Screen, Signal, Waiting

COLUMNS = 60
RULE = "─" * COLUMNS
OVERLAY = "▔" * COLUMNS
FOOTER = "  ⏸ manual mode on · ? for shortcuts"
QUOTED = (
    "● Here is what it shows:",
    "",
    "  " + RULE[2:],
    "  ❯ Do you trust this folder",
    "  " + RULE[2:],
    "  Do you want to proceed?",
    "  ❯ No, exit",
    "    Yes, I trust this folder",
    "",
    "  Enter to confirm · Esc to cancel · esc to interrupt",
    "  ✽ Galloping… (3s · ↓ 20 tokens)",
    "  Unable to connect to Anthropic services",
)


def composed(*rows: str, above: tuple[str, ...] = (), footer: tuple[str, ...] = (FOOTER,)) -> Screen:
    return Screen([*above, RULE, *rows, RULE, *footer])


def asked(*rows: str, above: tuple[str, ...] = QUOTED, edge: str = RULE) -> Screen:
    return Screen([*above, "", edge, *rows])


def said(screen: Screen) -> list[Signal]:
    return list(ADAPTER.read(screen))


def dialog(screen: Screen) -> Dialog:
    (signal,) = said(screen)
    assert isinstance(signal, Blocked)
    return signal.dialog


@pytest.mark.contract("S3", "S5")
def test_a_conversation_that_quotes_dialogs_and_working_lines_is_idle() -> None:
    assert said(composed("❯", above=(*QUOTED, "", "✻ Worked for 3s · done 1:05 PM", ""))) == [Ready()]


@pytest.mark.contract("S5", "A5")
def test_a_quoted_trust_dialog_above_an_overlay_is_not_answered() -> None:
    shown = asked("  Help  General   Commands", "", "  ←/→ to switch · Esc to close", edge=OVERLAY)

    assert dialog(shown) == Dialog("unknown")


@pytest.mark.contract("S5", "A5")
def test_a_dialog_without_its_edge_in_view_is_for_a_person() -> None:
    cut = Screen([" Security guide", "", " ❯ No, exit", "   Yes, I trust this folder", "", " Enter to confirm"])

    assert dialog(cut) == Dialog("unknown", ("No, exit", "Yes, I trust this folder"))


@pytest.mark.contract("S5", "A5")
def test_a_command_that_quotes_the_trust_dialog_asks_for_permission() -> None:
    shown = asked(
        " Bash command",
        " ❯ No, exit",
        "   Yes, I trust this folder",
        "   Enter to confirm",
        " Do you want to proceed?",
        " ❯ 1. Yes",
        "   2. No",
        "",
        " Esc to cancel · Tab to amend",
    )

    assert said(shown) == [Waiting("permission")]


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("rows", "options", "selected"),
    [
        ((" ❯ No, exit", "   Yes, I trust this folder"), ("No, exit", "Yes, I trust this folder"), 0),
        (("   No, exit", " ❯ Yes, I trust this folder"), ("No, exit", "Yes, I trust this folder"), 1),
        ((" ❯ Yes, I trust this folder", "   No, exit"), ("Yes, I trust this folder", "No, exit"), 0),
        ((" ❯ 1. Yes, I trust this folder", "   2. No, exit"), ("Yes, I trust this folder", "No, exit"), 0),
        ((" ❯ 1. Yes, I trust", "      this folder", "   2. No, exit"), ("Yes, I trust this folder", "No, exit"), 0),
        (("   No, exit", " ❯ Yes, I trust", "      this folder"), ("No, exit", "Yes, I trust this folder"), 1),
    ],
)
def test_the_trust_dialog_is_read_in_any_order(rows: tuple[str, ...], options: tuple[str, ...], selected: int) -> None:
    shown = asked(" Accessing workspace:", "", " /srv", "", " Security guide", "", *rows, "", " Enter to confirm")

    found = dialog(shown)
    assert (found.name, found.options, found.selected) == ("directory trust", options, selected)
    assert found.answer is not None
    assert found.answer.needs == "trust"


@pytest.mark.contract("S5", "A5")
@pytest.mark.parametrize("rows", [(" ❯ Yes", "   No (recommended)"), ("   Yes", " ❯ No (recommended)")])
def test_the_key_question_is_no_permission_question_wherever_its_selection_stands(rows: tuple[str, str]) -> None:
    shown = asked(" Detected a key", "", " Do you want to use this API key?", "", *rows, "", " Enter to confirm")

    assert dialog(shown).name == "API key approval"
    assert dialog(shown).answer is None


@pytest.mark.contract("S5", "S7")
@pytest.mark.parametrize(
    ("name", "rows", "label"),
    [
        (
            "resume or summary",
            (" ❯ 1. Resume from summary (instant, recommended)", "   2. Resume full session as-is", "   3. Never"),
            "Resume full session as-is",
        ),
        ("resume or begin anew", (" ❯ 1. Start a new conversation", "   2. Resume"), "Resume"),
        ("resume or begin anew", (" ❯ Resume", "   Start a new conversation"), "Resume"),
        (
            "usage limit",
            ("   1. Upgrade", " ❯ 2. Stop and wait for limit to reset"),
            "Stop and wait for limit to reset",
        ),
    ],
)
def test_a_conversation_is_gone_on_with_whole_and_nothing_is_bought(
    name: str, rows: tuple[str, ...], label: str
) -> None:
    found = dialog(asked("  A question", "", *rows, "", " Enter to confirm · Esc to cancel", edge=OVERLAY))

    assert (found.name, found.answer) == (name, DialogAnswer(label, needs="nothing"))
    assert label in found.options


@pytest.mark.contract("X3", "A5")
@pytest.mark.parametrize(
    "footer",
    [
        ("  ⏸ manual mode on                                  Not logged in · run /login",),
        ("  ⏸ manual mode on · ? for shortcuts Not logged in · run /login",),
        (FOOTER, "  Not logged in · run /login"),
    ],
)
def test_a_cli_without_a_login_is_blocked_though_it_shows_its_prompt(footer: tuple[str, ...]) -> None:
    shown = composed("❯", footer=footer)
    (signal,) = said(shown)

    assert isinstance(signal, Blocked)
    assert (signal.dialog.name, signal.dialog.answer) == ("login", None)
    assert ADAPTER.composer(shown) == Composer("")


def test_words_about_a_login_above_the_prompt_or_in_it_are_no_evidence() -> None:
    quoted = "● It says: Not logged in · run /login"

    assert said(composed("❯ Not logged in · run /login", above=(quoted, ""))) == [Ready()]


@pytest.mark.contract("S3")
@pytest.mark.parametrize("selected", [0, 1, 2])
def test_a_permission_question_waits_wherever_its_selection_stands(selected: int) -> None:
    labels = ["1. Yes", "2. Yes, and do not ask again for commands like", "3. No"]
    rows = [f" {'❯' if place == selected else ' '} {label}" for place, label in enumerate(labels)]
    rows.insert(2, "      this one in this directory")

    shown = asked(" Tool use", "", " Do you want to proceed?", *rows, "", " Esc to cancel · Tab to amend")
    assert said(shown) == [Waiting("permission")]
    assert ADAPTER.composer(shown) is None


def test_keys_that_a_narrow_screen_wraps_still_close_a_dialog() -> None:
    shown = asked(
        "  Select model", "", "  ❯ 1. One", "    2. Two", "", "  s to use once · Enter to save · Esc to", "  cancel"
    )

    assert dialog(shown) == Dialog("unknown", ("One", "Two"))


@pytest.mark.contract("S3")
@pytest.mark.parametrize(
    "above",
    [
        ("✶ Tinkering…", "", "● All done."),
        ("❯ hi", "✶ Tinkering…", "❯ next", "  ⎿  Interrupted · What should Claude do instead?"),
        ("❯ ✶ Tinkering…",),
        ("● ✶ Tinkering…", "  * Galloping… (3s)"),
        ("✻ Sautéed for 20s · done 11:09 AM",),
    ],
)
def test_a_working_line_that_something_followed_is_old(above: tuple[str, ...]) -> None:
    assert said(composed("❯", above=(*above, ""))) == [Ready()]


@pytest.mark.contract("S3")
@pytest.mark.parametrize(
    "above",
    [
        ("✽ Galloping… (3s · ↓ 20 tokens)",),
        ("* Tinkering…", "  ⎿  Tip: Use Plan Mode", ""),
        ("✢ Working…", *(f"  ⎿  ☐ task {number}" for number in range(20)), "", "      ◐ medium · /effort"),
        ("✻ API error · retrying in 1s · attempt 2/10", ""),
        ("✻ 401 scripted 401 · retrying in 3s · attempt 4/10", ""),
    ],
)
def test_a_working_line_that_comes_last_is_busy_without_any_footer(above: tuple[str, ...]) -> None:
    (signal,) = said(composed("❯ a draft of mine", above=above, footer=("  ⏸ manual mode on",)))

    assert isinstance(signal, Busy)


@pytest.mark.contract("S3")
def test_an_interrupt_hint_that_wraps_is_busy() -> None:
    assert said(composed("❯", footer=("  ⏸ manual mode on · esc to", "  interrupt"))) == [Busy()]


def test_six_footer_rows_hide_no_composer() -> None:
    assert said(composed("❯", footer=tuple(f"  row {number}" for number in range(6)))) == [Ready()]


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    ("rows", "draft"),
    [
        (("❯ one", "", "  three"), "one\n\nthree"),
        (("❯ " + RULE[2:], "  ❯ quoted", "  " + RULE[2:]), f"{RULE[2:]}\n❯ quoted\n{RULE[2:]}"),
        (("❯",), ""),
        (("❯ ! not the shell",), "! not the shell"),
        (("! rm -r x", "  y"), "! rm -r x\ny"),
        (("!",), "!"),
        (("❯ [Pasted text #1 +60 lines] and more",), "[Pasted text #1 +60 lines] and more"),
        (("❯ see [Pasted text #1 +60 lines]",), "see [Pasted text #1 +60 lines]"),
    ],
)
def test_a_draft_is_read_whole(rows: tuple[str, ...], draft: str) -> None:
    assert ADAPTER.composer(composed(*rows)) == Composer(draft)


@pytest.mark.parametrize("chip", ["[Pasted text #1 +60 lines]", "[Pasted text #12]", "[Image #1]"])
def test_a_chip_is_told_from_typed_text(chip: str) -> None:
    assert ADAPTER.composer(composed(f"❯ {chip}")) == Composer(chip, is_chip=True)


@pytest.mark.contract("I1")
@pytest.mark.parametrize(
    ("typed", "dim", "draft"),
    [
        ("Resend your message", "  Resend your message", ""),
        ("Resend your message", "   esend your message", ""),
        ("Resend your message", "", "Resend your message"),
        ("yes do it", "      do it", "yes do it"),
        ("x", "", "x"),
    ],
)
def test_only_ghost_text_is_no_draft(typed: str, dim: str, draft: str) -> None:
    screen = Screen([RULE, f"❯ {typed}", RULE, FOOTER], dim_lines=["", dim, "", ""])

    assert ADAPTER.composer(screen) == Composer(draft)


@pytest.mark.contract("S4")
@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["❯"],
        [RULE, "❯"],
        [RULE, RULE],
        [RULE, "text", RULE],
        ["$ claude", "Killed"],
        [*QUOTED[:8]],
        [*QUOTED[-1:]],
        ["Unable to connect to Anthropic services, it said"],
    ],
)
def test_a_screen_without_a_composer_or_a_dialog_says_nothing(lines: list[str]) -> None:
    assert said(Screen(lines)) == []
    assert ADAPTER.composer(Screen(lines)) is None
