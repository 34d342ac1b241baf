"""Where the program keeps its files (users' reports on versions of 2026)."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    workspace: Path
    directory: Path
    """`~/.cursor`, or what `CURSOR_CONFIG_DIR` names."""
    login: Path

    @classmethod
    def of(cls, workspace: Path) -> "Places":
        home = Path.home()
        directory = Path(os.environ.get("CURSOR_CONFIG_DIR") or home / ".cursor")
        return cls(workspace, directory, home / ".config/cursor/auth.json")

    @property
    def project(self) -> Path:
        """What is remembered of this workspace."""
        return self.directory / "projects" / re.sub(r"[^A-Za-z0-9]+", "-", str(self.workspace)).strip("-")

    @property
    def trusted(self) -> Path:
        return self.project / ".workspace-trusted"

    @property
    def approvals(self) -> Path:
        return self.project / "mcp-approvals.json"

    def chat(self, chat: str) -> Path:
        """Stands for the program's database of one conversation."""
        hashed = hashlib.md5(str(self.workspace).encode(), usedforsecurity=False).hexdigest()
        return self.directory / "chats" / hashed / chat / "store.jsonl"

    def transcript(self, chat: str) -> Path:
        return self.project / "agent-transcripts" / chat / f"{chat}.jsonl"

    def configurations(self, name: str, *, of_home: str | None = None) -> list[Path]:
        """The user's file of this name, then the project's."""
        return [self.directory / (of_home or name), self.workspace / ".cursor" / name]
