"""A user's own files: planted before the first session, compared after the last one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_agent.adapter import Adapter

ODD_MODE = 0o640
DOTFILES = "dotfiles"
"""Where the files of the home really are, as with people who keep them in a repository."""

_NOTES = {"./notes.txt": "a line\r\nno line end"}


@dataclass(frozen=True, slots=True)
class Look:
    """All of a file that a person would notice."""

    content: bytes
    mode: int
    leads_to: Path | None
    """Where it is a link to."""


def plant(adapter: Adapter, *, home: Path, directories: Sequence[Path]) -> Mapping[Path, Look]:
    """Write the adapter's examples, those of the home behind links, all of them with an odd mode."""
    for directory in directories:
        directory.mkdir(mode=0o700, exist_ok=True)
    for number, (path, text) in enumerate(_places(adapter, home, directories)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        behind_a_link = path.is_relative_to(home)
        real = home / DOTFILES / f"{number}-{path.name}" if behind_a_link else path
        real.parent.mkdir(mode=0o700, exist_ok=True)
        real.write_bytes(text.encode())
        real.chmod(ODD_MODE)
        if behind_a_link:
            path.symlink_to(real)
    return {path: look(path) for path, _ in _places(adapter, home, directories)}


def look(path: Path) -> Look:
    return Look(path.read_bytes(), path.stat().st_mode & 0o7777, path.readlink() if path.is_symlink() else None)


def differences(planted: Mapping[Path, Look]) -> list[str]:
    """What became of the planted files that was not to, one line each."""
    found = []
    for path, before in planted.items():
        try:
            after = look(path)
        except OSError as error:
            found.append(f"{path}: {error.strerror}")
            continue
        found += [f"{path}: its {name} changed" for name in Look.__slots__ if _differs(name, before, after)]
    return found


def strangers(planted: Mapping[Path, Look], directories: Sequence[Path]) -> list[str]:
    """Files in the working directories that nobody planted."""
    files = (path for directory in directories for path in directory.rglob("*") if not path.is_dir())
    return sorted(str(path) for path in files if path not in planted)


def _differs(name: str, before: Look, after: Look) -> bool:
    return bool(getattr(before, name) != getattr(after, name))


def _places(adapter: Adapter, home: Path, directories: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for name, text in {**_NOTES, **adapter.user_files}.items():
        roots = [home] if name.startswith("~/") else directories
        yield from ((root / name[2:], text) for root in roots)
