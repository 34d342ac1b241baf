"""Which tools run without a question: `Mcp(server:tool)` in the user's and the project's files, read once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from e2e.cursor_emulator import jsonc
from e2e.cursor_emulator.places import Places

_MCP = re.compile(r"^Mcp\((?P<server>[^:()]+):(?P<tool>[^()]+)\)$")


@dataclass(slots=True)
class Permissions:
    allowed: list[str]
    denied: list[str]
    force: bool = False

    @classmethod
    def load(cls, places: Places, *, force: bool) -> "Permissions":
        return cls(list(_rules(places, "allow")), list(_rules(places, "deny")), force)

    def may(self, server: str, tool: str) -> bool:
        if any(_covers(rule, server, tool) for rule in self.denied):
            return False
        return self.force or any(_covers(rule, server, tool) for rule in self.allowed)

    def allow(self, server: str, tool: str) -> None:
        """For the rest of this run."""
        self.allowed.append(f"Mcp({server}:{tool})")


def _rules(places: Places, kind: str) -> Iterator[str]:
    for path in places.configurations("cli.json", of_home="cli-config.json"):
        rules = jsonc.section(jsonc.load(path), "permissions").get(kind)
        yield from (rule for rule in (rules if isinstance(rules, list) else []) if isinstance(rule, str))


def _covers(rule: str, server: str, tool: str) -> bool:
    found = _MCP.match(rule)
    return bool(found and fnmatchcase(server, found["server"]) and fnmatchcase(tool, found["tool"]))
