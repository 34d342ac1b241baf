"""The MCP servers that are configured, and which of them may be loaded."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from e2e.cursor_emulator import jsonc
from e2e.cursor_emulator.places import Places

_PASSED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""All that the MCP SDK gives a server of its client's environment."""


@dataclass(frozen=True, slots=True)
class Servers:
    places: Places

    @property
    def configured(self) -> Mapping[str, Mapping[str, object]]:
        found: dict[str, Mapping[str, object]] = {}
        for path in self.places.configurations("mcp.json"):
            servers = jsonc.section(jsonc.load(path), "mcpServers")
            found |= {name: entry for name, entry in servers.items() if isinstance(entry, dict)}
        return found

    def unapproved(self) -> list[str]:
        approved = self._approved()
        return [name for name in self.configured if self._key(name) not in approved]

    def approve(self, name: str) -> None:
        """Kept for this workspace and this configuration of the server."""
        self.places.project.mkdir(parents=True, exist_ok=True)
        approved = dict.fromkeys([*self._approved(), self._key(name)])
        self.places.approvals.write_text(json.dumps(list(approved)), encoding="utf-8")

    def command(self, name: str, environment: Mapping[str, str]) -> Sequence[str] | None:
        """How an approved server is started, with nothing but what every server sees; None when it may not be."""
        entry = self.configured.get(name)
        if entry is None or name in self.unapproved():
            return None
        arguments = entry.get("args")
        seen = [f"{variable}={environment[variable]}" for variable in _PASSED_ON if variable in environment]
        return ["env", "-i", *seen, str(entry["command"]), *(arguments if isinstance(arguments, list) else [])]

    def _approved(self) -> list[str]:
        try:
            return list(json.loads(self.places.approvals.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return []

    def _key(self, name: str) -> str:
        hashed = {"path": str(self.places.workspace), "server": self.configured[name]}
        text = json.dumps(hashed, separators=(",", ":"))
        return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
