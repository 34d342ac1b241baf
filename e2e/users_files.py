"""A person's own configuration of each CLI, in awkward shapes, and what it looks like at any moment."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.place import Place

CRLF_JSON = b'{\r\n  "mine": [1,  2],\r\n\t"future": {"kept": true}\r\n}'
MARKDOWN = "# Mine \u2014 \u00e4\u00f6\u00fc\r\n\r\n<!-- keep -->\n- be brief\t\n".encode()
TOML = b'# mine\r\nmodel_reasoning_effort = "low"   # keep\n\n[future]\nkey = 1\n'


@dataclass(frozen=True)
class Kept:
    """One file of a person."""

    content: bytes
    mode: int = 0o644
    behind_link: bool = False


FILES: Mapping[str, Mapping[str, Kept]] = {
    "claude-code": {
        "home/.claude/settings.json": Kept(CRLF_JSON, 0o640, behind_link=True),
        "home/.claude/CLAUDE.md": Kept(MARKDOWN, 0o604),
        "work/CLAUDE.md": Kept(MARKDOWN, behind_link=True),
        "work/.mcp.json": Kept(b'{"mcpServers": {"mine": {"command": "/bin/true", "x": 1}}, "y":2}\r\n', 0o600),
        "work/.claude/settings.json": Kept(CRLF_JSON, 0o664),
        "work/.claude/settings.local.json": Kept(b'{ "future": {"kept": true} }', 0o600, behind_link=True),
    },
    "codex-cli": {
        "home/.codex/config.toml": Kept(TOML, 0o640, behind_link=True),
        "home/.codex/AGENTS.md": Kept(MARKDOWN, 0o604),
        "home/.codex/auth.json": Kept(b'{"OPENAI_API_KEY": "sk-nobody",\r\n "mine": 1}', 0o600),
        "work/AGENTS.md": Kept(MARKDOWN, 0o664, behind_link=True),
        "work/.codex/config.toml": Kept(TOML, 0o600),
    },
    "pi-cli": {
        "home/.pi/agent/settings.json": Kept(
            b'{"lastChangelogVersion": "1.6.0",\r\n "mine": [1, 2],   "theme": "dark"}', 0o640, behind_link=True
        ),
        "home/.pi/agent/mcp.json": Kept(b'{"mcpServers": {"mine": {"command": "/bin/true", "enabled": false}}, "x":1}'),
        "home/.pi/agent/models.json": Kept(b'{"providers": {}}\r\n', 0o640),
        "home/.pi/agent/auth.json": Kept(b'{"openai": {"type": "api_key", "key": "sk-nobody"}}', 0o600),
        "home/.pi/agent/AGENTS.md": Kept(MARKDOWN, 0o604),
        "work/AGENTS.md": Kept(MARKDOWN, 0o664, behind_link=True),
        "work/.pi/settings.json": Kept(b'{"theme": "light"}\r\n', 0o600),
    },
}
"""What a CLI keeps for itself is not among them: conversations, its history, `~/.claude.json`, Codex's own profile."""


def put_files(place: Place, provider: str) -> None:
    """Write them all; what is behind a link lies in a directory of its own."""
    for number, (name, kept) in enumerate(FILES[provider].items()):
        path = place.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        target = place.root / f"dotfiles/{number}" if kept.behind_link else path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(kept.content)
        target.chmod(kept.mode)
        if kept.behind_link:
            path.symlink_to(target)


Look = tuple[bytes, int, int, int, str | None]


def looks(place: Place, provider: str) -> dict[str, Look | None]:
    """Each file with its bytes, mode, owner and inode and where its link leads, and all names in the project.

    What lies in the project and is none of the person's files is there, too, as None.
    """
    names = {str(path.relative_to(place.root)) for path in place.work.rglob("*") if not path.is_dir()}
    return {**dict.fromkeys(names), **{name: _look(place.root / name) for name in FILES[provider]}}


def _look(path: Path) -> Look:
    found = path.stat()
    link = str(path.readlink()) if path.is_symlink() else None
    return path.read_bytes(), stat.S_IMODE(found.st_mode), found.st_uid, found.st_ino, link
