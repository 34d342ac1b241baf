"""What is asked before the first prompt: a login, trust in the directory, the servers that nobody approved."""

from collections.abc import Iterator
from dataclasses import replace

from adapters.scripted_agent.keys import Key, KeyPress, Typed
from e2e.cursor_emulator.places import Places
from e2e.cursor_emulator.screen import Menu
from e2e.cursor_emulator.servers import Servers

_STEPS = {Key.UP: -1, Key.DOWN: 1}


class Dialog:
    """One menu. `answer` is the chosen option's key, and None while it is open."""

    def __init__(self, menu: Menu) -> None:
        self.menu = menu
        self.answer: str | None = None

    def press(self, key: KeyPress) -> None:
        keys = [option[1] for option in self.menu.options]
        if isinstance(key, Typed) and key.text in keys:
            self.answer = key.text
        elif isinstance(key, Key) and key in _STEPS:
            selected = (self.menu.selected + _STEPS[key]) % len(keys)
            self.menu = replace(self.menu, selected=selected)
        elif key is Key.ENTER:
            self.answer = keys[self.menu.selected]
        elif key is Key.BREAK:
            self.answer = "q"


def dialogs(places: Places) -> Iterator[Dialog]:
    """Those that are due, one after the other; what was answered is remembered for the workspace."""
    if not places.trusted.exists():
        trust = Dialog(_trust(places))
        yield trust
        if trust.answer == "a":
            places.project.mkdir(parents=True, exist_ok=True)
            places.trusted.write_text(f'{{"workspacePath": "{places.workspace}"}}', encoding="utf-8")
    servers = Servers(places)
    if waiting := servers.unapproved():
        approval = Dialog(_approval(waiting))
        yield approval
        for name in waiting if approval.answer == "a" else ():
            servers.approve(name)


def _trust(places: Places) -> Menu:
    text = [
        "Cursor Agent can execute code and access files in this directory.",
        "",
        "Do you trust the contents of this directory?",
        "",
        f"  {places.workspace}",
    ]
    return Menu("Workspace Trust Required", text, ["[a] Trust this workspace", "[q] Quit"])


def _approval(names: list[str]) -> Menu:
    text = ["The following MCP servers need to be approved:", *(f"  • {name}" for name in names)]
    options = ["[a] Approve all servers", "[c] Continue without approval", "[q] Quit"]
    return Menu("MCP Server Approval Required", text, options)
