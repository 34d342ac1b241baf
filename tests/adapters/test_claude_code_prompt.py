"""How prompts are kept from becoming commands. What the CLI does with each was seen on version 2.1.332."""

import pytest

from adapters.claude_code import ADAPTER


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("/help x", "\\/help x"),
        ("  /exit", "  \\/exit"),
        ("\n/clear", "\n\\/clear"),
        ("\u200b/help", "\u200b\\/help"),
        ("\ufeff \u2060/help\nsecond line", "\ufeff \u2060\\/help\nsecond line"),
        ("exit", "\\exit"),
        (" Quit\n", " \\Quit\n"),
        (":q!", "\\:q!"),
        ("ex\u200bit", "\\ex\u200bit"),
        ("!ls", " !ls"),
        ("\u200b!ls", " \u200b!ls"),
        ("#note", " #note"),
        ("@file", " @file"),
        ("ends with \\", "ends with \\ "),
        ("/a \\", "\\/a \\ "),
        ("ends with \\\u200b", "ends with \\\u200b "),
    ],
)
def test_a_text_that_would_be_a_command_is_placed_as_a_prompt(text: str, placed: str) -> None:
    assert ADAPTER.guard(text) == placed


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "hello",
        "a /b",
        "see @x",
        "exit the loop",
        "how do I quit?",
        " !ls",
        "\n!ls",
        "-x",
        "; x;",
        "a\\b",
        "\\\n",
    ],
)
def test_any_other_text_is_placed_as_it_is(text: str) -> None:
    assert ADAPTER.guard(text) == text
