"""How a text stays a prompt in Cursor's composer. From users' reports on 2026 versions; not seen with the program."""

import re

_MODES = ("/", "!")
_MENTION_AT_END = re.compile(r"(?:^|\s)@\S*$")


def guard(text: str) -> str:
    """A blank before `/` and `!` keeps them from beginning a command or a shell line, and one after a mention at the
    end closes its menu, which Enter would take from.
    """
    before = " " if text.startswith(_MODES) else ""
    after = " " if _MENTION_AT_END.search(text) else ""
    return f"{before}{text}{after}"
