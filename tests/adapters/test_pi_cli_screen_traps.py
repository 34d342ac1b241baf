"""Texts that look like something of Pi's screen and are not."""

import pytest

from adapters.pi_cli import ADAPTER
from mcp_agent.adapter import Blocked, Busy, Composer, Ready, Screen

WIDTH = 60
RULE = "─" * WIDTH
FOOTER = ("~/work", "0.0%/128k (auto)" + "scripted-1".rjust(WIDTH - 16))


def screen(*rows: str, above: tuple[str, ...] = (), top: str = RULE) -> Screen:
    return Screen((*above, top, *(rows or ("",)), RULE, *FOOTER))


def border(begin: str) -> str:
    return begin + "─" * (WIDTH - len(begin))


@pytest.mark.contract("S3")
@pytest.mark.parametrize(
    "said",
    [
        (" ── ⠹ Working ──────────────", ""),
        ("── ⠹ Working ───────", ""),  # no wider than it is
        (" → Trust", "   Do not trust", "", " ↑↓ navigate  enter select  escape/ctrl+c cancel", ""),
        (" 0.0%/0 (auto)   unknown",),
    ],
)
def test_words_in_the_conversation_are_no_evidence(said: tuple[str, ...]) -> None:
    shown = screen(above=said)

    assert (list(ADAPTER.read(shown)), ADAPTER.composer(shown)) == ([Ready()], Composer(""))


@pytest.mark.contract("I1", "I3")
@pytest.mark.parametrize(
    "rows",
    [
        ("Press the key:", "  ↑↓ navigate  enter select  escape cancel"),
        ("› one", "→ two"),
        ("> quoted", "(1/3)"),
        ("a rule", "─" * (WIDTH - 1), "and more"),
        ("── ⠹ Working ──────", "is what it draws"),
        ("0.0%/0 (auto) unknown",),
    ],
)
def test_a_draft_may_hold_any_words_of_the_screen(rows: tuple[str, ...]) -> None:
    shown = screen(*rows)

    assert (list(ADAPTER.read(shown)), ADAPTER.composer(shown)) == ([Ready()], Composer("\n".join(rows)))


@pytest.mark.contract("I1", "I3")
def test_a_scrolled_draft_is_no_dialog_wherever_it_is_cut() -> None:
    rows = ("", "  → two", "", "  enter select · esc cancel", "")
    shown = screen(*rows, top=border("─────── ↑ 12 more "))

    assert list(ADAPTER.read(shown)) == [Ready()]
    assert ADAPTER.composer(shown) == Composer("\n".join(rows).strip())


@pytest.mark.contract("S3")
@pytest.mark.parametrize(
    ("top", "reason"),
    [
        ("── ⠹ Working ", None),
        ("── ⠏ Working ──────── ↑ 7 more ", None),
        ("───⠏", None),
        ("── ⠼ Retrying (2/3) in 3s... (escape to cancel) ", "Retrying (2/3)"),
        ("── ⠼ Compacting context... (escape to cancel) ", "Compacting context"),
        ("── ● Thinking hard ", "Thinking hard"),
    ],
)
def test_the_upper_border_tells_of_work_and_why_it_takes_longer(top: str, reason: str | None) -> None:
    assert list(ADAPTER.read(screen(top=border(top)))) == [Busy(reason=reason)]


@pytest.mark.contract("S3")
def test_the_seconds_that_a_retry_counts_are_no_news() -> None:
    first, second = (screen(top=border(f"── ⠼ Retrying (2/3) in {left}s... (escape to cancel) ")) for left in (3, 2))

    assert list(ADAPTER.read(first)) == list(ADAPTER.read(second))


@pytest.mark.contract("I1")
@pytest.mark.parametrize("chip", ["[paste #1 +61 lines]", "[paste #12 4321 chars]"])
def test_a_chip_alone_stands_for_a_paste(chip: str) -> None:
    assert ADAPTER.composer(screen(chip)) == Composer(chip, is_chip=True)
    assert ADAPTER.composer(screen(f"mine {chip}")) == Composer(f"mine {chip}")


@pytest.mark.contract("S4")
@pytest.mark.parametrize("lines", [(RULE,), (RULE, ""), ("─" * 40, "x", RULE), ("text", RULE, "~/work")])
def test_half_a_box_says_nothing(lines: tuple[str, ...]) -> None:
    assert list(ADAPTER.read(Screen(lines))) == []
    assert ADAPTER.composer(Screen(lines)) is None


@pytest.mark.contract("S5", "A5")
def test_a_trust_dialog_with_other_options_is_not_answered() -> None:
    shown = screen("", " Trust project folder?", "", " → Always", "   Never", "", " enter select  escape cancel", "")
    (signal,) = ADAPTER.read(shown)

    assert isinstance(signal, Blocked)
    assert (signal.dialog.name, signal.dialog.options) == ("directory trust", ("Always", "Never"))
    assert signal.dialog.answer is None
