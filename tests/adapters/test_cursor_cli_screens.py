"""What the adapter reads from screens that users of Cursor's CLI wrote down, and from what is only like them."""

from collections.abc import Callable

import pytest

from adapters.cursor_cli import ADAPTER
from mcp_agent.adapter import Blocked, Busy, Composer, DialogAnswer, PromptQueued, Ready, Screen, Waiting

Capture = Callable[[str, str], Screen]
PROVIDER = "cursor-cli"

pytestmark = pytest.mark.contract("S3", "S5")


@pytest.mark.parametrize(
    ("name", "signal", "draft"),
    [
        ("10-ready", Ready(), ""),
        ("11-draft", Ready(), "greet me briefly"),
        ("12-busy", Busy(), ""),
        ("12b-busy-40", Busy(), ""),
        ("14-after-a-turn", Ready(), ""),
        ("20c-trust-answered", Ready(), ""),
        ("31b-permission-quoted", Ready(), ""),
    ],
)
def test_a_screen_with_a_composer_says_whether_the_cli_works(
    capture: Capture, name: str, signal: Ready | Busy, draft: str
) -> None:
    screen = capture(PROVIDER, name)

    assert list(ADAPTER.read(screen)) == [signal]
    assert ADAPTER.composer(screen) == Composer(draft)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("30-permission-shell", "permission"), ("31-permission-mcp", "permission"), ("32-question", "question")],
)
def test_a_question_in_a_turn_is_waited_for(capture: Capture, name: str, reason: str) -> None:
    screen = capture(PROVIDER, name)
    (signal,) = ADAPTER.read(screen)

    assert isinstance(signal, Waiting)
    assert signal.reason == reason
    assert ADAPTER.composer(screen) is None


@pytest.mark.parametrize(
    ("name", "dialog", "selected", "answer"),
    [
        ("20-trust", "directory trust", 0, DialogAnswer("[a] Trust this workspace", needs="trust")),
        ("20b-trust-moved", "directory trust", 1, DialogAnswer("[a] Trust this workspace", needs="trust")),
        ("21-servers", "server approval", 0, DialogAnswer("[c] Continue without approval", needs="nothing")),
        ("21b-servers-ours", "server approval", 0, None),
        ("22-login", "login", 0, None),
    ],
)
def test_a_dialog_at_the_start_is_known_by_its_words(
    capture: Capture, name: str, dialog: str, selected: int, answer: DialogAnswer | None
) -> None:
    screen = capture(PROVIDER, name)
    (signal,) = ADAPTER.read(screen)

    assert isinstance(signal, Blocked)
    assert (signal.dialog.name, signal.dialog.selected, signal.dialog.answer) == (dialog, selected, answer)
    assert answer is None or answer.label in signal.dialog.options
    assert ADAPTER.composer(screen) is None


@pytest.mark.contract("I2", "I4")
def test_follow_ups_are_held_for_the_next_turn(capture: Capture) -> None:
    busy, *held = ADAPTER.read(capture(PROVIDER, "13-follow-ups"))

    assert busy == Busy()
    assert held == [PromptQueued("also add a test for the"), PromptQueued("and run it")]


def test_a_menu_that_nobody_knows_is_left_to_a_person() -> None:
    (signal,) = ADAPTER.read(Screen(["  Something New", "", "  ▶ [x] Do it", "    [y] Do not"]))

    assert isinstance(signal, Blocked)
    assert (signal.dialog.name, signal.dialog.options, signal.dialog.answer) == (
        "unknown",
        ("[x] Do it", "[y] Do not"),
        None,
    )


def test_a_draft_of_several_rows_is_read_whole() -> None:
    screen = Screen([" → one two", "   three", "", "   five", "", "  Composer 2.5", "  ~/x"])

    assert ADAPTER.composer(screen) == Composer("one two\nthree\n\nfive")


def test_a_long_paste_shows_a_stand_in() -> None:
    screen = Screen([" → [Pasted text #1 +60 lines]", "", "  Composer 2.5", "  ~/x"])

    assert ADAPTER.composer(screen) == Composer("[Pasted text #1 +60 lines]", is_chip=True)


@pytest.mark.parametrize(
    "text", ["Workspace Trust Required", "Press any key to log in", "ctrl+c to stop", "Run this MCP tool?"]
)
def test_words_of_the_conversation_are_no_evidence(text: str) -> None:
    screen = Screen([f"  {text}", "", " → Add a follow-up", "", "  Composer 2.5", "  ~/x"])

    assert list(ADAPTER.read(screen)) == [Ready()]


@pytest.mark.parametrize(
    "rows",
    [
        ["", " → Add a follow-up                              ctrl+c to stop"],
        [" ⠠⠜ Generating", "", " → Add a follow-up"],
        [" ⠜ Working  1k tokens", "", " → mine                    ctrl+c to stop"],
    ],
)
def test_one_of_two_marks_says_that_it_works(rows: list[str]) -> None:
    screen = Screen([*rows, "", "  Composer 2.5", "  ~/x"])

    assert list(ADAPTER.read(screen)) == [Busy()]
    assert ADAPTER.composer(screen) in (Composer(""), Composer("mine"))


def test_an_arrow_without_a_footer_is_no_composer() -> None:
    assert list(ADAPTER.read(Screen(["  → Run (once) (y)"]))) == []
